# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""A neural network."""

from __future__ import annotations

import warnings
from typing import ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor

from ilr_dynamics.arrays import FloatArray

from .peer import Peer

__all__ = ["NeuralNetwork"]


class NeuralNetwork(Peer):
    """
    Two hidden layers of 128 rectified units, for all outputs together.

    Adam, at most 200 passes; stopped early by a random tenth of the samples.
    """

    name = "neural_network"
    hidden_layer_sizes = (128, 128)
    alpha = 1e-4
    learning_rate_init = 1e-3
    batch_size = 200
    choices: ClassVar = {
        "hidden_layer_sizes": ((128, 128), (256, 256), (128, 128, 128)),
        "alpha": (1e-5, 1e-4, 1e-3, 1e-2),
        "learning_rate_init": (5e-4, 1e-3, 2e-3),
        "batch_size": (50, 200),
    }

    def _fit(self, X: FloatArray, Y: FloatArray) -> None:
        network = MLPRegressor(
            hidden_layer_sizes=self.hidden_layer_sizes,
            alpha=self.alpha,
            learning_rate_init=self.learning_rate_init,
            batch_size=min(self.batch_size, len(X)),
            early_stopping=True,
            random_state=self.random_state,
        )
        with warnings.catch_warnings():
            # Of the last pass being reached before the early stop.
            warnings.simplefilter("ignore", ConvergenceWarning)
            # A single output has to be given as a vector, and is returned as one.
            self.network = network.fit(X, Y[:, 0] if Y.shape[1] == 1 else Y)

    def _predict(self, X: FloatArray) -> tuple[FloatArray, None]:
        return self.network.predict(X).reshape(len(X), -1), None

    def _mean_at(self, x: FloatArray) -> FloatArray:
        *hidden, last = zip(self.network.coefs_, self.network.intercepts_, strict=True)
        for weights, bias in hidden:
            x = np.maximum(x @ weights + bias, 0.0)
        return x @ last[0] + last[1]
