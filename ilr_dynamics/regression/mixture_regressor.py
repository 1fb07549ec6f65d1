# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What all mixture regressors share: questions to a fitted model, and keeping it in a file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.blas_threads import one_blas_thread
from ilr_dynamics.exceptions import InvalidParameterError, NotFittedError
from ilr_dynamics.regression.calibration import SpreadFactors, spread_factors
from ilr_dynamics.regression.estimator import Estimator
from ilr_dynamics.regression.fallback import Fallback
from ilr_dynamics.regression.features import Regressors
from ilr_dynamics.regression.mixture import MixturePosterior, MixturePrior
from ilr_dynamics.regression.physical_mixture import PhysicalMixture
from ilr_dynamics.regression.predictor import Predictor
from ilr_dynamics.regression.prior_mean import PriorMean
from ilr_dynamics.regression.scaling import Standardizer
from ilr_dynamics.regression.transforms import Transforms
from ilr_dynamics.regression.validation import check_array, check_training_data

__all__ = ["MixtureRegressor"]

# A component counts as active when it holds more than one sample.
ACTIVE_COUNT = 1.0
MAX_CALIBRATION_SAMPLES = 2000


class MixtureRegressor(Estimator):
    """Base of estimators whose predictive distribution is a mixture of Student-t densities."""

    transforms_: Transforms
    prior_: MixturePrior
    statistics_: FloatArray
    groups_: IndexArray
    posterior_: MixturePosterior
    lower_bounds_: FloatArray
    converged_: bool
    n_active_: int
    n_samples_: int
    n_features_in_: int
    n_outputs_: int
    metadata_: dict[str, Any]
    _predictive: PhysicalMixture

    def _set_state(
        self,
        prior: MixturePrior,
        statistics: FloatArray,
        groups: IndexArray,
        n_samples: int,
        transforms: Transforms,
    ) -> None:
        """Take prior, statistics and transforms as what is known; all else follows from them."""
        posterior = prior.posterior(statistics, groups)
        self._predictive = PhysicalMixture.from_statistics(prior, statistics, groups, transforms)
        self.transforms_ = transforms
        self.prior_ = prior
        self.statistics_, self.groups_ = statistics, groups
        self.posterior_ = posterior
        self.n_samples_ = n_samples
        self.n_active_ = int(np.sum(prior.counts(statistics) > ACTIVE_COUNT))
        self.n_features_in_, self.n_outputs_ = prior.n_inputs, prior.n_outputs

    @property
    def regressors_(self) -> Regressors:
        """Inputs in physical units to regressors in standard units."""
        return self.transforms_.regressors

    @property
    def output_scaling_(self) -> Standardizer:
        """Outputs in physical to standard units."""
        return self.transforms_.outputs

    @property
    def prior_mean_(self) -> PriorMean | None:
        """The prior mean function of the first fit."""
        return self.transforms_.baseline.prior_mean

    @property
    def fallback_(self) -> Fallback | None:
        """The global model, with all samples it was given."""
        return self.transforms_.baseline.fallback

    @property
    def spread_factors_(self) -> SpreadFactors:
        """Factors on standard deviations that `calibrate` found."""
        return self.transforms_.spread

    @one_blas_thread
    def calibrate(self, X: ArrayLike, Y: ArrayLike, coverage: float = 0.95) -> Self:
        """
        Scale the spread so that intervals cover what they say on samples not learned.

        Call it with a new recording before `partial_fit` learns it. Components and the unseen
        component (the fallback) are calibrated apart, each on the samples that are its own and
        only if there are at least 50; `spread_factors_` holds what was found, and later learning
        keeps it.

        Parameters
        ----------
        X : (n, n_inputs)
            Inputs of samples the model has not seen, in physical units.
        Y : (n, n_outputs)
            Their outputs.
        coverage
            Share of the outputs that intervals of that coverage shall hold, between 0 and 1.

        Raises
        ------
        InvalidDataError
            If the arrays are malformed.
        InvalidParameterError
            If the coverage does not lie between 0 and 1.
        """
        self._check_fitted()
        _check_coverage(coverage)
        X, Y, _ = check_training_data(X, Y, None, self.n_features_in_, self.n_outputs_)
        # As many as tell a quantile to half a percent, evenly spaced.
        chosen = np.arange(0, X.shape[0], max(1, X.shape[0] // MAX_CALIBRATION_SAMPLES))
        X, Y = X[chosen], Y[chosen]
        outcomes = self._predictive.outcomes(X, Y)
        spread = spread_factors(outcomes, coverage, self.spread_factors_)
        transforms = replace(self.transforms_, spread=spread)
        self._set_state(self.prior_, self.statistics_, self.groups_, self.n_samples_, transforms)
        return self

    @one_blas_thread
    def predict(
        self,
        X: ArrayLike,
        return_std: bool = False,
        mode: Literal["mean", "mode"] = "mean",
    ) -> FloatArray | tuple[FloatArray, FloatArray]:
        """
        Predict outputs.

        Parameters
        ----------
        X : (n, n_inputs)
            Inputs.
        return_std
            Whether to return the standard deviation too.
        mode
            "mean": the mixture's mean and spread. "mode": those of the most probable component
            alone, for relations that jump or have several branches.

        Returns
        -------
        mean : (n, n_outputs)
        std : (n, n_outputs)
            Only if `return_std`.

        Raises
        ------
        NotFittedError
            Before the first fit.
        InvalidDataError
            If X is malformed or has another number of columns than the training data.
        """
        if mode not in ("mean", "mode"):
            raise InvalidParameterError(f"mode must be 'mean' or 'mode', got {mode!r}")
        X = self._checked_inputs(X)
        mean, std = self._predictive.mean_and_std(X, most_probable=mode == "mode")
        return (mean, std) if return_std else mean

    @one_blas_thread
    def predict_components(self, X: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
        """
        Predict with every component apart, for relations with several branches.

        Parameters
        ----------
        X : (n, n_inputs)
            Inputs.

        Returns
        -------
        weights : (n, K + 1)
            Share of each component; the last is the one not yet seen.
        means : (n, K + 1, n_outputs)
        covariances : (n, K + 1, n_outputs, n_outputs)
        """
        X = self._checked_inputs(X)
        return self._predictive.components(X)

    @one_blas_thread
    def predict_interval(
        self, X: ArrayLike, coverage: float = 0.95
    ) -> tuple[FloatArray, FloatArray]:
        """
        Central intervals of each output: quantiles of the predictive mixture.

        Parameters
        ----------
        X : (n, n_inputs)
            Inputs.
        coverage
            Probability inside the interval, between 0 and 1.

        Returns
        -------
        lower, upper : (n, n_outputs)
        """
        _check_coverage(coverage)
        X = self._checked_inputs(X)
        return self._predictive.interval(X, coverage)

    @one_blas_thread
    def log_predictive_density(self, X: ArrayLike, Y: ArrayLike) -> FloatArray:
        """Log p(y | x) (n,) of inputs (n, n_inputs) and outputs (n, n_outputs), in nats.

        The density is one over the physical units of Y: the scaling's Jacobian is included.
        """
        self._check_fitted()
        X, Y, _ = check_training_data(X, Y, None, self.n_features_in_, self.n_outputs_)
        return self._predictive.log_density(X, Y)

    @one_blas_thread
    def responsibilities(self, X: ArrayLike) -> FloatArray:
        """Share (n, K + 1) of each component at inputs (n, n_inputs); the last is the unseen."""
        X = self._checked_inputs(X)
        return self._predictive.weights(X)

    @one_blas_thread
    def input_regions(self) -> tuple[FloatArray, FloatArray]:
        """
        Where in the input space the local models lie.

        Returns
        -------
        centres : (K, n_inputs)
            Locations of the components' inputs, in physical units.
        covariances : (K, n_inputs, n_inputs)
            Covariances of their predictive distribution.
        """
        self._check_fitted()
        return self._predictive.input_regions()

    def score(self, X: ArrayLike, Y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Coefficient of determination, mean over the outputs, as in scikit-learn's regressors."""
        self._check_fitted()
        X, Y, weights = check_training_data(
            X, Y, sample_weight, self.n_features_in_, self.n_outputs_
        )
        error = np.average((Y - self.predict(X)) ** 2, axis=0, weights=weights)
        centre = np.average(Y, axis=0, weights=weights)
        spread = np.average((Y - centre) ** 2, axis=0, weights=weights)
        # An output that never changes has nothing to explain; scikit-learn scores it the same.
        constant = np.where(error > 0.0, 0.0, 1.0)
        explained = 1.0 - error / np.where(spread > 0.0, spread, 1.0)
        return float(np.mean(np.where(spread > 0.0, explained, constant)))

    @one_blas_thread
    def predictor(self) -> Predictor:
        """Return what predicts one input at a time, for control loops; later fits leave it be."""
        self._check_fitted()
        return self._predictive.predictor()

    def save(
        self, path: str | os.PathLike[str], metadata: Mapping[str, Any] | None = None
    ) -> None:
        """
        Write the model to one file, in one step; `load_snapshot` reads it.

        Parameters
        ----------
        path
            The file.
        metadata
            Values that JSON can hold, kept beside the model; by default those it came with.

        Raises
        ------
        NotFittedError
            Before the first fit.
        SnapshotError
            If the file cannot be written.
        """
        from ilr_dynamics.regression.snapshot import (
            write_model,  # the snapshot module knows all model classes
        )

        self._check_fitted()
        write_model(path, self, self.metadata_ if metadata is None else metadata)

    def _checked_inputs(self, X: ArrayLike) -> FloatArray:
        self._check_fitted()
        return check_array(X, "X", self.n_features_in_)

    def __sklearn_is_fitted__(self) -> bool:
        """Answer scikit-learn's `check_is_fitted`."""
        return hasattr(self, "posterior_")

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(
                f"this {type(self).__name__} has not seen data yet: call fit or partial_fit first"
            )


def _check_coverage(coverage: float) -> None:
    if not 0.0 < coverage < 1.0:
        raise InvalidParameterError(f"coverage must lie between 0 and 1, got {coverage!r}")
