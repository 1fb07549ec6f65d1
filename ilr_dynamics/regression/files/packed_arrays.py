# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Named float arrays in one flat file, mapped into memory instead of read.

A control loop takes over a finished model by mapping its file: no parsing, no copying, so the
swap fits between two cycles whatever the size of the model.
"""

from __future__ import annotations

import json
import math
import mmap
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.atomic_file import atomic_writer
from ilr_dynamics.exceptions import SnapshotError

__all__ = ["open_arrays", "write_arrays"]

MAGIC = b"ilr_dynamics arrays 2\n"
# Whole cache lines: BLAS reads aligned rows faster.
ALIGNMENT = 64
MAX_HEADER_BYTES = 1 << 16


def write_arrays(
    path: str | os.PathLike[str], arrays: Mapping[str, FloatArray], header: Mapping[str, Any]
) -> None:
    """
    Write the arrays atomically, each as little-endian float64 in row-major order.

    `header` holds what JSON can besides them.

    Raises
    ------
    SnapshotError
        If the file cannot be written.
    """
    shapes = {name: list(array.shape) for name, array in arrays.items()}
    text = MAGIC + json.dumps({"header": dict(header), "shapes": shapes}).encode() + b"\n"
    try:
        with atomic_writer(path) as file:
            file.write(text)
            for array in arrays.values():
                file.write(b"\0" * (-file.tell() % ALIGNMENT))
                file.write(np.ascontiguousarray(array, dtype="<f8").tobytes())
    except OSError as error:
        raise SnapshotError(f"cannot write the predictor file {path}: {error}") from error


def open_arrays(path: str | os.PathLike[str]) -> tuple[dict[str, FloatArray], dict[str, Any]]:
    """
    Map the arrays of a file, read-only, and read what was written besides them.

    Raises
    ------
    SnapshotError
        If the file is missing, is not of this format or is shorter than its header says.
    """
    try:
        with Path(path).open("rb") as file:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise SnapshotError(f"cannot map the predictor file {path}: {error}") from error
    shapes, header, offset = _read_header(content, path)
    arrays: dict[str, FloatArray] = {}
    for name, shape in shapes.items():
        offset += -offset % ALIGNMENT
        size = math.prod(shape)
        if offset + 8 * size > len(content):
            raise SnapshotError(f"the predictor file {path} ends inside the array {name!r}")
        try:
            arrays[name] = np.ndarray(tuple(shape), "<f8", content, offset)
        except ValueError as error:
            raise SnapshotError(
                f"the predictor file {path} holds no array of shape {shape}: {error}"
            ) from error
        offset += 8 * size
    return arrays, header


def _read_header(
    content: mmap.mmap, path: str | os.PathLike[str]
) -> tuple[dict[str, list[int]], dict[str, Any], int]:
    end = content.find(b"\n", len(MAGIC), MAX_HEADER_BYTES)
    if content[: len(MAGIC)] != MAGIC or end < 0:
        raise SnapshotError(f"{path} is not a predictor file of ilr_dynamics")
    try:
        text = json.loads(content[len(MAGIC) : end])
        shapes, header = text["shapes"], text["header"]
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise SnapshotError(f"the header of the predictor file {path} is damaged") from error
    if not isinstance(shapes, dict) or not all(map(_is_shape, shapes.values())):
        raise SnapshotError(f"the header of the predictor file {path} must hold shapes by name")
    if not isinstance(header, dict):
        raise SnapshotError(f"the header of the predictor file {path} must hold values by name")
    return shapes, header, end + 1


def _is_shape(value: object) -> bool:
    return isinstance(value, list) and all(type(n) is int and n >= 0 for n in value)
