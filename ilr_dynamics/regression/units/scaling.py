# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Scaling of inputs and outputs: physical units to standard units and back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.exceptions import InvalidDataError, InvalidParameterError
from ilr_dynamics.regression.shared.parameter_group import ParameterGroup

__all__ = ["Scaling", "Standardizer"]


@dataclass(frozen=True)
class Standardizer:
    """
    An affine map per column, fixed once, as all that was learned is in its units.

    Attributes
    ----------
    location : (p,)
        What becomes zero, in physical units.
    scale : (p,)
        What becomes one, in physical units; positive.
    """

    location: FloatArray
    scale: FloatArray

    @classmethod
    def from_data(
        cls,
        data: FloatArray,
        weights: FloatArray,
        location: ArrayLike | None,
        scale: ArrayLike | None,
        name: str,
    ) -> Standardizer:
        """
        Take location and scale as given, else the weighted mean and deviation of the data (n, p).

        A column that never changes keeps scale 1: there is nothing to divide by.

        Raises
        ------
        InvalidDataError
            If a column is too large for its location and scale to be computed.
        InvalidParameterError
            If what is given has the wrong length, is not finite or, for a scale, not positive.
        """
        # Overflow is reported by column.
        with np.errstate(over="ignore", invalid="ignore"):
            mean = np.average(data, axis=0, weights=weights)
            deviation = np.sqrt(np.average((data - mean) ** 2, axis=0, weights=weights))
        if location is None:
            used_location = mean
        else:
            used_location = _checked(location, data.shape[1], f"{name}_location")
        if scale is None:
            # Rounding leaves a constant column with a deviation near its own last digit.
            constant = deviation <= 1e-12 * np.maximum(np.abs(mean), np.finfo(float).tiny)
            used_scale = np.where(constant, 1.0, deviation)
        else:
            used_scale = _checked(scale, data.shape[1], f"{name}_scale")
            if not np.all(used_scale > 0.0):
                raise InvalidParameterError(
                    f"{name}_scale must be positive, got {used_scale.tolist()}"
                )
        finite = np.isfinite(used_location) & np.isfinite(used_scale)
        if not np.all(finite):
            column = int(np.argmin(finite))
            raise InvalidDataError(
                f"{name} column {column} holds values up to {np.max(np.abs(data[:, column])):.1e}"
                ", expected values whose squares are finite"
            )
        return cls(used_location, used_scale)

    def transform(self, data: FloatArray) -> FloatArray:
        """Physical (n, p) to standard units."""
        return np.asarray((data - self.location) / self.scale)

    def inverse_transform(self, data: FloatArray) -> FloatArray:
        """Standard (n, p) to physical units."""
        return np.asarray(data * self.scale + self.location)


def _checked(value: ArrayLike, size: int, name: str) -> FloatArray:
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError) as error:
        raise InvalidParameterError(f"{name} must hold real numbers: {error}") from error
    if array.shape not in ((), (size,)) or not np.all(np.isfinite(array)):
        raise InvalidParameterError(
            f"{name} must be one finite number or {size} of them, got {array.tolist()}"
        )
    return np.array(np.broadcast_to(array, (size,)))


@dataclass(frozen=True, repr=False)
class Scaling(ParameterGroup):
    """
    Physical values that become 0 and 1, each as one number or one for each column.

    None: mean and deviation of the first data. Give them where the first data may hardly move.
    Where residuals are learned the outputs' are of these, and their location is 0.

    Parameters
    ----------
    input_location, input_scale, output_location, output_scale
        In physical units; scales are positive.
    """

    input_location: ArrayLike | None = None
    input_scale: ArrayLike | None = None
    output_location: ArrayLike | None = None
    output_scale: ArrayLike | None = None
