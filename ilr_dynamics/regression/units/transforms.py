# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Transforms between physical units and the mixture: scaling, features and the global model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.regression.shared.change import Change
from ilr_dynamics.regression.shared.global_model import GlobalModel, check_global_model_fits
from ilr_dynamics.regression.units.features import Regressors
from ilr_dynamics.regression.units.scaling import Standardizer
from ilr_dynamics.regression.units.spread import SpreadFactors

__all__ = ["Transforms"]


@dataclass(frozen=True)
class Transforms:
    """
    What stands between physical units and the mixture.

    Attributes
    ----------
    regressors
        Inputs in physical units to regressors in standard units.
    outputs
        Outputs in physical to standard units; of residuals if these are learned.
    global_model
        Prediction of the unseen component, in physical units; None: that of the base prior.
    learn_residual
        Whether the mixture learned what the global model leaves, so that its mean is added.
    spread
        Factors on standard deviations, found by calibration.
    """

    regressors: Regressors
    outputs: Standardizer
    global_model: GlobalModel | None = None
    learn_residual: bool = False
    spread: SpreadFactors = SpreadFactors()

    def residual(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        """What the mixture learns of outputs Y (n, d) at inputs X (n, m), in physical units."""
        if not self.learn_residual:
            return Y
        assert self.global_model is not None
        return self.global_model.residual(X, Y)

    def inflated(self, X: FloatArray, weights: FloatArray) -> SpreadFactors:
        """Spread with which residuals of samples X (n, m), that were learned, are those of new."""
        if self.global_model is None or not self.learn_residual:
            return self.spread
        factor = self.global_model.residual_inflation(X, weights)
        return replace(self.spread, components=factor * self.spread.components)

    def origin(self, expected: FloatArray | None) -> FloatArray:
        """
        Outputs (n, d) or (d,), in physical units, where those of the mixture are zero.

        Parameters
        ----------
        expected : (n, d), optional
            What the global model, if there is one, expects.
        """
        if expected is None or not self.learn_residual:
            return self.outputs.location
        return self.outputs.location + expected

    def residual_variance(self) -> FloatArray:
        """Variance (d,) of what the global model leaves, in the mixture's units; else 0."""
        if self.global_model is None:
            return np.zeros(self.outputs.location.size)
        dof, shape = self.global_model.dof, np.diagonal(self.global_model.noise_shape)
        return np.asarray(shape * dof / (dof - 2.0) / self.outputs.scale**2)

    def residual_rates(self) -> FloatArray | None:
        """1 / lengths (m,) over which a learned residual stays alike, in units of the mixture."""
        if self.global_model is None or not self.learn_residual:
            return None
        lengths = self.global_model.residual_lengths
        return None if lengths is None else self.regressors.scaling.scale / lengths

    def updated(self, X: FloatArray, Y: FloatArray, weights: FloatArray, kept: float) -> Self:
        """Let the global model learn further samples; earlier ones weigh `kept` as much."""
        if self.global_model is None:
            return self
        model = self.global_model if kept == 1.0 else self.global_model.discounted(kept)
        return self._with_global_model(model.updated(X, Y, weights), X, Y)

    def adapted(
        self, X: FloatArray, Y: FloatArray, weights: FloatArray
    ) -> tuple[Self, Change] | None:
        """Let the global model decide what of it still holds; None if it cannot tell."""
        if self.global_model is None:
            return None
        adapted = self.global_model.adapted(X, Y, weights)
        if adapted is None:
            return None
        model, change = adapted
        return self._with_global_model(model, X, Y), change

    def _with_global_model(self, model: GlobalModel, X: FloatArray, Y: FloatArray) -> Self:
        check_global_model_fits(model, X, Y.shape[1])
        return replace(self, global_model=model)
