# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Learning from samples: from checked arrays to what a mixture regressor knows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ilr_dynamics.arrays import BoolArray, FloatArray, IndexArray
from ilr_dynamics.regression.inference.adapted_statistics import adapted_statistics
from ilr_dynamics.regression.inference.inference import Inference, IterationCallback
from ilr_dynamics.regression.inference.initialization import (
    assignment_statistics,
    k_means_plus_plus,
    nearest_seed,
)
from ilr_dynamics.regression.inference.knowledge import Knowledge
from ilr_dynamics.regression.inference.novelty import most_probable_component
from ilr_dynamics.regression.inference.past_weight import most_probable_weight
from ilr_dynamics.regression.inference.residual_statistics import shifted_statistics
from ilr_dynamics.regression.inference.state import InferenceResult, initial_state
from ilr_dynamics.regression.mixture.mixture import MixturePrior, extend
from ilr_dynamics.regression.mixture.prior import Prior
from ilr_dynamics.regression.prediction.calibration import (
    MIN_SAMPLES,
    spread_factors,
)
from ilr_dynamics.regression.prediction.predictive_mixture import PredictiveMixture
from ilr_dynamics.regression.shared.change import Change
from ilr_dynamics.regression.shared.global_model import GlobalModel
from ilr_dynamics.regression.shared.validation import check_random_state, check_size
from ilr_dynamics.regression.units.features import Regressors
from ilr_dynamics.regression.units.scaling import Scaling, Standardizer
from ilr_dynamics.regression.units.spread import SpreadFactors
from ilr_dynamics.regression.units.transforms import Transforms

__all__ = ["Learner", "calibrated", "extended", "held_out_rows"]

# Share of its own samples that a component takes for novel, those beyond about two standard
# deviations: just beyond the ends (1.7) of samples that are spread evenly along a line.
NOVELTY_LEVEL = 0.05
MAX_CALIBRATION_SAMPLES = 2000


