# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Validation of parameters with one value per joint."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.exceptions import InvalidParameterError

__all__ = ["finite", "freeze", "non_negative", "per_joint"]


def per_joint(name: str, values: ArrayLike, n_joints: int) -> FloatArray:
    """
    Return a read-only copy of ``values``, checked to be (n_joints,).

    Parameters
    ----------
    name : str
        Name of the parameter, for the error.
    values : array_like
        Values to check.
    n_joints : int
        Expected number of values.

    Returns
    -------
    ndarray of shape (n_joints,)

    Raises
    ------
    InvalidParameterError
        If the number of values is not as expected.
    """
    array = np.array(values, dtype=float)
    if array.shape != (n_joints,):
        raise InvalidParameterError(
            f"{name} must hold {n_joints} values, one per joint, got shape {array.shape}"
        )
    array.setflags(write=False)
    return array


def finite(name: str, values: ArrayLike, n_joints: int) -> FloatArray:
    """
    Return a read-only copy of ``values``, checked to be (n_joints,) and finite.

    Parameters and result are those of `per_joint`.

    Raises
    ------
    InvalidParameterError
        If the number of values is not as expected or one of them is not finite.
    """
    array = per_joint(name, values, n_joints)
    if not np.isfinite(array).all():
        raise InvalidParameterError(f"{name} must be finite, got {array.tolist()}")
    return array


def non_negative(name: str, values: ArrayLike, n_joints: int) -> FloatArray:
    """
    Return a read-only copy of ``values``, checked to be (n_joints,), finite and >= 0.

    Parameters and result are those of `per_joint`.

    Raises
    ------
    InvalidParameterError
        If the number of values is not as expected or one of them is negative or not finite.
    """
    array = finite(name, values, n_joints)
    if (array < 0.0).any():
        raise InvalidParameterError(f"{name} must not be negative, got {array.tolist()}")
    return array


def freeze(instance: object, name: str, value: object) -> None:
    """Set a field of a frozen dataclass from its ``__post_init__``."""
    object.__setattr__(instance, name, value)
