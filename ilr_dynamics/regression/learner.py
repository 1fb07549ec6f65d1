# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What all mixture regressors share: learning, at once, in sequence and from minibatches."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.blas_threads import one_blas_thread
from ilr_dynamics.regression.baseline import Baseline
from ilr_dynamics.regression.calibration import MIN_SAMPLES, SpreadFactors
from ilr_dynamics.regression.fallback import Fallback, check_fallback
from ilr_dynamics.regression.features import Regressors, check_features
from ilr_dynamics.regression.inference import (
    FitScales,
    InferenceResult,
    IterationCallback,
    Learning,
    start,
    variational_bayes,
)
from ilr_dynamics.regression.initialization import (
    assignment_statistics,
    k_means_plus_plus,
    nearest_seed,
)
from ilr_dynamics.regression.mixture import MixturePrior, extend
from ilr_dynamics.regression.mixture_regressor import MixtureRegressor
from ilr_dynamics.regression.predictive import PredictiveMixture
from ilr_dynamics.regression.prior_mean import PriorMean, check_prior_mean
from ilr_dynamics.regression.recognition import most_probable_recognising
from ilr_dynamics.regression.residual_shift import told_again
from ilr_dynamics.regression.scaling import Standardizer
from ilr_dynamics.regression.stochastic import StepSchedule, stochastic_variational_bayes
from ilr_dynamics.regression.transforms import Transforms
from ilr_dynamics.regression.validation import (
    check_choice,
    check_integer,
    check_random_state,
    check_real,
    check_size,
    check_training_data,
)

__all__ = ["MixtureLearner"]

# A component does not recognise this share of its own samples: about two standard deviations, no
# farther than a stretch of samples evenly spread reaches.
NOVELTY_LEVEL = 0.05


