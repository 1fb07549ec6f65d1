# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Rounding error of a published inertia tensor, from the digits of its elements."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

import numpy as np

from ilr_dynamics.arrays import FloatArray

__all__ = ["MOMENTS", "rounding_of", "tensor_of"]

# Names of the moments in a URDF, and their places in the tensor.
MOMENTS = {
    "ixx": (0, 0),
    "ixy": (0, 1),
    "ixz": (0, 2),
    "iyy": (1, 1),
    "iyz": (1, 2),
    "izz": (2, 2),
}


def tensor_of(values: Mapping[str, float]) -> FloatArray:
    """Return the symmetric tensor (3, 3) of six moments given by name."""
    tensor = np.zeros((3, 3))
    for name, (row, column) in MOMENTS.items():
        tensor[row, column] = tensor[column, row] = values[name]
    return tensor


def rounding_of(texts: Mapping[str, str]) -> FloatArray:
    """
    Return the largest rounding error of the moments.

    A tensor is published with the same number of decimals, or of significant digits, for all its
    moments, but zeros at the end are often dropped: the moment with the most digits shows the
    number. Each moment may be off by half a unit of its last digit, by decimals or by significant
    digits, whichever is coarser. A zero with fewer decimals than the others is exact.

    Parameters
    ----------
    texts : mapping from str to str
        The six moments [kg m^2] by name, as decimal numbers.

    Returns
    -------
    ndarray of shape (3, 3)
        Largest error of each element of the tensor [kg m^2].
    """
    moments = {
        name: Decimal(text.strip()) if float(text) else Decimal(0) for name, text in texts.items()
    }
    other = [moment.as_tuple() for moment in moments.values() if moment]
    if not other:
        return np.zeros((3, 3))
    last = min(int(moment.exponent) for moment in other)
    digits = max(len(moment.digits) for moment in other)
    errors = {}
    for name, moment in moments.items():
        if moment:
            unit = max(last, moment.adjusted() - digits + 1)
            errors[name] = 0.5 * 10.0**unit
        else:
            shown = _decimals(texts[name]) >= -last
            errors[name] = 0.5 * 10.0**last if shown else 0.0
    return tensor_of(errors)


def _decimals(text: str) -> int:
    """Count the digits after the decimal point, less the exponent."""
    mantissa, _, exponent = text.strip().lower().partition("e")
    return len(mantissa.partition(".")[2]) - int(exponent or 0)
