# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Valid bytes, values and arrays to odd ones."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.random import Generator

ODD_FLOATS = (
    *(0.0, -0.0, 1.0, -1.0, 0.5, 2.0**53, 1e18, -1e18),
    *(1e-300, 5e-324, 1e30, 1e150, 1e300, -1e300, np.nan, np.inf, -np.inf),
)
ODD_INTEGERS = (
    *(0, 1, 2, 7, 8, 9, 255, 256, 2**15, 2**16 - 1),
    *(2**31 - 1, 2**32 - 1, 2**62, 2**64 - 1),
)


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


ODD_VALUES = (
    *(None, True, False, -1, 0, 1, 3, 2**31, 2**63, 10**30, 1e308, float("nan"), float("inf")),
    *("", "x", "ILR", "HILR", "polynomial", "linear", "identified_dynamics", "\ud800", "\0"),
    *([], {}, [1.0], {"a": 1}, "y" * 5000, nested(20), nested(100), list(range(1000))),
)


def pick(rng: Generator, choices: Any) -> Any:
    return choices[int(rng.integers(len(choices)))]


def damage(data: bytes, rng: Generator) -> bytes:
    """Flip, cut, repeat, insert or overwrite bytes, once or a few times."""
    content = bytearray(data)
    for _ in range(int(rng.integers(1, 5))):
        if not content:
            return bytes(content)
        start = int(rng.integers(len(content)))
        length = int(2 ** rng.uniform(0, 8))
        kind = rng.integers(7)
        if kind == 0:
            content[start] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            content[start : start + 8] = rng.bytes(min(8, len(content) - start))
        elif kind == 2:
            width = pick(rng, (1, 2, 4, 8))
            value = pick(rng, ODD_INTEGERS) % 256**width
            content[start : start + width] = value.to_bytes(width, pick(rng, ("little", "big")))
        elif kind == 3:
            del content[start : start + length]
        elif kind == 4:
            content[start:start] = content[start : start + length]
        elif kind == 5:
            del content[start:]
        else:
            other = int(rng.integers(len(content)))
            content[start : start + length] = content[other : other + length]
    return bytes(content)


def odd_tree(value: Any, rng: Generator) -> Any:
    """Replace, remove or add something in JSON-like values, once or a few times."""
    value = copy.deepcopy(value)
    for _ in range(int(rng.integers(1, 4))):
        _change(value, rng)
    return value


def _change(value: Any, rng: Generator) -> None:
    """Walk down to some container and change an entry of it."""
    while True:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        if not keys:
            return
        key = pick(rng, keys)
        if isinstance(value[key], dict | list) and value[key] and rng.random() < 0.8:
            value = value[key]
            continue
        kind = rng.integers(8)
        if kind == 0:
            del value[key]
        elif kind == 1 and isinstance(value, dict):
            value[str(pick(rng, ("x", "", "fit_scales", "n_components")))] = pick(rng, ODD_VALUES)
        elif kind == 2 and isinstance(value[key], int | float):
            value[key] = type(value[key])(value[key] * pick(rng, (-1, 2, 1000)))
        elif kind == 3 and isinstance(value[key], str):
            value[key] = value[key] + pick(rng, ("x", "\n", "\u2028", "%00", "/.."))
        else:
            value[key] = copy.deepcopy(pick(rng, ODD_VALUES))
        return


def odd_array(array: np.ndarray, rng: Generator) -> np.ndarray:
    """Change values, symmetrically where a matrix is, or the shape."""
    array = np.array(array, dtype=float)
    kind = rng.integers(8)
    if kind == 0:
        shape = list(array.shape)
        if shape:
            axis = int(rng.integers(len(shape)))
            shape[axis] = int(pick(rng, (0, 1, shape[axis] + 1, 2 * shape[axis])))
        return np.resize(array, shape)
    if kind == 1:
        return array.ravel() if array.ndim != 1 else array[:, None]
    if kind == 2:
        with np.errstate(all="ignore"):
            return array * pick(rng, ODD_FLOATS)
    if kind == 3:
        return np.full(array.shape, pick(rng, ODD_FLOATS))
    if kind == 4:
        return np.swapaxes(array, 0, -1) if array.ndim else array[None]
    if array.size:
        for _ in range(int(rng.integers(1, 4))):
            index = tuple(int(rng.integers(n)) for n in array.shape)
            value = pick(rng, ODD_FLOATS)
            array[index] = value
            if array.ndim > 1 and array.shape[-1] == array.shape[-2]:
                array[(*index[:-2], index[-1], index[-2])] = value
    return array


def odd_arrays(arrays: dict[str, np.ndarray], rng: Generator) -> dict[str, np.ndarray]:
    """Change, remove, rename or exchange some arrays."""
    arrays = dict(arrays)
    for _ in range(int(rng.integers(1, 3))):
        if not arrays:
            return arrays
        name, other = pick(rng, list(arrays)), pick(rng, list(arrays))
        kind = rng.integers(10)
        if kind == 0:
            del arrays[name]
        elif kind == 1:
            arrays[name], arrays[other] = arrays[other], arrays[name]
        elif kind == 2:
            arrays[f"{name}x"] = arrays[name]
        else:
            arrays[name] = odd_array(arrays[name], rng)
    return arrays
