# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
A global model that speaks where no local one has data.

The mixture's unseen component stands for all that no component has seen. By itself it predicts
what the base prior expects, which is next to nothing. With a fallback it predicts what a global
model of few parameters, learned from the same samples, makes of the input: for an arm, its
identified rigid-body dynamics.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.exceptions import InvalidDataError, InvalidParameterError
from ilr_dynamics.regression.registry import Registry

__all__ = ["FALLBACKS", "Fallback", "FallbackPrediction", "check_fallback", "check_fallback_fits"]

FALLBACKS = Registry("fallback")


@dataclass(frozen=True)
class FallbackPrediction:
    """
    What a fallback says about the outputs of n inputs, in physical units.

    Parameters
    ----------
    mean : (n, d)
        Expected outputs.
    factor : (n,)
        By how much uncertain parameters widen the noise, at least 1.
    """

    mean: FloatArray
    factor: FloatArray


class Fallback(ABC):
    """
    Base of global models; the predictive density of each is a Student-t.

    Instances are never changed: `updated` returns a new one. A subclass with a `name` is found
    again by that name when a snapshot is loaded; the program that loads it must have imported the
    subclass.
    """

    name: ClassVar[str]

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        FALLBACKS.add(cls)

    @abstractmethod
    def updated(self, X: FloatArray, Y: FloatArray, weights: FloatArray) -> Self:
        """Return what is known after further samples X (n, m), Y (n, d) of these weights (n,)."""

    @abstractmethod
    def discounted(self, factor: float) -> Self:
        """Return what is left if earlier samples weigh `factor` as much; 0: none are left."""

    @abstractmethod
    def predict(self, X: FloatArray) -> FallbackPrediction:
        """Predict at inputs X (n, m), in physical units."""

    def expected(self, X: FloatArray) -> FloatArray:
        """Mean (n, d) of what is predicted at inputs X (n, m): all that some queries ask for."""
        return self.predict(X).mean

    def informative_share(self, X: FloatArray) -> FloatArray:
        """
        Tell how much samples at X (n, m) say of what this model leaves unexplained, (n, d).

        From 0 to 1. Where it knows that an output may be anything within limits, as the torque of
        a joint that sticks, what is left of it there is no error that could be learned.
        """
        return np.ones((X.shape[0], self.noise_shape.shape[0]))

    @property
    def uninformative_variance(self) -> FloatArray:
        """Variance (d,) of outputs about the mean that the other share of samples is."""
        return np.zeros(self.noise_shape.shape[0])

    @property
    @abstractmethod
    def noise_shape(self) -> FloatArray:
        """Shape matrix (d, d) of the Student-t where parameters are certain (factor 1)."""

    @property
    @abstractmethod
    def dof(self) -> float:
        """Degrees of freedom of the Student-t, above 2."""

    @abstractmethod
    def arrays(self) -> dict[str, FloatArray]:
        """Everything that `from_arrays` needs, as float arrays by name."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, arrays: Mapping[str, FloatArray]) -> Self:
        """Make the model that `arrays` came from; ValueError if they do not fit together."""


def check_fallback(value: object) -> Fallback | None:
    """Return `value` if it is a fallback or None, else InvalidParameterError."""
    if value is not None and not isinstance(value, Fallback):
        raise InvalidParameterError(f"fallback must be a Fallback or None, got {value!r}")
    return value


def check_fallback_fits(fallback: Fallback, X: FloatArray, n_outputs: int) -> None:
    """
    Check that a fallback fits a model.

    Parameters
    ----------
    fallback
        With the samples it was given.
    X : (n, m)
        Inputs at which it must predict, in physical units.
    n_outputs
        Length d of an output of the model.

    Raises
    ------
    InvalidDataError
        If what it says has other shapes than the model needs, or is not finite.
    """
    prediction = fallback.predict(X)
    n, d = X.shape[0], n_outputs
    for name, value, shape in (
        ("mean", prediction.mean, (n, d)),
        ("factor", prediction.factor, (n,)),
        ("noise_shape", fallback.noise_shape, (d, d)),
        ("informative_share", fallback.informative_share(X), (n, d)),
        ("uninformative_variance", fallback.uninformative_variance, (d,)),
        ("dof", fallback.dof, ()),
    ):
        if np.shape(value) != shape:
            raise InvalidDataError(
                f"the {name} of the fallback must have shape {shape}, got {np.shape(value)}"
            )
        if not np.all(np.isfinite(value)):
            raise InvalidDataError(f"the {name} of the fallback is not finite")
    share = fallback.informative_share(X)
    if not np.all((share >= 0.0) & (share <= 1.0) & (fallback.uninformative_variance >= 0.0)):
        raise InvalidDataError(
            "the informative_share of the fallback must be from 0 to 1 and its "
            f"uninformative_variance at least 0, got {np.min(share)} to {np.max(share)} and "
            f"{fallback.uninformative_variance}"
        )
    # A factor of 1 may have lost its last digits.
    if not np.all(prediction.factor > 0.0) or not fallback.dof > 2.0:
        raise InvalidDataError(
            "the factor of the fallback must be positive and its dof above 2, got "
            f"{np.min(prediction.factor)} and {fallback.dof}"
        )
