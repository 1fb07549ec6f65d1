# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What all mixture regressors share: prediction, and keeping a model in a file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..exceptions import InvalidParameterError, NotFittedError
from .calibration import Outcomes, SpreadFactors, spread_factors
from .component_predictions import (
    ComponentPredictions,
    interval,
    log_conditional_density,
    mean_and_variance,
    most_probable_only,
    with_unseen_prediction,
)
from .estimator import Estimator
from .fallback import Fallback
from .features import Regressors
from .influence import Influence
from .mixture import MixturePosterior, MixturePrior
from .predictive import PredictiveMixture
from .predictor import Predictor
from .prior_mean import PriorMean
from .products import centres_and_covariances, forms
from .scaling import Standardizer
from .transforms import Transforms
from .validation import check_array, check_training_data

__all__ = ["MixtureRegressor"]

Array = NDArray[np.float64]

# A component counts as active when it holds more than one sample.
ACTIVE_COUNT = 1.0
MAX_CALIBRATION_SAMPLES = 2000


class MixtureRegressor(Estimator):
    """Base of estimators whose predictive distribution is a mixture of Student-t densities."""

    regressors_: Regressors
    output_scaling_: Standardizer
    prior_: MixturePrior
    prior_mean_: PriorMean | None
    fallback_: Fallback | None
    spread_factors_: SpreadFactors
    statistics_: Array
    groups_: NDArray[np.intp]
    posterior_: MixturePosterior
    lower_bounds_: Array
    converged_: bool
    n_active_: int
    n_samples_: int
    n_features_in_: int
    n_outputs_: int
    metadata_: dict[str, Any]
    _mixture: PredictiveMixture
    _learned_residual: bool

    def _set_state(
        self,
        prior: MixturePrior,
        statistics: Array,
        groups: NDArray[np.intp],
        n_samples: int,
        transforms: Transforms,
    ) -> None:
        """Take prior, statistics and transforms as what is known; all else follows from them."""
        posterior = prior.posterior(statistics, groups)
        # What has no samples is the fallback's: it knows more about it than an upper component
        # that does not know the offset.
        components = prior.predictive(statistics, groups, with_vacant=transforms.fallback is None)
        mixture = PredictiveMixture.from_components(components)
        if transforms.fallback is not None:
            scale = transforms.outputs.scale
            shape = transforms.fallback.noise_shape / np.outer(scale, scale)
            mixture = mixture.with_unseen(shape, transforms.fallback.dof)
            if transforms.learn_residual:
                unlearned = transforms.fallback.uninformative_variance / scale**2
                mixture = mixture.with_added_noise(np.diag(unlearned))
        spread = transforms.spread
        self._mixture = mixture.with_spread(spread.components, spread.unseen)
        self.regressors_, self.output_scaling_ = transforms.regressors, transforms.outputs
        self.prior_mean_, self.fallback_ = transforms.prior_mean, transforms.fallback
        self.spread_factors_ = spread
        self._learned_residual = transforms.learn_residual
        self.prior_ = prior
        self.statistics_, self.groups_ = statistics, groups
        self.posterior_ = posterior
        self.n_samples_ = n_samples
        self.n_active_ = int(np.sum(prior.counts(statistics) > ACTIVE_COUNT))
        self.n_features_in_, self.n_outputs_ = prior.n_inputs, prior.n_outputs

    @property
    def transforms_(self) -> Transforms:
        """What stands between physical units and the mixture."""
        return Transforms(
            self.regressors_,
            self.output_scaling_,
            self.prior_mean_,
            self.fallback_,
            self.spread_factors_,
            self._learned_residual,
        )

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
        if not 0.0 < coverage < 1.0:
            raise InvalidParameterError(f"coverage must lie between 0 and 1, got {coverage!r}")
        X, Y, _ = check_training_data(X, Y, None, self.n_features_in_, self.n_outputs_)
        # As many as tell a quantile to half a percent, evenly spaced.
        chosen = np.arange(0, X.shape[0], max(1, X.shape[0] // MAX_CALIBRATION_SAMPLES))
        X, Y = X[chosen], Y[chosen]
        outputs = (Y - self._physical(np.zeros_like(Y), X)) / self.output_scaling_.scale
        outcomes = [
            Outcomes.of(mixture, predictions, outputs[rows], self.spread_factors_)
            for rows, mixture, predictions in self._relevant_predictions(X)
        ]
        spread = spread_factors(outcomes, coverage, self.spread_factors_)
        transforms = replace(self.transforms_, spread=spread)
        self._set_state(self.prior_, self.statistics_, self.groups_, self.n_samples_, transforms)
        return self

    def predict(
        self,
        X: ArrayLike,
        return_std: bool = False,
        mode: Literal["mean", "mode"] = "mean",
    ) -> Array | tuple[Array, Array]:
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
        means, variances = np.empty((2, X.shape[0], self.n_outputs_))
        for rows, mixture, predictions in self._relevant_predictions(X):
            used = most_probable_only(predictions) if mode == "mode" else predictions
            means[rows], variances[rows] = mean_and_variance(mixture, used)
        physical_mean = self._physical(means, X)
        if not return_std:
            return physical_mean
        return physical_mean, np.sqrt(variances) * self.output_scaling_.scale

    def predict_components(self, X: ArrayLike) -> tuple[Array, Array, Array]:
        """
        Predict with every component apart, for relations with several branches.

        Parameters
        ----------
        X : (n, n_inputs)
            Inputs.

        Returns
        -------
        weights : (n, K + 1)
            Share of each component; the last is the one not yet seen. In a hierarchy without a
            fallback the K are the lower components and, behind them, one vacant one for each
            upper component.
        means : (n, K + 1, n_outputs)
        covariances : (n, K + 1, n_outputs, n_outputs)
        """
        X = self._checked_inputs(X)
        blocks = list(self._predictions(X))
        scale = self.output_scaling_.scale
        covariances = self._mixture.covariances() * np.outer(scale, scale)
        factors = np.concatenate([block.factors for block in blocks])
        means = np.concatenate([block.means for block in blocks])
        return (
            np.concatenate([block.weights for block in blocks]),
            self._physical(means, X),
            factors[:, :, None, None] * covariances,
        )

    def predict_interval(self, X: ArrayLike, coverage: float = 0.95) -> tuple[Array, Array]:
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
        if not 0.0 < coverage < 1.0:
            raise InvalidParameterError(f"coverage must lie between 0 and 1, got {coverage!r}")
        X = self._checked_inputs(X)
        lower, upper = np.empty((2, X.shape[0], self.n_outputs_))
        for rows, mixture, predictions in self._relevant_predictions(X):
            lower[rows], upper[rows] = interval(mixture, predictions, coverage)
        return self._physical(lower, X), self._physical(upper, X)

    def log_predictive_density(self, X: ArrayLike, Y: ArrayLike) -> Array:
        """Log p(y | x) (n,) of inputs (n, n_inputs) and outputs (n, n_outputs), in nats.

        The density is one over the physical units of Y: the scaling's Jacobian is included.
        """
        self._check_fitted()
        X, Y, _ = check_training_data(X, Y, None, self.n_features_in_, self.n_outputs_)
        outputs = (Y - self._physical(np.zeros_like(Y), X)) / self.output_scaling_.scale
        densities = np.empty(X.shape[0])
        start = 0
        for block in self._predictions(X):
            rows = slice(start, start + block.log_weights.shape[0])
            densities[rows] = log_conditional_density(self._mixture, block, outputs[rows])
            start = rows.stop
        return densities - float(np.sum(np.log(self.output_scaling_.scale)))

    def responsibilities(self, X: ArrayLike) -> Array:
        """Share (n, K + 1) of each component at inputs (n, n_inputs); the last is the unseen."""
        X = self._checked_inputs(X)
        return np.concatenate([block.weights for block in self._predictions(X)])

    def input_regions(self) -> tuple[Array, Array]:
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
        m, n_components = self.n_features_in_, self.statistics_.shape[0]
        mixture, scaling = self._mixture, self.regressors_.scaling
        centres, covariances = centres_and_covariances(
            forms(mixture.distance_coefficients[:n_components])
        )
        dofs = 2.0 * mixture.exponents[:n_components] - m
        # Of the Student-t with 1 + x' A x in its density; none up to two degrees of freedom.
        covariances /= np.maximum(dofs - 2.0, 1.0)[:, None, None]
        return (
            centres * scaling.scale + scaling.location,
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

    def predictor(self) -> Predictor:
        """Return what predicts one input at a time, for control loops; later fits leave it be."""
        self._check_fitted()
        mixture = self._mixture
        # Those behind have none: the vacant ones of a hierarchy, and the unseen one.
        influence = Influence.from_mixture(mixture, first=self.statistics_.shape[0])
        return Predictor(mixture, self.transforms_, mixture.screening, influence)

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
        from .snapshot import write_model  # the snapshot module knows all model classes

        self._check_fitted()
        write_model(path, self, self.metadata_ if metadata is None else metadata)

    def _checked_inputs(self, X: ArrayLike) -> Array:
        self._check_fitted()
        return check_array(X, "X", self.n_features_in_)

    def _relevant_predictions(
        self, X: Array
    ) -> Iterator[tuple[NDArray[np.intp], PredictiveMixture, ComponentPredictions]]:
        """Some rows of inputs (n, m), the part of the mixture that matters, and what it says."""
        # Of all inputs at once: a fallback's calls cost as much as what they do.
        unseen = self._unseen(X)
        for rows, mixture, predictions in self._mixture.relevant_predictions(self.regressors_(X)):
            if unseen is not None:
                mean, factor = unseen
                predictions = with_unseen_prediction(predictions, mean[rows], factor[rows])
            yield rows, mixture, predictions

    def _predictions(self, X: Array) -> Iterator[ComponentPredictions]:
        """What all components say, a block of rows of inputs (n, m) at a time."""
        start = 0
        for block in self._mixture.predictions(self.regressors_(X)):
            rows = slice(start, start + block.log_weights.shape[0])
            yield block if self.fallback_ is None else self._with_fallback(block, X[rows])
            start = rows.stop

    def _with_fallback(self, block: ComponentPredictions, X: Array) -> ComponentPredictions:
        unseen = self._unseen(X)
        assert unseen is not None
        return with_unseen_prediction(block, *unseen)

    def _unseen(self, X: Array) -> tuple[Array, Array] | None:
        """What the fallback, if any, says at inputs (n, m): mean (n, d) and widening (n,)."""
        if self.fallback_ is None:
            return None
        prediction = self.fallback_.predict(X)
        # In the units of the mixture, to which the prior mean is added again.
        mean = (prediction.mean - self._physical(np.zeros_like(prediction.mean), X)) / (
            self.output_scaling_.scale
        )
        return mean, prediction.factor

    def _physical(self, outputs: Array, X: Array) -> Array:
        """Outputs (n, ..., d) at inputs (n, m) in physical units, the prior mean added."""
        physical = self.output_scaling_.inverse_transform(outputs)
        expected = self.transforms_.expected(X)
        if expected is None:
            return physical
        return physical + (expected if physical.ndim == 2 else expected[:, None, :])

    def __sklearn_is_fitted__(self) -> bool:
        """Answer scikit-learn's `check_is_fitted`."""
        return hasattr(self, "posterior_")

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn, and nobody else asks, that this is a regressor of several outputs."""
        # Imported here, where it is the caller, so that the package does not depend on it.
        from sklearn.utils import RegressorTags, Tags, TargetTags

        return Tags(
            estimator_type="regressor",
            target_tags=TargetTags(required=True, multi_output=True, single_output=False),
            transformer_tags=None,
            classifier_tags=None,
            regressor_tags=RegressorTags(),
        )

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(
                f"this {type(self).__name__} has not seen data yet: call fit or partial_fit first"
            )
