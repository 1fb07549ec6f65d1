# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The predictive mixture in physical units, with what is known beside it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from .baseline import BaselinePrediction
from .calibration import Outcomes
from .component_predictions import (
    ComponentPredictions,
    interval,
    log_conditional_density,
    mean_and_variance,
    most_probable_only,
    with_unseen_prediction,
)
from .mixture import MixturePrior
from .neighbourhoods import relevant_predictions
from .predictive import PredictiveMixture
from .predictor import Predictor
from .products import centres_and_covariances, forms
from .transforms import Transforms

__all__ = ["PhysicalMixture"]

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True)
class PhysicalMixture:
    """
    What a model predicts, for inputs X (n, m) and outputs Y (n, d) that have been checked.

    Parameters
    ----------
    mixture
        Predictive distribution in standard units.
    transforms
        Between physical and standard units, and what the mixture is added to.
    """

    mixture: PredictiveMixture
    transforms: Transforms

    @classmethod
    def from_statistics(
        cls, prior: MixturePrior, statistics: Array, groups: Indices, transforms: Transforms
    ) -> Self:
        """Evaluate what does not depend on the query, of components in order."""
        mixture = PredictiveMixture.from_components(prior.predictive(statistics, groups))
        fallback = transforms.baseline.fallback
        if fallback is not None:
            scale = transforms.outputs.scale
            mixture = mixture.with_unseen(
                fallback.noise_shape / np.outer(scale, scale), fallback.dof
            )
            if transforms.baseline.learn_residual:
                unlearned = fallback.uninformative_variance / scale**2
                mixture = mixture.with_added_noise(np.diag(unlearned))
        spread = transforms.spread
        mixture = mixture.with_spread(spread.components, spread.unseen)
        return cls(mixture, transforms)

    def mean_and_std(self, X: Array, *, most_probable: bool = False) -> tuple[Array, Array]:
        """Mean and standard deviation (n, d), or those of the most probable component alone."""
        means, variances = np.empty((2, X.shape[0], self.mixture.n_outputs))
        beside = self.transforms.baseline.predict(X)
        for rows, mixture, predictions in self._relevant_predictions(X, beside):
            used = most_probable_only(predictions) if most_probable else predictions
            means[rows], variances[rows] = mean_and_variance(mixture, used)
        return (
            self._physical(means, beside),
            np.sqrt(variances) * self.transforms.outputs.scale,
        )

    def interval(self, X: Array, coverage: float) -> tuple[Array, Array]:
        """Central interval (n, d) of each output."""
        lower, upper = np.empty((2, X.shape[0], self.mixture.n_outputs))
        beside = self.transforms.baseline.predict(X)
        for rows, mixture, predictions in self._relevant_predictions(X, beside):
            lower[rows], upper[rows] = interval(mixture, predictions, coverage)
        return self._physical(lower, beside), self._physical(upper, beside)

    def outcomes(self, X: Array, Y: Array) -> list[Outcomes]:
        """Outputs beside what is predicted of them, for calibration."""
        beside = self.transforms.baseline.predict(X)
        outputs, spread = self._standard(Y, beside), self.transforms.spread
        return [
            Outcomes.of(mixture, predictions, outputs[rows], spread)
            for rows, mixture, predictions in self._relevant_predictions(X, beside)
        ]

    def components(self, X: Array) -> tuple[Array, Array, Array]:
        """Weights (n, K + 1), means (n, K + 1, d) and covariances (n, K + 1, d, d) of all."""
        beside = self.transforms.baseline.predict(X)
        blocks = [block for _, block in self._predictions(X, beside)]
        scale = self.transforms.outputs.scale
        covariances = self.mixture.covariances() * np.outer(scale, scale)
        factors = np.concatenate([block.factors for block in blocks])
        means = np.concatenate([block.means for block in blocks])
        return (
            np.concatenate([block.weights for block in blocks]),
            self._physical(means, beside),
            factors[:, :, None, None] * covariances,
        )

    def weights(self, X: Array) -> Array:
        """Share (n, K + 1) of each component."""
        U = self.transforms.regressors(X)
        return np.concatenate([block.weights for block in self.mixture.predictions(U)])

    def log_density(self, X: Array, Y: Array) -> Array:
        """Log p(y | x) (n,), over the physical units of Y."""
        beside = self.transforms.baseline.predict(X)
        outputs = self._standard(Y, beside)
        densities = [
            log_conditional_density(self.mixture, block, outputs[rows])
            for rows, block in self._predictions(X, beside)
        ]
        return np.concatenate(densities) - float(np.sum(np.log(self.transforms.outputs.scale)))

    def input_regions(self) -> tuple[Array, Array]:
        """Centres (K, m) and covariances (K, m, m) of the inputs of components with samples."""
        mixture, scaling = self.mixture, self.transforms.regressors.scaling
        centres, covariances = centres_and_covariances(forms(mixture.distance_coefficients[:-1]))
        dofs = 2.0 * mixture.exponents[:-1] - mixture.n_inputs
        # Of the Student-t with 1 + x' A x in its density; none up to two degrees of freedom.
        covariances /= np.maximum(dofs - 2.0, 1.0)[:, None, None]
        return (
            centres * scaling.scale + scaling.location,
            covariances * np.outer(scaling.scale, scaling.scale),
        )

    def predictor(self) -> Predictor:
        """Return what predicts one input at a time."""
        return Predictor(self.mixture, self.transforms, self.mixture.screening)

    def _relevant_predictions(
        self, X: Array, beside: BaselinePrediction
    ) -> Iterator[tuple[Indices, PredictiveMixture, ComponentPredictions]]:
        """Some rows of inputs, the part of the mixture that matters, and what it says."""
        U = self.transforms.regressors(X)
        for rows, mixture, predictions in relevant_predictions(self.mixture, U):
            yield rows, mixture, self._completed(predictions, rows, beside)

    def _predictions(
        self, X: Array, beside: BaselinePrediction
    ) -> Iterator[tuple[slice, ComponentPredictions]]:
        """A block of rows of inputs at a time, and what all components say."""
        start = 0
        for block in self.mixture.predictions(self.transforms.regressors(X)):
            rows = slice(start, start + block.log_weights.shape[0])
            yield rows, self._completed(block, rows, beside)
            start = rows.stop

    def _completed(
        self, predictions: ComponentPredictions, rows: Indices | slice, beside: BaselinePrediction
    ) -> ComponentPredictions:
        """Let the unseen component say what the fallback does, if there is one."""
        if beside.unseen is None:
            return predictions
        mean = beside.unseen.mean[rows] - self._offsets(beside, rows)
        mean /= self.transforms.outputs.scale
        return with_unseen_prediction(predictions, mean, beside.unseen.factor[rows])

    def _standard(self, Y: Array, beside: BaselinePrediction) -> Array:
        """Outputs (n, d) in the units of the mixture, without what is added to it."""
        return np.asarray((Y - self._offsets(beside)) / self.transforms.outputs.scale)

    def _physical(self, outputs: Array, beside: BaselinePrediction) -> Array:
        """Outputs (n, ..., d) of the mixture in physical units, with what is added to it."""
        physical = self.transforms.outputs.inverse_transform(outputs)
        if beside.added is None:
            return physical
        return physical + (beside.added if physical.ndim == 2 else beside.added[:, None, :])

    def _offsets(self, beside: BaselinePrediction, rows: Indices | slice = slice(None)) -> Array:
        """What outputs (n, d) or (d,) are where the mixture's are zero, in physical units."""
        location = self.transforms.outputs.location
        return location if beside.added is None else location + beside.added[rows]