@dataclass(frozen=True)
class Learner:
    """Parameters of an estimator, as `MixtureRegressor` describes them, and learning with them."""

    n_components: int
    prior: Prior
    features: str
    degree: int
    global_model: GlobalModel | None
    learn_residual: bool
    inference: Inference
    scaling: Scaling
    calibration_share: float
    forgetting_factor: float | Literal["auto"]
    random_state: int | np.random.Generator | None

    def learn(
        self, X: FloatArray, Y: FloatArray, weights: FloatArray, callback: IterationCallback | None
    ) -> tuple[Knowledge, InferenceResult]:
        """Learn samples X (n, m), Y (n, d) of these weights (n,) from nothing: batch learning."""
        inference, spread = self._found_on_held_out(X, Y, weights)
        nothing, zeta = self.prepared(X, Y, weights)
        transforms = nothing.transforms
        if spread is not None:
            transforms = replace(transforms, spread=spread)
        learner = replace(self, inference=inference)
        result = learner._infer(zeta, weights, nothing, nothing.prior, callback)
        return _known(result, len(X), transforms), result

    def prepared(
        self, X: FloatArray, Y: FloatArray, weights: FloatArray
    ) -> tuple[Knowledge, FloatArray]:
        """Knowledge of no component yet, in units of these samples, and them extended (n, p)."""
        scaling = self.scaling
        inputs = Standardizer.from_data(
            X, weights, scaling.input_location, scaling.input_scale, "input"
        )
        regressors = Regressors.from_data(inputs, self.features, int(self.degree), X, weights)
        # Outputs are scaled below, once their residuals are known.
        unscaled = Standardizer(np.zeros(Y.shape[1]), np.ones(Y.shape[1]))
        transforms = Transforms(regressors, unscaled, self.global_model, self.learn_residual)
        transforms = transforms.updated(X, Y, weights, kept=1.0)
        residual = transforms.residual(X, Y)
        location = scaling.output_location
        if location is None and self.learn_residual:
            # Far from all data the residual expected must be zero.
            location = 0.0
        outputs = Standardizer.from_data(
            residual, weights, location, scaling.output_scale, "output"
        )
        transforms = replace(transforms, outputs=outputs, spread=transforms.inflated(X, weights))
        zeta = extended(transforms, X, residual)
        p, m, d = zeta.shape[1], X.shape[1], Y.shape[1]
        prior = self.prior.base_distribution(m, p - d - m - 1, d)
        return Knowledge(prior, np.zeros((0, p, p)), np.arange(0), 0, transforms), zeta

    def update(
        self,
        known: Knowledge,
        X: FloatArray,
        Y: FloatArray,
        weights: FloatArray,
        callback: IterationCallback | None,
    ) -> tuple[Knowledge, InferenceResult, Change | None]:
        """
        Learn on top of what is known, the posterior as prior: sequential learning.

        The change is what the samples show to have changed, if that was asked for.
        """
        statistics, transforms, change = self._remembered(known, X, Y, weights)
        zeta = extended(transforms, X, transforms.residual(X, Y))
        before = replace(known, statistics=statistics)
        result = self._infer(zeta, weights, before, self.stated_prior(known.prior), callback)
        return _known(result, known.n_samples + len(X), transforms), result, change

    def stated_prior(self, prior: MixturePrior) -> MixturePrior:
        """Base distribution as the parameters state it, of the size of another one."""
        m, d = prior.n_inputs, prior.n_outputs
        return self.prior.base_distribution(m, prior.n_regressors - m - 1, d)

    def _remembered(
        self, known: Knowledge, X: FloatArray, Y: FloatArray, weights: FloatArray
    ) -> tuple[FloatArray, Transforms, Change | None]:
        """Statistics (K, p, p) that earlier samples leave, and transforms that know the new."""
        kept, change = self.forgetting_factor, None
        if kept == "auto":
            adapted = known.transforms.adapted(X, Y, weights)
            if adapted is not None:
                return adapted_statistics(known, adapted, X, Y, weights)
            kept, change = most_probable_weight(known, X, Y, weights)
        transforms = known.transforms.updated(X, Y, weights, kept)
        statistics = kept * known.statistics
        if transforms.learn_residual:
            statistics = shifted_statistics(statistics, known.transforms, transforms, share=kept)
        return statistics, transforms, change

    def _infer(
        self,
        zeta: FloatArray,
        weights: FloatArray,
        known: Knowledge,
        stated_prior: MixturePrior,
        callback: IterationCallback | None,
    ) -> InferenceResult:
        """Learn extended samples zeta (n, p) on top of statistics; the best of several starts."""
        generator = check_random_state(self.random_state)
        results = []
        for _ in range(self.inference.n_restarts):
            labels, n_opened = self._initial_labels(zeta, weights, known, generator)
            opened = np.zeros((n_opened, *known.statistics.shape[1:]))
            previous = np.concatenate([known.statistics, opened])
            initial = assignment_statistics(zeta, weights, labels, len(previous))
            first_group = int(known.groups.max(initial=-1)) + 1
            groups = np.append(known.groups, first_group + np.arange(n_opened))
            state = initial_state(weights, known.prior, stated_prior, previous, initial, groups)
            results.append(self.inference.run(zeta, weights, state, generator, callback))
        return max(results, key=lambda result: float(result.lower_bounds[-1]))

    def _initial_labels(
        self,
        zeta: FloatArray,
        weights: FloatArray,
        known: Knowledge,
        generator: np.random.Generator,
    ) -> tuple[IndexArray, int]:
        """Most probable component of each sample; new ones for novel samples, by k-means++."""
        n_known, m, q = len(known.statistics), known.prior.n_inputs, known.prior.n_regressors
        labels = np.full(zeta.shape[0], n_known, dtype=np.intp)
        if n_known > 0:
            mixture = PredictiveMixture.from_components(
                known.prior.predictive(known.statistics, known.groups)
            )
            labels = most_probable_component(mixture, zeta[:, :q], zeta[:, q:], NOVELTY_LEVEL)
        novel = labels >= n_known
        if not np.any(novel):
            return labels, 0
        share = float(np.sum(weights[novel]) / np.sum(weights))
        # By their inputs alone: seeds that lie apart in the outputs too would divide the noise
        # among themselves instead of the input space.
        inputs = zeta[novel, :m]
        seeds = k_means_plus_plus(
            inputs, weights[novel], max(1, round(self.n_components * share)), generator
        )
        labels[novel] = n_known + nearest_seed(inputs, seeds)
        return labels, seeds.shape[0]

    def _found_on_held_out(
        self, X: FloatArray, Y: FloatArray, weights: FloatArray
    ) -> tuple[Inference, SpreadFactors | None]:
        """
        Find what samples tell that a trial model has not learned.

        Returns
        -------
        inference
            Of its variants the one whose trial model, once calibrated, gives those samples most
            density. Not that of the highest bound: the bound pays for each component by what the
            prior expects of it, and in 21 dimensions it prefers wide ones where narrow ones
            predict better.
        spread
            Factors of that trial model; None if too few are held out to tell.
        """
        variants = self.inference.variants()
        held_out = held_out_rows(X.shape[0], self.calibration_share)
        if np.sum(held_out) < MIN_SAMPLES:
            return variants[0], None
        nothing, zeta = self.prepared(X[~held_out], Y[~held_out], weights[~held_out])
        trials = []
        for inference in variants:
            learner = replace(self, inference=inference)
            result = learner._infer(zeta, weights[~held_out], nothing, nothing.prior, None)
            trial = _known(result, len(zeta), nothing.transforms)
            trials.append((inference, calibrated(trial, X[held_out], Y[held_out])))

        def density(trial: tuple[Inference, Knowledge]) -> float:
            log_density = trial[1].predictive().log_density(X[held_out], Y[held_out])
            return float(weights[held_out] @ log_density)

        inference, known = max(trials, key=density) if len(trials) > 1 else trials[0]
        return inference, known.transforms.spread


