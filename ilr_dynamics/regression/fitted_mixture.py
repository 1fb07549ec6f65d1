# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Fitted mixtures: predictions, and the posterior they rest on."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.blas_threads import one_blas_thread
from ilr_dynamics.exceptions import InvalidParameterError, NotFittedError
from ilr_dynamics.regression.inference.knowledge import Knowledge
from ilr_dynamics.regression.mixture.mixture import MixturePosterior, MixturePrior
from ilr_dynamics.regression.prediction.physical_mixture import PhysicalMixture
from ilr_dynamics.regression.predictor import Predictor
from ilr_dynamics.regression.shared.global_model import GlobalModel
from ilr_dynamics.regression.shared.validation import check_array, check_training_data
from ilr_dynamics.regression.units.features import Regressors
from ilr_dynamics.regression.units.scaling import Standardizer
from ilr_dynamics.regression.units.spread import SpreadFactors
from ilr_dynamics.regression.units.transforms import Transforms

__all__ = ["FittedMixture", "check_coverage"]

# A component counts as active when it holds more than one sample.
ACTIVE_COUNT = 1.0


class FittedMixture:
    """Part of `MixtureRegressor` that needs no parameters: predictions, and what they rest on."""

    posterior_: MixturePosterior
    n_active_: int
    n_features_in_: int
    n_outputs_: int
    _knowledge: Knowledge
    _predictive: PhysicalMixture

    def _know(self, knowledge: Knowledge) -> None:
        """Take this as what is known; all else follows from it."""
        prior, statistics = knowledge.prior, knowledge.statistics
        posterior = prior.posterior(statistics, knowledge.groups)
        self._predictive = knowledge.predictive()
        self._knowledge = knowledge
        self.posterior_ = posterior
        self.n_active_ = int(np.sum(prior.counts(statistics) > ACTIVE_COUNT))
        self.n_features_in_, self.n_outputs_ = prior.n_inputs, prior.n_outputs

    @property
    def prior_(self) -> MixturePrior:
        """Base distribution, in standard units."""
        return self._knowledge.prior

    @property
    def statistics_(self) -> FloatArray:
        """Scatter (K, p, p) of the extended samples of each component, largest first."""
        return self._knowledge.statistics

    @property
    def groups_(self) -> IndexArray:
        """Upper component (K,) of each component."""
        return self._knowledge.groups

    @property
    def n_samples_(self) -> int:
        """Number of samples learned from so far."""
        return self._knowledge.n_samples

    @property
    def transforms_(self) -> Transforms:
        """Between physical and standard units, with the global model."""
        return self._knowledge.transforms

    @property
    def regressors_(self) -> Regressors:
        """Inputs in physical units to regressors in standard units."""
        return self.transforms_.regressors

    @property
    def output_scaling_(self) -> Standardizer:
        """Outputs in physical to standard units."""
        return self.transforms_.outputs

    @property
    def global_model_(self) -> GlobalModel | None:
        """The global model, with all samples it was given."""
        return self.transforms_.global_model

    @property
    def spread_factors_(self) -> SpreadFactors:
        """Factors on standard deviations that `calibrate` found."""
        return self.transforms_.spread

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
        answers = self._predictive.moments(X, most_probable=mode == "mode")
        mean, std = (np.split(answers, self.n_outputs_ * np.array([1, 2]), axis=1))[:2]
        return (mean.copy(), std.copy()) if return_std else mean.copy()

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
        check_coverage(coverage)
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
        knowledge, scaling = self._knowledge, self.regressors_.scaling
        region = knowledge.prior.predictive(knowledge.statistics, knowledge.groups).region
        covariances = region.predictive_covariances()[:-1]
        return (
            region.mean[:-1] * scaling.scale + scaling.location,
            covariances * np.outer(scaling.scale, scaling.scale),
        )

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
        return Predictor(self._predictive)

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


def check_coverage(coverage: float) -> None:
    """Raise InvalidParameterError if a coverage does not lie between 0 and 1."""
    if not 0.0 < coverage < 1.0:
        raise InvalidParameterError(f"coverage must lie between 0 and 1, got {coverage!r}")
