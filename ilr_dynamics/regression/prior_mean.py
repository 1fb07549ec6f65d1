# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What is expected of the outputs before any data: a function that the model learns on top of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.exceptions import InvalidDataError, InvalidParameterError
from ilr_dynamics.regression.registry import Registry

__all__ = [
    "LinearPriorMean",
    "PriorMean",
    "check_prior_mean",
    "name_of_prior_mean",
    "prior_mean_from_arrays",
]

_REGISTRY = Registry("prior mean function")


class PriorMean(ABC):
    """
    Base of prior mean functions.

    The mixture learns what the function leaves unexplained; where it has no data, the prediction
    returns to the function. A subclass with a `name` is found again by that name when a snapshot
    is loaded; the program that loads it must have imported the subclass.
    """

    name: ClassVar[str]

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        _REGISTRY.add(cls)

    @abstractmethod
    def __call__(self, X: FloatArray) -> FloatArray:
        """Expected outputs (n, d) at inputs (n, m), both in physical units."""

    @abstractmethod
    def arrays(self) -> dict[str, FloatArray]:
        """Everything that `from_arrays` needs, as float arrays by name."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, arrays: Mapping[str, FloatArray]) -> Self:
        """Make the function that `arrays` came from; ValueError if they do not fit together."""


class LinearPriorMean(PriorMean):
    """
    Y = B X + b: known beforehand, say from another arm of the kind.

    Parameters
    ----------
    slope : (d, m)
        B.
    offset : (d,)
        b.
    """

    name = "linear"

    def __init__(self, slope: FloatArray, offset: FloatArray) -> None:
        self.slope = np.array(slope, dtype=float)
        self.offset = np.array(offset, dtype=float)
        if self.slope.ndim != 2 or self.offset.shape != self.slope.shape[:1]:
            raise InvalidParameterError(
                "a linear prior mean needs a slope (n_outputs, n_inputs) and an offset "
                f"(n_outputs,), got {self.slope.shape} and {self.offset.shape}"
            )

    def __call__(self, X: FloatArray) -> FloatArray:
        """Expected outputs (n, d) at inputs (n, m)."""
        if X.shape[1] != self.slope.shape[1]:
            raise InvalidDataError(
                f"the prior mean takes {self.slope.shape[1]} inputs, got {X.shape[1]}"
            )
        return np.asarray(X @ self.slope.T + self.offset)

    def __repr__(self) -> str:
        """Show slope and offset."""
        slope, offset = self.slope.tolist(), self.offset.tolist()
        return f"{type(self).__name__}(slope={slope}, offset={offset})"

    def arrays(self) -> dict[str, FloatArray]:
        """Slope and offset."""
        return {"slope": self.slope, "offset": self.offset}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, FloatArray]) -> Self:
        """From slope and offset."""
        return cls(arrays["slope"], arrays["offset"])


def check_prior_mean(value: object) -> PriorMean | None:
    """Return `value` if it is a prior mean function or None, else InvalidParameterError."""
    if value is not None and not isinstance(value, PriorMean):
        raise InvalidParameterError(f"prior_mean must be a PriorMean or None, got {value!r}")
    return value


def name_of_prior_mean(prior_mean: PriorMean) -> str:
    """Name that leads back to this class; SnapshotError if none does."""
    return _REGISTRY.name_of(prior_mean)


def prior_mean_from_arrays(name: str, arrays: Mapping[str, FloatArray]) -> PriorMean:
    """Make the prior mean function of that name; SnapshotError if no class has it."""
    prior_mean: PriorMean = _REGISTRY.make(name, arrays)
    return prior_mean
