# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Samples as inference sees them: by what it sums up over all of them, or over some."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.regression.inference.expectation import Expectation
from ilr_dynamics.regression.inference.merging import entropy_losses
from ilr_dynamics.regression.mixture.mixture import MixturePosterior

__all__ = ["ArraySamples", "Samples"]


class Samples(ABC):
    """
    Base of extended samples, wherever they are.

    Attributes
    ----------
    n_rows : int
        Number of samples.
    total_weight : float
        Sum of their weights.
    """

    n_rows: int
    total_weight: float

    @abstractmethod
    def sums(self, posterior: MixturePosterior, names: IndexArray) -> tuple[float, FloatArray]:
        """E-step: entropy of the responsibilities and statistics (K, p, p), as `Expectation`."""

    @abstractmethod
    def entropy_losses(self, forms: FloatArray, pairs: IndexArray) -> FloatArray:
        """Entropy (n_pairs,) lost by merging each pair (n_pairs, 2), in nats."""

    @abstractmethod
    def n_batches(self, size: int) -> int:
        """Into how many minibatches of about `size` samples they can be divided, at least one."""

    @abstractmethod
    def batches(self, n: int, generator: np.random.Generator) -> Iterator[Samples]:
        """Divide them at random into n minibatches."""


class ArraySamples(Samples):
    """
    Samples in memory.

    Parameters
    ----------
    zeta : (n, p)
        Extended samples.
    weights : (n,)
        Their weights.
    n_inputs
        Leading columns of zeta, by which samples are near each other.
    """

    def __init__(self, zeta: FloatArray, weights: FloatArray, n_inputs: int) -> None:
        self.n_rows = zeta.shape[0]
        self.total_weight = float(np.sum(weights))
        self._zeta, self._weights, self._n_inputs = zeta, weights, n_inputs
        self._expectation: Expectation | None = None

    def sums(self, posterior: MixturePosterior, names: IndexArray) -> tuple[float, FloatArray]:
        """As `Samples.sums`."""
        if self._expectation is None:
            self._expectation = Expectation(self._zeta, self._weights, self._n_inputs)
        return self._expectation(posterior, names)

    def entropy_losses(self, forms: FloatArray, pairs: IndexArray) -> FloatArray:
        """As `Samples.entropy_losses`."""
        return entropy_losses(self._zeta, self._weights, forms, pairs)

    def n_batches(self, size: int) -> int:
        """As `Samples.n_batches`."""
        return max(1, round(self.n_rows / size))

    def batches(self, n: int, generator: np.random.Generator) -> Iterator[Samples]:
        """As `Samples.batches`."""
        for rows in np.array_split(generator.permutation(self.n_rows), n):
            yield ArraySamples(self._zeta[rows], self._weights[rows], self._n_inputs)
