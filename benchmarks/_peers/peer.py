# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What all methods have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from ilr_dynamics.arrays import FloatArray

from .standardisation import Standardisation

__all__ = ["CHUNK", "Peer"]

# Rows predicted at once where a row takes as much memory as a whole expert or component.
CHUNK = 1000


class Peer(ABC):
    """
    A regression method with n inputs and d outputs.

    Parameters
    ----------
    random_state
        Seed of everything that is drawn.
    **settings
        Values of some of `choices` in place of the method's own.

    Attributes
    ----------
    name
        As in the tables.
    choices
        Values of its attributes among which a search on training rows may choose.
    n_experts
        Number of local or partial models after `fit`; None if the method has none.
    unavailable
        Why the method can't be used here; empty if it can.
    """

    name: str
    n_experts: int | None = None
    unavailable: str = ""
    choices: ClassVar[dict[str, tuple[Any, ...]]] = {}

    def __init__(self, random_state: int = 0, **settings: Any) -> None:
        if unknown := set(settings) - set(self.choices):
            raise ValueError(f"no setting {min(unknown)!r}; expected of {list(self.choices)}")
        self.random_state = random_state
        for setting, value in settings.items():
            setattr(self, setting, value)

    @classmethod
    def available(cls) -> bool:
        """Whether what the method needs is installed; if not, `unavailable` says why."""
        return not cls.unavailable

    def fit(self, X: FloatArray, Y: FloatArray) -> Peer:
        """Learn from inputs (n, m) and outputs (n, d)."""
        self.inputs = Standardisation.of(X)
        self.outputs = Standardisation.of(Y)
        self._fit(self.inputs.apply(X), self.outputs.apply(Y))
        return self

    def predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray | None]:
        """
        Mean and standard deviation of the outputs, noise included.

        Parameters
        ----------
        X : (n, m)

        Returns
        -------
        mean : (n, d)
        std : (n, d) or None
            None if the method has no opinion on how wrong it is.
        """
        mean, std = self._predict(self.inputs.apply(X))
        return self.outputs.undo(mean), None if std is None else std * self.outputs.std

    def predict_one(self, x: FloatArray) -> FloatArray:
        """Mean (d,) at one input (m,), as directly as the method allows."""
        return self.outputs.undo(self._mean_at(self.inputs.apply(x)))

    @abstractmethod
    def _fit(self, X: FloatArray, Y: FloatArray) -> None:
        """Learn from standardised samples."""

    @abstractmethod
    def _predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray | None]:
        """Standardised mean and standard deviation at standardised inputs."""

    @abstractmethod
    def _mean_at(self, x: FloatArray) -> FloatArray:
        """Standardised mean (d,) at one standardised input (m,)."""
