# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Checks of parameters that come as one number per joint."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.exceptions import InvalidParameterError

__all__ = ["finite", "freeze", "non_negative", "per_joint"]


def per_joint(name: str, values: ArrayLike, n_joints: int) -> FloatArray:
    """
    Return a read-only copy of ``values``, checked to be (n_joints,).

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

    Raises
    ------
    InvalidParameterError
        If the number of values or one of them is not as expected.
    """
    array = per_joint(name, values, n_joints)
    if not np.isfinite(array).all():
        raise InvalidParameterError(f"{name} must be finite, got {array.tolist()}")
    return array


def non_negative(name: str, values: ArrayLike, n_joints: int) -> FloatArray:
    """
    Return a read-only copy of ``values``, checked to be (n_joints,), finite and >= 0.

    Raises
    ------
    InvalidParameterError
        If the number of values or one of them is not as expected.
    """
    array = finite(name, values, n_joints)
    if (array < 0.0).any():
        raise InvalidParameterError(f"{name} must not be negative, got {array.tolist()}")
    return array


def freeze(instance: object, name: str, value: object) -> None:
    """Set a field of a frozen dataclass from its ``__post_init__``."""
    object.__setattr__(instance, name, value)
