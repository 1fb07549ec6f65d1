# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Validation of arguments of the estimators; everything below assumes clean arrays.

Where scikit-learn's tools look for certain words in an error, the messages have them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.exceptions import InvalidDataError, InvalidParameterError

__all__ = [
    "check_array",
    "check_choice",
    "check_integer",
    "check_random_state",
    "check_real",
    "check_size",
    "check_training_data",
    "check_type",
]

# Squares of such values and sums over all samples stay finite.
MAX_STANDARD_VALUE = 1e100


def check_array(value: ArrayLike, name: str, n_columns: int | None = None) -> FloatArray:
    """
    Return `value` as a finite float array of two dimensions.

    Raises
    ------
    InvalidDataError
        If it is not numeric, not two-dimensional, empty, not finite, or has other than
        `n_columns` columns.
    """
    array = _as_real(value, name)
    if array.ndim != 2:
        raise InvalidDataError(
            f"{name} must have two dimensions (samples, columns), got shape {array.shape}. "
            "Reshape your data: array[:, np.newaxis] is one column, array[np.newaxis] one sample"
        )
    columns, use = ("targets", "output") if name == "Y" else ("features", "input")
    if 0 in array.shape:
        missing = "samples" if array.shape[0] == 0 else columns
        raise InvalidDataError(
            f"{name} must not be empty, got 0 {missing[:-1]}(s) (shape={array.shape}) while a "
            "minimum of 1 is required."
        )
    if n_columns is not None and array.shape[1] != n_columns:
        raise InvalidDataError(
            f"{name} has {array.shape[1]} {columns}, but regression is expecting {n_columns} "
            f"{columns} as {use}, as in the first fit"
        )
    if not np.all(np.isfinite(array)):
        row, column = np.argwhere(~np.isfinite(array))[0]
        raise InvalidDataError(
            f"{name} must hold neither NaN nor inf, got {array[row, column]} at row {row}, "
            f"column {column}"
        )
    return array


def check_training_data(
    X: ArrayLike,
    Y: ArrayLike,
    sample_weight: ArrayLike | None,
    n_inputs: int | None = None,
    n_outputs: int | None = None,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """
    Return X (n, n_inputs), Y (n, n_outputs) and weights (n,), rows of weight zero left out.

    Raises
    ------
    InvalidDataError
        If the arrays are malformed or do not fit together.
    """
    X = check_array(X, "X", n_inputs)
    if Y is None:
        raise InvalidDataError("regression requires y to be passed, but the target y is None")
    Y = check_array(Y, "Y", n_outputs)
    if X.shape[0] != Y.shape[0]:
        raise InvalidDataError(f"X has {X.shape[0]} rows, but Y has {Y.shape[0]}")
    if sample_weight is None:
        return X, Y, np.ones(X.shape[0])
    weights = _as_real(sample_weight, "sample_weight")
    if weights.shape != (X.shape[0],):
        raise InvalidDataError(
            f"sample_weight must have shape ({X.shape[0]},), got {weights.shape}"
        )
    if not np.all(np.isfinite(weights)) or np.any(weights < 0.0) or not np.any(weights > 0.0):
        raise InvalidDataError("sample_weight must be finite, not negative and not all zero")
    if not np.sum(weights) < MAX_STANDARD_VALUE:
        raise InvalidDataError(
            f"sample_weight is {np.sum(weights):.1e} together; expected less than "
            f"{MAX_STANDARD_VALUE:.0e}"
        )
    kept = weights > 0.0
    return X[kept], Y[kept], weights[kept]


def check_integer(value: object, name: str, minimum: int) -> int:
    """Return `value` if it is an integer of at least `minimum`, else InvalidParameterError."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < minimum:
        raise InvalidParameterError(
            f"{name} must be an integer of at least {minimum}, got {value!r}"
        )
    return int(value)


def check_real(
    value: object,
    name: str,
    *,
    above: float = -np.inf,
    at_least: float = -np.inf,
    at_most: float = np.inf,
) -> float:
    """Return `value` if it is a finite number within the bounds, else InvalidParameterError."""
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    number = float(value) if is_number else np.nan  # type: ignore[arg-type]
    if not np.isfinite(number) or not (number > above and at_least <= number <= at_most):
        bounds = {"greater than": above, "at least": at_least, "at most": at_most}
        stated = [f"{words} {bound:g}" for words, bound in bounds.items() if np.isfinite(bound)]
        raise InvalidParameterError(
            f"{name} must be a finite number {' and '.join(stated)}, got {value!r}"
        )
    return number


def check_choice(value: object, name: str, choices: Sequence[str | bool]) -> None:
    """Raise InvalidParameterError if `value` is not one of the `choices`."""
    # Neither 1 for True nor an array, which has no truth value, is a choice.
    if not isinstance(value, str | bool | np.bool_) or value not in choices:
        listed = ", ".join(map(repr, choices))
        raise InvalidParameterError(f"{name} must be one of {listed}, got {value!r}")


def check_type(value: object, name: str, expected: type, *, exactly: bool = False) -> None:
    """Raise InvalidParameterError if `value` is not of a type; `exactly`: a subclass is none."""
    if type(value) is expected or (not exactly and isinstance(value, expected)):
        return
    raise InvalidParameterError(f"{name} must be of type {expected.__name__}, got {value!r}")


def check_size(standard: FloatArray, name: str) -> FloatArray:
    """Return values in standard units if their squares stay finite, else InvalidDataError."""
    largest = float(np.max(np.abs(standard)))
    if not largest < MAX_STANDARD_VALUE:
        raise InvalidDataError(
            f"{name} lie up to {largest:.1e} scales from the location; expected less than "
            f"{MAX_STANDARD_VALUE:.0e}: the data or the scales are not what is meant"
        )
    return standard


def check_random_state(value: object) -> np.random.Generator:
    """Return a generator for None, a seed or a generator, else InvalidParameterError."""
    if value is None or isinstance(value, np.random.Generator):
        return np.random.default_rng(value)
    if isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= 0:
        return np.random.default_rng(int(value))
    raise InvalidParameterError(
        "random_state must be None, an integer of at least 0 or a numpy.random.Generator, "
        f"got {value!r}"
    )


def _as_real(value: ArrayLike, name: str) -> FloatArray:
    # All of scipy's sparse containers have it. NumPy would take one for a single object.
    if hasattr(value, "tocsr"):
        raise InvalidDataError(
            f"{name} must be a dense array, got a sparse {type(value).__name__}: "
            "pass its toarray()"
        )
    try:
        array = np.asarray(value)
        if np.iscomplexobj(array):
            raise ValueError(f"Complex data not supported, got {array.dtype}")
        return np.asarray(array, dtype=float)
    except (TypeError, ValueError) as error:
        raise InvalidDataError(f"{name} must be an array of real numbers: {error}") from error
