# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Global models: one regression of few parameters for the whole input space.

The mixture's unseen component stands for all that no component has seen. By itself it predicts
what the base prior expects, which is next to nothing. With a global model it predicts what that
model, learned from the same samples, makes of the input: for an arm, its identified rigid-body
dynamics. The local models may learn what it leaves of the outputs, instead of the outputs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.exceptions import InvalidDataError, InvalidParameterError, SnapshotError
from ilr_dynamics.regression.shared.change import Change

__all__ = [
    "GlobalModel",
    "GlobalPrediction",
    "check_global_model",
    "check_global_model_fits",
    "global_model_from_arrays",
    "name_of",
]

# Where installed packages offer global models by name; this one those that it need not import.
ENTRY_POINTS = "ilr_dynamics.global_models"
# Classes by name: a snapshot holds names and float arrays, never code.
_CLASSES: dict[str, type[GlobalModel]] = {}


@dataclass(frozen=True)
class GlobalPrediction:
    """
    Student-t distributions of the outputs at n inputs, in physical units.

    Parameters
    ----------
    mean : (n, d)
        Locations.
    factor : (n,)
        By how much uncertain parameters widen the shape matrix `GlobalModel.noise_shape`, at
        least 1.
    doubt : (n, d), optional
        Variance due to uncertain parameters of each output by itself, where that is not one
        factor for all outputs.
    unlearnable : (n, d), optional
        Variance of each output that no model of the inputs can learn, as that of the torque of a
        joint that sticks. Local models that learn the residual have it too.
    """

    mean: FloatArray
    factor: FloatArray
    doubt: FloatArray | None = None
    unlearnable: FloatArray | None = None