def held_out_rows(n: int, share: float) -> BoolArray:
    """
    Which of n rows (n,) calibrate: one in each step of 1 / share rows, between learned ones.

    The row in each step is random, so that the choice does not alias with a periodic motion.
    """
    held_out = np.zeros(n, dtype=bool)
    if share > 0.0:
        step = round(1.0 / share)
        starts = np.arange(0, n - step + 1, step)
        held_out[starts + np.random.default_rng(0).integers(0, step, starts.size)] = True
    return held_out


def calibrated(
    known: Knowledge,
    X: FloatArray,
    Y: FloatArray,
    coverage: float = 0.95,
    share: float = 1.0,
    unseen: bool = True,
) -> Knowledge:
    """Scale the spread so that intervals have their nominal coverage on samples not learned."""
    # As many as tell a quantile to half a percent, evenly spaced.
    chosen = np.arange(0, X.shape[0], max(1, X.shape[0] // MAX_CALIBRATION_SAMPLES))
    outcomes = known.predictive().outcomes(X[chosen], Y[chosen])
    before = known.transforms.spread
    found = spread_factors(outcomes, coverage, before)
    spread = SpreadFactors(
        before.components ** (1.0 - share) * found.components**share,
        before.unseen ** (1.0 - share) * found.unseen**share if unseen else before.unseen,
    )
    return replace(known, transforms=replace(known.transforms, spread=spread))


def _known(result: InferenceResult, n_samples: int, transforms: Transforms) -> Knowledge:
    return Knowledge(result.prior, result.statistics, result.groups, n_samples, transforms)


def extended(transforms: Transforms, X: FloatArray, Y: FloatArray) -> FloatArray:
    """Extended samples (n, p) of inputs and residuals in physical units."""
    U = transforms.regressors(X)
    # What overflows is reported as too large.
    with np.errstate(over="ignore", invalid="ignore"):
        standard = transforms.outputs.transform(Y)
    return extend(U, check_size(standard, "outputs"))
