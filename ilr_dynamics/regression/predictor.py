# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Predictor of one input at a time, or of few, for the control loop."""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.exceptions import InvalidDataError, SnapshotError
from ilr_dynamics.regression.files.model_file import PREDICTOR, read_file, write_file
from ilr_dynamics.regression.files.stored_predictor import pack_predictor, unpack_predictor
from ilr_dynamics.regression.prediction.physical_mixture import PhysicalMixture

__all__ = ["Prediction", "Predictor"]


class Prediction(NamedTuple):
    """
    The predictive distribution at one input, in physical units.

    Attributes
    ----------
    mean : (n_outputs,)
        Expected outputs.
    std : (n_outputs,)
        Standard deviations of the outputs.
    doubt : (n_outputs,)
        Standard deviations of what is expected of them: those without noise.
    component
        The component with the largest weight; -1 for the unseen one.
    unseen_weight
        Weight of the component not yet seen: how much of this prediction is the prior's, or the
        global model's if there is one.
    """

    mean: FloatArray
    std: FloatArray
    doubt: FloatArray
    component: int
    unseen_weight: float


class Predictor:
    """
    Mean prediction and spread at one input: the mixture's moments, for a single row.

    Components are left out whose contribution to each variance is together below 1e-9 of it, to a
    squared doubt likewise, and to the mean below 1e-9 standard deviations (`left_out.h`;
    docs/mathematics.md, "Prediction", *Leaving components out*).

    Several threads may ask one object, if its global model allows it.

    Parameters
    ----------
    physical
        The mixture and its global model, in physical units.
    """

    def __init__(self, physical: PhysicalMixture) -> None:
        self._physical = physical
        self._shape = physical.transforms.regressors.scaling.location.shape
        d = physical.mixture.n_outputs
        self._mean, self._std, self._doubt = slice(0, d), slice(d, 2 * d), slice(2 * d, 3 * d)

    @property
    def has_global_model(self) -> bool:
        """Whether a global model predicts where no component has data."""
        return self._physical.transforms.global_model is not None

    @property
    def prior_std(self) -> FloatArray | None:
        """`GlobalModel.prior_std` of the global model, if there is one."""
        model = self._physical.transforms.global_model
        return None if model is None else model.prior_std

    @property
    def n_inputs(self) -> int:
        """Length of an input."""
        return self._physical.mixture.n_inputs

    @property
    def n_outputs(self) -> int:
        """Length of an output."""
        return self._physical.mixture.n_outputs

    def __call__(self, x: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation (n_outputs,) at x (n_inputs,), in physical units."""
        prediction = self.query(x)
        return prediction.mean, prediction.std

    def query(self, x: ArrayLike) -> Prediction:
        """
        Predict at one input x (n_inputs,), in physical units.

        Raises
        ------
        InvalidDataError
            If x has another shape, or is not finite or too large.
        """
        x = np.asarray(x, dtype=float, order="C")
        if x.shape != self._shape:
            raise InvalidDataError(f"a query must have shape {self._shape}, got {x.shape}")
        answer = self._physical.moments(x[None])[0]
        unseen_weight, component = answer[-2:].tolist()
        return Prediction(
            answer[self._mean],
            answer[self._std],
            answer[self._doubt],
            int(component),
            unseen_weight,
        )

    def predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """
        Predict at some inputs X (n, n_inputs), in physical units, at once.

        As many as eight near each other take little more time than one.

        Returns
        -------
        mean, std : (n, n_outputs)
            Expected outputs and their standard deviations.

        Raises
        ------
        InvalidDataError
            If X has another shape, or is not finite or too large.
        """
        if X.ndim != 2 or X.shape[1:] != self._shape:
            raise InvalidDataError(f"inputs must have shape (n, {self.n_inputs}), got {X.shape}")
        answers = self._physical.moments(X)
        return answers[:, self._mean], answers[:, self._std]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file that `open` maps into memory."""
        write_file(path, PREDICTOR, *pack_predictor(self._physical))

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Predictor:
        """
        Take a predictor from a file written by `save`.

        Raises
        ------
        SnapshotError
            If the file is missing or damaged, or what it holds predicts nothing finite.
        """
        parts = cls.opening(path)
        while True:
            try:
                next(parts)
            except StopIteration as opened:
                return cast(Predictor, opened.value)

    @classmethod
    def opening(cls, path: str | os.PathLike[str]) -> Generator[None, None, Predictor]:
        """
        As `open`, but yield between its parts.

        A large predictor takes 2 ms, and its parts less than half: a control loop answers joint
        states between them.
        """
        header, arrays = read_file(path, PREDICTOR)
        yield
        # Overflow shows in a prediction.
        with np.errstate(all="ignore"):
            try:
                physical = unpack_predictor(header, arrays)
            except (LookupError, TypeError, ValueError, OverflowError) as error:
                raise _makes_none(path, error) from error
        yield
        predictor = cls(physical)
        with np.errstate(all="ignore"):
            try:
                found = predictor.query(physical.transforms.regressors.scaling.location)
            except (LookupError, TypeError, ValueError, OverflowError) as error:
                raise _makes_none(path, error) from error
        if not np.all(np.isfinite([*found.mean, *found.std, found.unseen_weight])):
            raise _makes_none(path, f"it predicts {found}")
        return predictor


def _makes_none(path: str | os.PathLike[str], reason: object) -> SnapshotError:
    return SnapshotError(f"the file {path} makes no predictor: {reason}")
