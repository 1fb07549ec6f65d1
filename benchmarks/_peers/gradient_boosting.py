# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Gradient boosting of trees."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from ilr_dynamics.arrays import FloatArray

from .peer import Peer

__all__ = ["GradientBoosting"]


class GradientBoosting(Peer):
    """
    Histogram gradient boosting of 300 iterations, trees for each output.

    All else is the library's default, unless a search chooses. With more than 10,000 samples that
    is to stop early, by a random tenth of them. The time of a query is the library's own, with its
    checks of input.
    """

    name = "gradient_boosting"
    n_iterations = 300
    learning_rate = 0.1
    max_leaf_nodes = 31
    l2_regularization = 0.0
    choices: ClassVar = {
        "n_iterations": (300, 600),
        "learning_rate": (0.05, 0.1, 0.2),
        "max_leaf_nodes": (15, 31, 63),
        "l2_regularization": (0.0, 0.1, 1.0),
    }

    def _fit(self, X: FloatArray, Y: FloatArray) -> None:
        self.regressors = [
            HistGradientBoostingRegressor(
                max_iter=self.n_iterations,
                learning_rate=self.learning_rate,
                max_leaf_nodes=self.max_leaf_nodes,
                l2_regularization=self.l2_regularization,
                random_state=self.random_state,
            ).fit(X, y)
            for y in Y.T
        ]

    def _predict(self, X: FloatArray) -> tuple[FloatArray, None]:
        return np.column_stack([regressor.predict(X) for regressor in self.regressors]), None

    def _mean_at(self, x: FloatArray) -> FloatArray:
        return self._predict(x[None])[0][0]
