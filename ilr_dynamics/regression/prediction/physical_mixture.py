# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The predictive distribution in physical units: the mixture and the global model together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.regression.mixture.mixture import MixturePrior
from ilr_dynamics.regression.prediction.calibration import Outcomes
from ilr_dynamics.regression.prediction.mixture_moments import (
    interval,
    log_conditional_density,
    mean_and_variance,
    most_probable_only,
    with_unseen_prediction,
)
from ilr_dynamics.regression.prediction.predictive_mixture import (
    ComponentPredictions,
    PredictiveMixture,
)
from ilr_dynamics.regression.prediction.pruned_batches import pruned_predictions
from ilr_dynamics.regression.shared.global_model import GlobalPrediction
from ilr_dynamics.regression.units.transforms import Transforms

__all__ = ["PhysicalMixture"]


@dataclass(frozen=True)
class PhysicalMixture:
    """
    What a model predicts, for inputs X (n, m) and outputs Y (n, d) that have been checked.

    Attributes
    ----------
    mixture
        Predictive distribution in standard units.
    transforms
        Between physical and standard units, with the global model.
    """

    mixture: PredictiveMixture
    transforms: Transforms

    @classmethod
    def from_statistics(
        cls,
        prior: MixturePrior,
        statistics: FloatArray,
        groups: IndexArray,
        transforms: Transforms,
    ) -> Self:
        """Evaluate what does not depend on the query, of components in order."""
        mixture = PredictiveMixture.from_components(prior.predictive(statistics, groups))
        model = transforms.global_model
        if model is not None:
            scale = transforms.outputs.scale
            mixture = mixture.with_unseen(model.noise_shape / np.outer(scale, scale), model.dof)
        spread = transforms.spread
        mixture = mixture.with_spread(spread.components, spread.unseen)
        return cls(mixture, transforms)

    def mean_and_std(
        self, X: FloatArray, *, most_probable: bool = False
    ) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation (n, d), or those of the most probable component alone."""
        means, variances = np.empty((2, X.shape[0], self.mixture.n_outputs))
        everywhere = self.transforms.global_prediction(X)
        for rows, mixture, predictions in self._pruned_predictions(X, everywhere):
            used = most_probable_only(predictions) if most_probable else predictions
            means[rows], variances[rows] = mean_and_variance(mixture, used)
        return (
            self._physical(means, everywhere),
            np.sqrt(variances) * self.transforms.outputs.scale,
        )

    def interval(self, X: FloatArray, coverage: float) -> tuple[FloatArray, FloatArray]:
        """Central interval (n, d) of each output."""
        lower, upper = np.empty((2, X.shape[0], self.mixture.n_outputs))
        everywhere = self.transforms.global_prediction(X)
        for rows, mixture, predictions in self._pruned_predictions(X, everywhere):
            lower[rows], upper[rows] = interval(mixture, predictions, coverage)
        return self._physical(lower, everywhere), self._physical(upper, everywhere)

    def outcomes(self, X: FloatArray, Y: FloatArray) -> list[Outcomes]:
        """Outputs everywhere what is predicted of them, for calibration."""
        everywhere = self.transforms.global_prediction(X)
        outputs, spread = self._standard(Y, everywhere), self.transforms.spread
        return [
            Outcomes.of(mixture, predictions, outputs[rows], spread)
            for rows, mixture, predictions in self._pruned_predictions(X, everywhere)
        ]

    def components(self, X: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Weights (n, K + 1), means (n, K + 1, d) and covariances (n, K + 1, d, d) of all."""
        everywhere = self.transforms.global_prediction(X)
        blocks = [block for _, block in self._predictions(X, everywhere)]
        scale = self.transforms.outputs.scale
        covariances = np.concatenate([self.mixture.covariances(block) for block in blocks])
        means = np.concatenate([block.means for block in blocks])
        return (
            np.concatenate([block.weights for block in blocks]),
            self._physical(means, everywhere),
            covariances * np.outer(scale, scale),
        )

    def weights(self, X: FloatArray) -> FloatArray:
        """Share (n, K + 1) of each component."""
        U = self.transforms.regressors(X)
        return np.concatenate([block.weights for block in self.mixture.predictions(U)])

    def log_density(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        """Log p(y | x) (n,), over the physical units of Y."""
        everywhere = self.transforms.global_prediction(X)
        outputs = self._standard(Y, everywhere)
        densities = [
            log_conditional_density(self.mixture, block, outputs[rows])
            for rows, block in self._predictions(X, everywhere)
        ]
        return np.concatenate(densities) - float(np.sum(np.log(self.transforms.outputs.scale)))

    def input_regions(self) -> tuple[FloatArray, FloatArray]:
        """Centres (K, m) and covariances (K, m, m) of the inputs of components with samples."""
        scaling = self.transforms.regressors.scaling
        centres, covariances = self.mixture.input_regions()
        return (
            centres * scaling.scale + scaling.location,
            covariances * np.outer(scaling.scale, scaling.scale),
        )

    def _pruned_predictions(
        self, X: FloatArray, everywhere: GlobalPrediction | None
    ) -> Iterator[tuple[IndexArray, PredictiveMixture, ComponentPredictions]]:
        """Some rows of inputs, the part of the mixture that matters, and what it says."""
        U = self.transforms.regressors(X)
        for rows, mixture, predictions in pruned_predictions(self.mixture, U):
            yield rows, mixture, self._completed(mixture, predictions, X, rows, everywhere)

    def _predictions(
        self, X: FloatArray, everywhere: GlobalPrediction | None
    ) -> Iterator[tuple[slice, ComponentPredictions]]:
        """A block of rows of inputs at a time, and what all components say."""
        start = 0
        for block in self.mixture.predictions(self.transforms.regressors(X)):
            rows = slice(start, start + block.log_weights.shape[0])
            yield rows, self._completed(self.mixture, block, X, rows, everywhere)
            start = rows.stop

    def _completed(
        self,
        mixture: PredictiveMixture,
        predictions: ComponentPredictions,
        X: FloatArray,
        rows: IndexArray | slice,
        everywhere: GlobalPrediction | None,
    ) -> ComponentPredictions:
        """Let the unseen component predict what the global model does, if there is one."""
        if everywhere is None:
            return predictions
        predictions = self._kriged(mixture, predictions, X[rows])
        mean = self._standard(everywhere.mean, everywhere)[rows]
        of_components, of_unseen = self.transforms.added_variances(everywhere)
        completed = with_unseen_prediction(
            predictions,
            mean,
            everywhere.factor[rows],
            None if of_unseen is None else of_unseen[rows],
        )
        if of_components is None:
            return completed
        added = of_components[rows][:, None]
        if completed.added is not None:
            added = added + completed.added
        return replace(completed, added=added)

    def _kriged(
        self, mixture: PredictiveMixture, predictions: ComponentPredictions, X: FloatArray
    ) -> ComponentPredictions:
        """Let residuals count as far as they are correlated with those that components learned."""
        transforms, model = self.transforms, self.transforms.global_model
        if model is None or not transforms.learn_residual:
            return predictions
        scaling = transforms.regressors.scaling
        correlation = model.residual_correlation(
            X,
            mixture.centres[:-1] * scaling.scale + scaling.location,
            mixture.extents[:-1] * scaling.scale,
        )
        if correlation is None:
            return predictions
        rho = correlation[:, :, None]
        none = -transforms.outputs.location / transforms.outputs.scale
        means = predictions.means.copy()
        means[:, :-1] = none + rho * (means[:, :-1] - none)
        unknown = (1.0 - rho**2) * transforms.residual_variance()
        return replace(predictions, means=means, added=unknown)

    def _standard(self, Y: FloatArray, everywhere: GlobalPrediction | None) -> FloatArray:
        """Outputs (n, d) in the units of the mixture."""
        origin = self.transforms.origin(everywhere)
        return np.asarray((Y - origin) / self.transforms.outputs.scale)

    def _physical(self, outputs: FloatArray, everywhere: GlobalPrediction | None) -> FloatArray:
        """Outputs (n, ..., d) of the mixture in physical units."""
        origin = self.transforms.origin(everywhere)
        if outputs.ndim > origin.ndim > 1:
            origin = origin[:, None, :]
        return np.asarray(outputs * self.transforms.outputs.scale + origin)
