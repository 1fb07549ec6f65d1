# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Linear regression as a global model: one for the whole input space."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.exceptions import InvalidDataError, NotFittedError
from ilr_dynamics.regression.families.matrix_normal_wishart import (
    MatrixNormalWishart,
    update_matrix_normal_wishart,
)
from ilr_dynamics.regression.shared.global_model import GlobalModel, GlobalPrediction
from ilr_dynamics.regression.units.scaling import Standardizer

__all__ = ["LinearGlobalModel"]

# A slope of one standard unit is expected, give or take ten; the noise is worth two samples.
SLOPE_PRECISION = 1e-2
NOISE_STRENGTH = 2.0
# Rows whose regressors are in memory at a time.
BLOCK_ROWS = 4096
# A sample far from all others has a leverage of nearly 1, and is not to speak for these.
MOST_LEVERAGE = 0.9


@dataclass(frozen=True, eq=False)
class LinearGlobalModel(GlobalModel):
    """
    Bayesian linear regression of all outputs on [x, 1], exact (`MatrixNormalWishart`).

    Without arguments it knows nothing; sizes and scaling are those of the first samples.

    Parameters
    ----------
    inputs, outputs
        Physical to standard units.
    scatter : (p, p)
        Weighted sum of [x, 1, y] [x, 1, y]' in standard units.
    """

    inputs: Standardizer | None = None
    outputs: Standardizer | None = None
    scatter: FloatArray | None = None

    name = "linear"

    def updated(self, X: FloatArray, Y: FloatArray, weights: FloatArray) -> Self:
        """Return what is known after further samples."""
        return self.scaled_to(X, Y, weights).with_sums(X, Y, weights)

    def scaled_to(self, X: FloatArray, Y: FloatArray, weights: FloatArray) -> Self:
        """Return a model in the units of its first samples."""
        if self.inputs is not None and self.outputs is not None:
            return self
        return replace(
            self,
            inputs=Standardizer.from_data(X, weights, None, None, "input"),
            outputs=Standardizer.from_data(Y, weights, None, None, "output"),
        )

    def with_sums(self, X: FloatArray, Y: FloatArray, weights: FloatArray) -> Self:
        """Add samples to the sums."""
        assert self.outputs is not None
        scatter = self.scatter
        for start in range(0, len(X), BLOCK_ROWS):
            rows = slice(start, start + BLOCK_ROWS)
            Z = np.concatenate(
                [self._regressors(X[rows]), self.outputs.transform(Y[rows])], axis=1
            )
            added = (weights[rows, None] * Z).T @ Z
            scatter = added if scatter is None else scatter + added
        return replace(self, scatter=scatter)

    def discounted(self, factor: float) -> Self:
        """Return what is left if earlier samples weigh `factor` as much."""
        if factor == 0.0 or self.scatter is None:
            return type(self)()
        return replace(self, scatter=factor * self.scatter)

    def predict(self, X: FloatArray) -> GlobalPrediction:
        """Predict at inputs X (n, m), in physical units; NotFittedError before any samples."""
        if self.outputs is None:
            raise NotFittedError("the linear model has seen no samples; expected some first")
        U = self._regressors(X)
        covariance = self._posterior.slope_covariance[0]
        return GlobalPrediction(
            self.outputs.inverse_transform(U @ self._posterior.mean[0].T),
            1.0 + np.einsum("ni,ij,nj->n", U, covariance, U, optimize=True),
        )

    def residual_inflation(self, X: FloatArray, weights: FloatArray) -> float:
        """
        Mean, by weight, of 1 / (1 - h), h = w u' L^-1 u the leverage of each sample.

        What is left of a sample is 1 - h of what would be without having learned it. `predict`
        does not need this: its noise has fewer degrees of freedom for it.
        """
        covariance = self._posterior.slope_covariance[0]
        inflated = 0.0
        for start in range(0, len(X), BLOCK_ROWS):
            rows = slice(start, start + BLOCK_ROWS)
            U = self._regressors(X[rows])
            leverage = weights[rows] * np.sum(U @ covariance * U, axis=1)
            factors = 1.0 / (1.0 - np.minimum(leverage, MOST_LEVERAGE))
            inflated += float(weights[rows] @ factors)
        total = float(np.sum(weights))
        return inflated / total if total > 0.0 else 1.0

    @property
    def noise_shape(self) -> FloatArray:
        """Shape matrix (d, d) of the Student-t where the map is certain."""
        assert self.outputs is not None
        scale = self.outputs.scale
        return np.asarray(self._posterior.noise_shape()[0] * np.outer(scale, scale))

    @property
    def dof(self) -> float:
        """Degrees of freedom of the Student-t."""
        return float(self._posterior.predictive_dof()[0])

    def arrays(self) -> dict[str, FloatArray]:
        """Scalings and scatter; nothing before the first samples."""
        if self.inputs is None or self.outputs is None or self.scatter is None:
            return {}
        return {
            "input_location": self.inputs.location,
            "input_scale": self.inputs.scale,
            "output_location": self.outputs.location,
            "output_scale": self.outputs.scale,
            "scatter": self.scatter,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, FloatArray]) -> Self:
        """From `arrays`; ValueError if they do not fit together."""
        return cls._with_sums_of(arrays) if arrays else cls()

    @classmethod
    def _with_sums_of(cls, arrays: Mapping[str, FloatArray], n_features: int = 0) -> Self:
        """Scalings and sums from `arrays`, with so many regressors besides [x, 1]."""
        m, d = len(arrays["input_location"]), len(arrays["output_location"])
        p = n_features + m + 1 + d
        shapes = {
            "input_location": (m,),
            "input_scale": (m,),
            "output_location": (d,),
            "output_scale": (d,),
            "scatter": (p, p),
        }
        for name, shape in shapes.items():
            if arrays[name].shape != shape or not np.all(np.isfinite(arrays[name])):
                raise ValueError(f"{name} of a linear model must be finite, of shape {shape}")
            if name.endswith("scale") and not np.all(arrays[name] > 0.0):
                raise ValueError(f"{name} of a linear model must be positive")
        return cls(
            Standardizer(arrays["input_location"], arrays["input_scale"]),
            Standardizer(arrays["output_location"], arrays["output_scale"]),
            np.asarray(arrays["scatter"]),
        )

    def _regressors(self, X: FloatArray) -> FloatArray:
        assert self.inputs is not None
        if X.shape[1] != self.inputs.location.size:
            raise InvalidDataError(
                f"the global model takes {self.inputs.location.size} inputs, got {X.shape[1]}"
            )
        return np.concatenate([self.inputs.transform(X), np.ones((len(X), 1))], axis=1)

    def _column_precision(self, n_regressors: int) -> FloatArray:
        """Diagonal (q,) of the prior precision of the regressors' slopes."""
        return np.full(n_regressors, SLOPE_PRECISION)

    @cached_property
    def _posterior(self) -> MatrixNormalWishart:
        assert self.outputs is not None and self.scatter is not None
        d = self.outputs.location.size
        q = self.scatter.shape[0] - d
        prior = MatrixNormalWishart(
            mean=np.zeros((1, d, q)),
            column_precision=np.diag(self._column_precision(q))[None],
            inverse_scale=SLOPE_PRECISION * np.eye(d)[None],
            dof=np.array([d + 1.0 + NOISE_STRENGTH]),
        )
        S = self.scatter
        return update_matrix_normal_wishart(
            prior, S[None, q - 1, q - 1], S[None, :q, :q], S[None, q:, :q], S[None, q:, q:]
        )
