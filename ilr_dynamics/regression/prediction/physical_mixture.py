# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The predictive distribution in physical units: the mixture and the global model together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Self

import numpy as np

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.regression.mixture.mixture import MixturePrior
from ilr_dynamics.regression.prediction._mixture import Mixture
from ilr_dynamics.regression.prediction.calibration import SMALLEST_WEIGHT, Outcomes
from ilr_dynamics.regression.prediction.component_predictions import (
    ComponentPredictions,
    covariances,
    interval,
    log_conditional_density,
)
from ilr_dynamics.regression.prediction.predictive_mixture import PredictiveMixture
from ilr_dynamics.regression.prediction.screening import Screening
from ilr_dynamics.regression.units.transforms import Transforms

__all__ = ["PhysicalMixture"]


# What the compiled mixture is given of n inputs.
_Optional = FloatArray | None
_Given = tuple[FloatArray, _Optional, _Optional, _Optional, _Optional, _Optional]

# Share of the mixture, its lightest components, that a quantile leaves out at most, and that in
# shares of what lies outside the interval: these bound the error of the coverage.
QUANTILE_WEIGHT, QUANTILE_SHARE = 1e-6, 1e-3
# Components for which memory is reserved at first, for each input.
ROOM = 16
# Numbers held at a time of what all components predict.
BLOCK_SIZE = 1 << 23


@dataclass(frozen=True)
class PhysicalMixture:
    """
    What a model predicts, for inputs X (n, m) and outputs Y (n, d) that have been checked.

    The one path of all predictions: `_mixture.c` evaluates the mixture.

    Attributes
    ----------
    mixture
        Predictive distribution in standard units.
    transforms
        Between physical and standard units, with the global model.
    screening
        Arrays that tell which components can matter at an input.
    """

    mixture: PredictiveMixture
    transforms: Transforms
    screening: Screening

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
        return cls(mixture, transforms, mixture.screening)

    @cached_property
    def compiled(self) -> Mixture:
        """The compiled mixture, over these arrays without copies of them."""
        transforms = self.transforms
        return Mixture(self._arrays(), transforms.learn_residual, transforms.spread.unseen)

    def _arrays(self) -> dict[str, FloatArray]:
        """Arrays of the compiled mixture, by name."""
        transforms, parts = self.transforms, (self.mixture, self.screening)
        arrays = {
            field.name: getattr(part, field.name) for part in parts for field in fields(part)
        }
        inputs, outputs = transforms.regressors.scaling, transforms.outputs
        for name, scaling in (("input", inputs), ("output", outputs)):
            arrays[f"{name}_location"], arrays[f"{name}_scale"] = scaling.location, scaling.scale
        arrays["variances"] = self.mixture.variances()
        arrays["residual_variance"] = transforms.residual_variance()
        rates = transforms.residual_rates()
        if rates is not None:
            arrays["residual_rates"] = rates
        return {name: np.ascontiguousarray(array) for name, array in arrays.items()}

    def __getstate__(self) -> dict[str, Any]:
        """Leave out cached properties."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def moments(self, X: FloatArray, *, most_probable: bool = False) -> FloatArray:
        """
        Moments of the mixture, or of the most probable component alone.

        Parameters
        ----------
        X : (n, m)
            Inputs in physical units.

        Returns
        -------
        answers : (n, 3 d + 2)
            Mean, standard deviation and doubt, the deviation of what is expected, of each output;
            weight of the unseen component; number of the heaviest, -1 for the unseen.
        """
        answers = np.empty((len(X), 3 * self.mixture.n_outputs + 2))
        self.compiled.moments(*self._given(X), most_probable, answers)
        return answers

    def interval(self, X: FloatArray, coverage: float) -> tuple[FloatArray, FloatArray]:
        """Central interval (n, d) of each output."""
        left_out = min(QUANTILE_WEIGHT, QUANTILE_SHARE * (1.0 - coverage))
        least_weight = left_out / self.mixture.dofs.size
        blocks = [
            (interval(self.mixture, block, coverage), origin)
            for _, block, origin in self._components(X, least_weight)
        ]
        scale = self.transforms.outputs.scale
        lower, upper = (
            np.concatenate([bounds[side] * scale + origin for bounds, origin in blocks])
            for side in (0, 1)
        )
        return lower, upper

    def outcomes(self, X: FloatArray, Y: FloatArray) -> list[Outcomes]:
        """Outputs and what is predicted of them, for calibration."""
        scale, spread = self.transforms.outputs.scale, self.transforms.spread
        return [
            Outcomes.of(self.mixture, block, (Y[rows] - origin) / scale, spread)
            for rows, block, origin in self._components(X, SMALLEST_WEIGHT)
        ]

    def components(self, X: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Weights (n, K + 1), means (n, K + 1, d) and covariances (n, K + 1, d, d) of all."""
        scale = self.transforms.outputs.scale
        parts = [
            (
                block.weights,
                block.means * scale + origin[..., None, :],
                covariances(self.mixture, block) * np.outer(scale, scale),
            )
            for _, block, origin in self._components(X, None)
        ]
        weights, means, spreads = (np.concatenate(part) for part in zip(*parts, strict=True))
        return weights, means, spreads

    def weights(self, X: FloatArray) -> FloatArray:
        """Share (n, K + 1) of each component."""
        return np.concatenate([block.weights for _, block, _ in self._components(X, None)])

    def log_density(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        """Log p(y | x) (n,), over the physical units of Y."""
        scale = self.transforms.outputs.scale
        densities = [
            log_conditional_density(self.mixture, block, (Y[rows] - origin) / scale)
            for rows, block, origin in self._components(X, None)
        ]
        return np.concatenate(densities) - float(np.sum(np.log(scale)))

    def _components(
        self, X: FloatArray, least_weight: float | None
    ) -> Iterator[tuple[slice, ComponentPredictions, FloatArray]]:
        """
        Predictions of components for blocks of rows: of this weight at least, or all in order.

        Yields
        ------
        rows
            Of X.
        predictions
            In the units of the mixture.
        origin : (n', d) or (d,)
            Outputs, in physical units, where those of the mixture are zero.
        """
        d, room = self.mixture.n_outputs, self.mixture.dofs.size
        if least_weight is not None:
            room = min(room, ROOM)
        start = 0
        while start < len(X):
            rows = slice(start, start + max(1, BLOCK_SIZE // (room * (2 * d + d * d))))
            given = self._given(X[rows])
            n = len(X[rows])
            numbers = np.empty((n, room), dtype=np.intp)
            log_weights, factors = np.empty((2, n, room))
            means, added = np.empty((2, n, room, d))
            parts = numbers, log_weights, factors, means, added
            needed = self.compiled.components(*given, least_weight, *parts)
            if needed > room:
                room = needed
                continue
            start = rows.stop
            yield rows, ComponentPredictions(*parts), self.transforms.origin(given[2])

    def _given(self, X: FloatArray) -> _Given:
        """Rows of inputs, features, and the global model's mean, factor, doubt and unlearnable."""
        X = np.ascontiguousarray(X)
        self.compiled.check(X)
        features = self.transforms.regressors.features_of(X)
        model = self.transforms.global_model
        if model is None:
            return X, features, None, None, None, None
        predicted = model.predict(X)
        return (
            X,
            features,
            np.ascontiguousarray(predicted.mean),
            np.ascontiguousarray(predicted.factor),
            None if predicted.doubt is None else np.ascontiguousarray(predicted.doubt),
            None if predicted.unlearnable is None else np.ascontiguousarray(predicted.unlearnable),
        )
