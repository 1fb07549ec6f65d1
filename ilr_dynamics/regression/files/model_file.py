# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Files of models: float arrays behind a JSON header in one .npz, atomic and never unpickled.

The header carries format, version and a checksum over everything else. Snapshots are read and
checked; predictor files are mapped into memory, so that a control loop takes over a model between
two cycles whatever its size.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.atomic_file import atomic_writer
from ilr_dynamics.exceptions import FileAccessError, SnapshotError
from ilr_dynamics.file_access import open_regular
from ilr_dynamics.regression.files.npz import (
    HEADER,
    UNREADABLE,
    map_arrays,
    read_arrays,
    write_arrays,
)

__all__ = ["PREDICTOR", "SNAPSHOT", "Kind", "is_of_kind", "read_file", "write_file"]

# A model takes several times the size of its file in memory; 10,000 components of an arm with
# seven joints have 68 MB of statistics.
MAX_BYTES = 1 << 29
# JSON takes some thirty times its size.
MAX_HEADER_BYTES = 1 << 22
MAX_ARRAY_BYTES = MAX_BYTES - 2 * MAX_HEADER_BYTES
MAX_HEADER_DEPTH = 32


@dataclass(frozen=True)
class Kind:
    """
    Kind of a file.

    Attributes
    ----------
    name
        What messages call it.
    version
        Of its header and arrays; no other is read.
    is_mapped
        Whether arrays are mapped into memory, their values unseen, instead of read and checked.
    remedy
        What to do about a file of an earlier version.
    """

    name: str
    version: int
    is_mapped: bool
    remedy: str

    @property
    def format(self) -> str:
        """What the header says first, near the beginning of the file."""
        return f"ilr_dynamics {self.name}"


SNAPSHOT = Kind("snapshot", 2, False, "learn the model again")
# Before version 3 they were no .npz files; before 5 they held other arrays.
PREDICTOR = Kind(
    "predictor file", 5, True, "save it again: load_snapshot(...).predictor().save(...)"
)


def write_file(
    path: str | os.PathLike[str],
    kind: Kind,
    header: Mapping[str, Any],
    arrays: Mapping[str, FloatArray],
) -> None:
    """
    Write header and arrays to `path`, in one step.

    Raises
    ------
    SnapshotError
        If the file cannot be written, or could not be read again.
    """
    content = {name: np.asarray(array, dtype="<f8", order="C") for name, array in arrays.items()}
    # As it will be read: JSON turns keys into strings, which sort otherwise.
    full = json.loads(json.dumps({"format": kind.format, "version": kind.version, **header}))
    full["checksum"] = _checksum(full, content)
    text = np.frombuffer(json.dumps(full).encode(), dtype=np.uint8)
    _parsed_header(text, path, kind)
    n_bytes = sum(array.nbytes for array in content.values())
    if n_bytes > MAX_ARRAY_BYTES:
        raise SnapshotError(
            f"the arrays of the {kind.name} {path} have {n_bytes} bytes; expected at most "
            f"{MAX_ARRAY_BYTES}"
        )
    try:
        with atomic_writer(path) as file:
            write_arrays(file, {HEADER: text, **content})
    except OSError as error:
        raise SnapshotError(f"cannot write the {kind.name} {path}: {error}") from error


def read_file(
    path: str | os.PathLike[str], kind: Kind
) -> tuple[dict[str, Any], dict[str, FloatArray]]:
    """
    Read the header, and read or map the arrays; what is mapped is read-only.

    Raises
    ------
    SnapshotError
        If the file is missing, truncated, of another kind or version, too large, or holds anything
        but floats; if it is read, also if these are not finite or do not fit the checksum.
    """
    try:
        with open_regular(Path(path), MAX_BYTES) as file:
            arrays = map_arrays(file) if kind.is_mapped else read_arrays(file)
    except FileNotFoundError as error:
        raise SnapshotError(f"there is no {kind.name} {path}") from error
    except (FileAccessError, *UNREADABLE) as error:
        raise SnapshotError(
            f"{path} is not a readable {kind.name}, or is truncated: {error}; if an earlier "
            f"release saved it, {kind.remedy}"
        ) from error
    header = _parsed_header(arrays.pop(HEADER, None), path, kind)
    if header.get("version") != kind.version:
        raise SnapshotError(
            f"the {kind.name} {path} has format version {header.get('version')!r}; this release "
            f"reads version {kind.version}: if an earlier one saved it, {kind.remedy}"
        )
    if not kind.is_mapped:
        for name, array in arrays.items():
            if not np.all(np.isfinite(array)):
                raise SnapshotError(f"the array {name!r} of the {kind.name} {path} is not finite")
        if _checksum(header, arrays) != header.get("checksum"):
            raise SnapshotError(f"the {kind.name} {path} is damaged: its checksum does not fit")
    return header, arrays


def is_of_kind(path: str | os.PathLike[str], kind: Kind) -> bool:
    """Whether a file is of a kind by its header, of whatever version and perhaps damaged."""
    try:
        with open_regular(Path(path), MAX_BYTES) as file:
            _parsed_header(read_arrays(file, only=HEADER).get(HEADER), path, kind)
    except (SnapshotError, FileAccessError, *UNREADABLE):
        return False
    return True


def _parsed_header(
    text: NDArray[Any] | None, path: str | os.PathLike[str], kind: Kind
) -> dict[str, Any]:
    """Check the header, of whatever version."""
    name = f"the header of the {kind.name} {path}"
    if text is not None and text.nbytes > MAX_HEADER_BYTES:
        raise SnapshotError(f"{name} has {text.nbytes} bytes; expected at most {MAX_HEADER_BYTES}")
    try:
        header = json.loads(bytes(text)) if text is not None else None
        depth = _depth(header)
    except (ValueError, RecursionError) as error:
        raise SnapshotError(f"{name} is not valid JSON") from error
    if not isinstance(header, dict) or header.get("format") != kind.format:
        raise SnapshotError(f"{path} is not an {kind.format}")
    # Bounds the recursion of whatever handles nested values.
    if depth > MAX_HEADER_DEPTH:
        raise SnapshotError(f"{name} has {depth} levels; expected at most {MAX_HEADER_DEPTH}")
    return header


def _depth(value: Any) -> int:
    """Levels of nested values."""
    if not isinstance(value, dict | list):
        return 0
    return 1 + max(map(_depth, value.values() if isinstance(value, dict) else value), default=0)


def _checksum(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256()
    covered = {key: value for key, value in header.items() if key != "checksum"}
    digest.update(json.dumps(covered, sort_keys=True).encode())
    for name in sorted(arrays):
        digest.update(f"{name}{arrays[name].shape}".encode())
        digest.update(np.ascontiguousarray(arrays[name]).tobytes())
    return digest.hexdigest()