class GlobalModel(ABC):
    """
    Base of global models, whose posterior predictive distribution is a Student-t.

    Instances are never changed: `updated` returns a new one. A subclass with a `name` is found
    again by that name when a snapshot is loaded, if the program that loads it has imported the
    subclass, or an installed package offers it as entry point of the group `ENTRY_POINTS`.
    """

    name: ClassVar[str]
    # Whether local models should learn its residual unless the user says otherwise: yes if it
    # describes the outputs better than straight lines between their samples.
    learns_residual: ClassVar[bool] = False

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "name" not in cls.__dict__:
            return
        known = _CLASSES.get(cls.name)
        # One that is defined again, as in a notebook, takes the place of its former self.
        if known is not None and known.__qualname__ != cls.__qualname__:
            raise TypeError(
                f"the name {cls.name!r} is that of {known.__module__}.{known.__qualname__}; "
                f"expected another one for {cls.__qualname__}"
            )
        _CLASSES[cls.name] = cls

    @abstractmethod
    def updated(self, X: FloatArray, Y: FloatArray, weights: FloatArray) -> Self:
        """
        Return what is known after further samples X (n, m), Y (n, d) of these weights (n,).

        In physical units; it comes before the first `predict`.
        """

    @abstractmethod
    def discounted(self, factor: float) -> Self:
        """Return what is left if earlier samples weigh `factor` as much; 0: none are left."""

    def adapted(
        self, X: FloatArray, Y: FloatArray, weights: FloatArray
    ) -> tuple[Self, Change] | None:
        """
        Return what is known after further samples, and what they show to have changed.

        What was known of that is forgotten, and of nothing else. Parameters as of `updated`.
        None: a model that does not know in what ways its outputs may change, as most.
        """
        return None

    @abstractmethod
    def predict(self, X: FloatArray) -> GlobalPrediction:
        """Predict at inputs X (n, m), in physical units."""

    def expected(self, X: FloatArray) -> FloatArray:
        """Mean (n, d) of the prediction at inputs X (n, m): all that some queries need."""
        return self.predict(X).mean

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

    @property
    def prior_std(self) -> FloatArray | None:
        """
        Standard deviation (d,) of the outputs about what was expected of them before any sample.

        What a user who knows that much, but has learned nothing, is off by. None: nothing was.
        """
        return None

    def informative_share(self, X: FloatArray) -> FloatArray:
        """
        Share (n, d), from 0 to 1, of the residuals at inputs X (n, m) that can be learned.

        Where the model knows that an output may be anything within limits, as the torque of a
        joint that sticks, its residual there is no error that could be learned.
        """
        return np.ones((X.shape[0], self.noise_shape.shape[0]))

    @property
    def residual_lengths(self) -> FloatArray | None:
        """
        Lengths (m,) of inputs over which what the model leaves stays alike, in physical units.

        Local models that learn it count by its correlation, Matern's with exponent 3/2, between an
        input and the nearest one of the box that they learned; infinite where an input does not
        matter. None if nothing is known of it: they count in full.
        """
        return None

    def doubts(self, X: FloatArray, Y: FloatArray) -> list[str]:
        """
        Tell what is probably wrong with samples X (n, m), Y (n, d), in sentences for the user.

        Estimators warn of each before they learn the samples. A model that knows nothing of what
        it describes before it has learned, as most do, has no doubts.
        """
        return []

    def residual(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        """
        What local models learn of outputs Y (n, d) at inputs X (n, m), in physical units.

        Where residuals cannot be learned the global model stands: nothing is left of them.
        InvalidDataError if what is expected has another shape or is not finite.
        """
        expected = self.expected(X)
        _check_values("expected", expected, Y.shape)
        return self.informative_share(X) * (Y - expected)

    def residual_inflation(self, X: FloatArray, weights: FloatArray) -> float:
        """
        How much larger what is left of new samples is than of X (n, m), which it has learned.

        A factor, at least 1, on standard deviations, with the weights (n,) that it learned them
        with. 1 of a model with few parameters for many samples.
        """
        return 1.0


def check_global_model(value: object) -> GlobalModel | None:
    """Return `value` if it is a global model or None, else InvalidParameterError."""
    if value is not None and not isinstance(value, GlobalModel):
        raise InvalidParameterError(f"global_model must be a GlobalModel or None, got {value!r}")
    return value


def check_global_model_fits(model: GlobalModel, X: FloatArray, n_outputs: int) -> None:
    """
    Check that a global model can serve a mixture.

    Parameters
    ----------
    model
        With the samples it was given.
    X : (n, m)
        Inputs at which it must predict, in physical units.
    n_outputs
        Length d of an output of the mixture.

    Raises
    ------
    InvalidDataError
        If its predictions have other shapes than the mixture needs, or are not finite.
    """
    prediction = model.predict(X)
    n, d = X.shape[0], n_outputs
    share = model.informative_share(X)
    variances = {"doubt": prediction.doubt, "unlearnable": prediction.unlearnable}
    added = {name: value for name, value in variances.items() if value is not None}
    values: list[tuple[str, ArrayLike, tuple[int, ...]]] = [
        ("mean", prediction.mean, (n, d)),
        ("factor", prediction.factor, (n,)),
        ("noise_shape", model.noise_shape, (d, d)),
        ("informative_share", share, (n, d)),
        ("dof", model.dof, ()),
        *((name, value, (n, d)) for name, value in added.items()),
    ]
    for name, value, shape in values:
        _check_values(name, value, shape)
    if not np.all((share >= 0.0) & (share <= 1.0)):
        raise InvalidDataError(
            "the informative_share of the global model must be from 0 to 1, got "
            f"{np.min(share)} to {np.max(share)}"
        )
    for name, variance in added.items():
        if not np.all(variance >= 0.0):
            raise InvalidDataError(
                f"the {name} of the global model must be at least 0, got {np.min(variance)}"
            )
    # A factor of 1 may have lost its last digits.
    if not np.all(prediction.factor > 0.0) or not model.dof > 2.0:
        raise InvalidDataError(
            "the factor of the global model must be positive and its dof above 2, got "
            f"{np.min(prediction.factor)} and {model.dof}"
        )


def _check_values(name: str, value: ArrayLike, shape: tuple[int, ...]) -> None:
    if np.shape(value) != shape:
        raise InvalidDataError(
            f"the {name} of the global model must have shape {shape}, got {np.shape(value)}"
        )
    if not np.all(np.isfinite(value)):
        raise InvalidDataError(f"the {name} of the global model is not finite")


def name_of(model: GlobalModel) -> str:
    """Name that leads back to the class of a model; SnapshotError if none does."""
    name = getattr(model, "name", None)
    if name is None or _CLASSES.get(name) is not type(model):
        raise SnapshotError(f"{type(model).__name__} cannot be saved: it has no `name` of its own")
    return name


def global_model_from_arrays(name: str, arrays: Mapping[str, FloatArray]) -> GlobalModel:
    """Make the model that was saved under a name; SnapshotError if no class has it."""
    if name not in _CLASSES:
        _import_installed(name)
    if name not in _CLASSES:
        raise SnapshotError(
            f"no global model {name!r} is known here, only {sorted(_CLASSES)}: import the module "
            "that defines it first"
        )
    return _CLASSES[name].from_arrays(arrays)


def _import_installed(name: str) -> None:
    """Import the global model of this name that an installed package offers, if any does."""
    for offered in entry_points(group=ENTRY_POINTS, name=name):
        try:
            offered.load()
        # A module of another package may raise anything.
        except Exception as error:
            raise SnapshotError(
                f"the global model {name!r} cannot be imported from {offered.module}: {error}"
            ) from error