class MixtureLearner(MixtureRegressor):
    """Base of estimators that learn a mixture of local linear regressions."""

    n_components: int
    concentration: float
    input_spread: float
    input_strength: float | None
    centre_spread: float
    noise_std: float
    noise_strength: float
    slope_scale: float
    features: str
    degree: int
    prior_mean: PriorMean | None
    fallback: Fallback | None
    learn_residual: bool
    fit_scales: FitScales
    fit_concentration: bool
    merge: bool
    n_restarts: int
    calibration_share: float
    forgetting_factor: float
    inference: Literal["batch", "stochastic"]
    batch_size: int
    step_delay: float
    step_rate: float
    max_iterations: int
    tolerance: float
    input_location: ArrayLike | None
    input_scale: ArrayLike | None
    output_location: ArrayLike | None
    output_scale: ArrayLike | None
    random_state: int | np.random.Generator | None

    @abstractmethod
    def _stated_prior(self, n_inputs: int, n_features: int, n_outputs: int) -> MixturePrior:
        """Base distribution that the parameters state."""

    def _check_parameters(self) -> None:
        """Refuse what is out of range before any work is done, whether it will be used or not."""
        for name in ("n_components", "degree", "n_restarts", "batch_size", "max_iterations"):
            check_integer(getattr(self, name), name, 1)
        check_real(self.tolerance, "tolerance", above=0.0)
        check_real(self.forgetting_factor, "forgetting_factor", above=0.0, at_most=1.0)
        check_real(self.calibration_share, "calibration_share", at_least=0.0, at_most=0.5)
        check_real(self.step_rate, "step_rate", above=0.5, at_most=1.0)
        check_real(self.step_delay, "step_delay", at_least=0.0)
        check_choice(self.fit_scales, "fit_scales", (True, False, "outputs"))
        check_choice(self.fit_concentration, "fit_concentration", (True, False))
        check_choice(self.merge, "merge", (True, False))
        check_choice(self.inference, "inference", ("batch", "stochastic"))
        check_features(self.features)
        check_prior_mean(self.prior_mean)
        check_fallback(self.fallback)
        check_choice(self.learn_residual, "learn_residual", (True, False))
        self._stated_baseline()
        check_random_state(self.random_state)

    def _stated_baseline(self) -> Baseline:
        """What the parameters say is known beside the mixture."""
        return Baseline(self.prior_mean, self.fallback, self.learn_residual)

    def _checked_scales(self, n_inputs: int) -> dict[str, float]:
        """Return what the parameters say about the scales of the prior, checked."""
        strength = n_inputs if self.input_strength is None else self.input_strength
        settings = {
            "concentration": self.concentration,
            "input_spread": self.input_spread,
            "input_strength": strength,
            "centre_spread": self.centre_spread,
            "noise_std": self.noise_std,
            "noise_strength": self.noise_strength,
            "slope_scale": self.slope_scale,
        }
        return {name: check_real(value, name, above=0.0) for name, value in settings.items()}

    @one_blas_thread
    def fit(
        self,
        X: ArrayLike,
        Y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        callback: IterationCallback | None = None,
    ) -> Self:
        """
        Learn from data alone, forgetting what was learned before.

        Parameters
        ----------
        X : (n, n_inputs)
            Inputs, in physical units.
        Y : (n, n_outputs)
            Outputs, in physical units.
        sample_weight : (n,), optional
            How many samples each row counts for.
        callback
            Called after each iteration with (iteration, max_iterations, bound per sample).

        Raises
        ------
        InvalidDataError
            If the arrays are malformed or do not fit together.
        InvalidParameterError
            If a parameter is out of range.
        """
        self._check_parameters()
        X, Y, weights = check_training_data(X, Y, sample_weight)
        inputs = Standardizer.from_data(X, weights, self.input_location, self.input_scale, "input")
        regressors = Regressors.from_data(inputs, self.features, int(self.degree), X, weights)
        baseline = self._stated_baseline().updated(X, Y, weights)
        residual = baseline.residual(X, Y)
        location = self.output_location
        if location is None and baseline.is_added:
            # Far from all data what is expected beforehand is all that is.
            location = 0.0
        outputs = Standardizer.from_data(residual, weights, location, self.output_scale, "output")
        Z = _extended(regressors(X), outputs, residual)
        p, m = Z.shape[1], X.shape[1]
        prior = self._stated_prior(m, p - Y.shape[1] - m - 1, Y.shape[1])
        nothing = np.zeros((0, p, p))
        result = self._infer(Z, weights, prior, prior, nothing, np.arange(0), callback)
        spread = self._calibrated_spread(X, Y, weights)
        transforms = Transforms(regressors, outputs, baseline, spread)
        self._set_state(result.prior, result.scatter, result.groups, X.shape[0], transforms)
        self.lower_bounds_, self.converged_ = result.lower_bounds, result.converged
        self.metadata_ = {}
        return self

    def _calibrated_spread(
        self, X: FloatArray, Y: FloatArray, weights: FloatArray
    ) -> SpreadFactors:
        """Find the spread factors with a trial model that has not seen the samples held out."""
        if self.calibration_share == 0.0:
            return SpreadFactors()
        # One of every so many, so that they lie between samples that the trial model learns; which
        # one is drawn, lest the choice keep step with something in the recording.
        step = round(1.0 / self.calibration_share)
        starts = np.arange(0, X.shape[0] - step + 1, step)
        if starts.size < MIN_SAMPLES:
            return SpreadFactors()
        held_out = np.zeros(X.shape[0], dtype=bool)
        held_out[starts + np.random.default_rng(0).integers(0, step, starts.size)] = True
        trial = type(self)(**{**self.get_params(), "calibration_share": 0.0})
        learned = ~held_out
        trial.fit(X[learned], Y[learned], weights[learned])
        return trial.calibrate(X[held_out], Y[held_out]).spread_factors_

    @one_blas_thread
    def partial_fit(
        self,
        X: ArrayLike,
        Y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        callback: IterationCallback | None = None,
    ) -> Self:
        """
        Learn from new data on top of what is known: the posterior becomes the prior.

        Components are opened where the present ones do not explain the new samples. Scaling and
        prior mean stay those of the first call. Parameters as in `fit`.
        """
        if not hasattr(self, "posterior_"):
            return self.fit(X, Y, sample_weight, callback=callback)
        self._check_parameters()
        X, Y, weights = check_training_data(
            X, Y, sample_weight, self.n_features_in_, self.n_outputs_
        )
        kept = self.forgetting_factor
        baseline = self.transforms_.baseline.discounted(kept).updated(X, Y, weights)
        transforms = replace(self.transforms_, baseline=baseline)
        Z = _extended(self.regressors_(X), self.output_scaling_, baseline.residual(X, Y))
        known = kept * self.statistics_
        if baseline.learn_residual:
            known = told_again(known, self.transforms_, transforms, share=kept)
        stated = self._stated_prior(
            self.prior_.n_inputs,
            self.prior_.n_regressors - self.prior_.n_inputs - 1,
            self.prior_.n_outputs,
        )
        result = self._infer(Z, weights, self.prior_, stated, known, self.groups_, callback)
        n_samples = self.n_samples_ + X.shape[0]
        self._set_state(result.prior, result.scatter, result.groups, n_samples, transforms)
        self.lower_bounds_, self.converged_ = result.lower_bounds, result.converged
        return self

    def _infer(
        self,
        Z: FloatArray,
        weights: FloatArray,
        prior: MixturePrior,
        stated: MixturePrior,
        known: FloatArray,
        groups: IndexArray,
        callback: IterationCallback | None,
    ) -> InferenceResult:
        """Learn new samples on top of known statistics; of several starts the best is kept."""
        generator = check_random_state(self.random_state)
        results = []
        for _ in range(self.n_restarts):
            labels, n_opened = self._initial_labels(Z, weights, prior, known, groups, generator)
            previous = np.concatenate([known, np.zeros((n_opened, *known.shape[1:]))])
            initial = assignment_statistics(Z, weights, labels, previous.shape[0])
            first_group = int(groups.max(initial=-1)) + 1
            all_groups = np.append(groups, first_group + np.arange(n_opened))
            learning = start(weights, prior, stated, previous, initial, all_groups)
            results.append(self._run(Z, weights, learning, generator, callback))
        return max(results, key=lambda result: float(result.lower_bounds[-1]))

    def _run(
        self,
        Z: FloatArray,
        weights: FloatArray,
        learning: Learning,
        generator: np.random.Generator,
        callback: IterationCallback | None,
    ) -> InferenceResult:
        if self.inference == "batch":
            return variational_bayes(
                Z,
                weights,
                learning,
                max_iterations=self.max_iterations,
                tolerance=self.tolerance,
                fit_scales=self.fit_scales,
                fit_concentration=self.fit_concentration,
                merge=self.merge,
                callback=callback,
            )
        return stochastic_variational_bayes(
            Z,
            weights,
            learning,
            schedule=StepSchedule(self.batch_size, self.step_delay, self.step_rate),
            generator=generator,
            max_passes=self.max_iterations,
            tolerance=self.tolerance,
            fit_scales=self.fit_scales,
            fit_concentration=self.fit_concentration,
            callback=callback,
        )

    def _initial_labels(
        self,
        Z: FloatArray,
        weights: FloatArray,
        prior: MixturePrior,
        known: FloatArray,
        groups: IndexArray,
        generator: np.random.Generator,
    ) -> tuple[IndexArray, int]:
        """Most probable component that recognises each sample; elsewhere new ones, k-means++."""
        n_known, m, q = known.shape[0], prior.n_inputs, prior.n_regressors
        labels = np.full(Z.shape[0], n_known, dtype=np.intp)
        if n_known > 0:
            mixture = PredictiveMixture.from_components(prior.predictive(known, groups))
            labels = most_probable_recognising(mixture, Z[:, :q], Z[:, q:], NOVELTY_LEVEL)
        novel = labels >= n_known
        if not np.any(novel):
            return labels, 0
        share = float(np.sum(weights[novel]) / np.sum(weights))
        # By their inputs alone: seeds that lie apart in the outputs too would divide the noise
        # among themselves instead of the input space.
        inputs = Z[novel, :m]
        seeds = k_means_plus_plus(
            inputs, weights[novel], max(1, round(self.n_components * share)), generator
        )
        labels[novel] = n_known + nearest_seed(inputs, seeds)
        return labels, seeds.shape[0]


def _extended(U: FloatArray, scaling: Standardizer, Y: FloatArray) -> FloatArray:
    """Extended samples (n, p) of regressors in standard and outputs in physical units."""
    # What overflows is told as too large.
    with np.errstate(over="ignore", invalid="ignore"):
        standard = scaling.transform(Y)
    return extend(U, check_size(standard, "outputs"))
