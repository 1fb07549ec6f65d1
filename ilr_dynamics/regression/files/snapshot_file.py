# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Snapshot files: float arrays and a JSON header in one .npz, atomic and never unpickled.

The header carries format, version and a checksum over everything else.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.atomic_file import atomic_writer
from ilr_dynamics.exceptions import FileAccessError, SnapshotError
from ilr_dynamics.file_access import open_regular
from ilr_dynamics.regression.files.array_archive import UNREADABLE, read_archive

__all__ = ["is_snapshot", "read_snapshot", "write_snapshot"]

FORMAT_NAME = "ilr_dynamics snapshot"
FORMAT_VERSION = 2
HEADER = "header"
# A model takes several times the size of its file in memory; 10,000 components of an arm with
# seven joints have 68 MB of statistics.
MAX_BYTES = 1 << 29
# JSON takes some thirty times its size.
MAX_HEADER_BYTES = 1 << 22
MAX_HEADER_DEPTH = 32
MAX_ARRAY_BYTES = MAX_BYTES - 2 * MAX_HEADER_BYTES


def write_snapshot(
    path: str | os.PathLike[str], header: Mapping[str, Any], arrays: Mapping[str, FloatArray]
) -> None:
    """
    Write header and arrays to `path`, in one step.

    Raises
    ------
    SnapshotError
        If the file cannot be written, or is too large to be read again.
    """
    content = {name: np.asarray(array, dtype="<f8", order="C") for name, array in arrays.items()}
    full_header = {"format": FORMAT_NAME, "version": FORMAT_VERSION, **header}
    # As it will be read: JSON turns keys into strings, which sort otherwise.
    full_header = json.loads(json.dumps(full_header))
    full_header["checksum"] = _checksum(full_header, content)
    text = np.frombuffer(json.dumps(full_header).encode(), dtype=np.uint8)
    if not _is_shallow(full_header):
        raise SnapshotError(
            f"the header of the snapshot {path} would be nested deeper than the "
            f"{MAX_HEADER_DEPTH} levels allowed: it could not be loaded"
        )
    for name, size, limit in (
        ("header", text.nbytes, MAX_HEADER_BYTES),
        ("arrays", sum(array.nbytes for array in content.values()), MAX_ARRAY_BYTES),
    ):
        if size > limit:
            raise SnapshotError(
                f"the {name} of the snapshot {path} would have {size} bytes, expected at most "
                f"{limit}: it could not be loaded"
            )
    buffer = io.BytesIO()
    np.savez(buffer, **{HEADER: text}, **content)  # type: ignore[arg-type]
    try:
        with atomic_writer(path) as file:
            file.write(buffer.getbuffer())
    except OSError as error:
        raise SnapshotError(f"cannot write the snapshot {path}: {error}") from error


def read_snapshot(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, FloatArray]]:
    """
    Read header and arrays, checked against the checksum.

    Raises
    ------
    SnapshotError
        If the file is missing, truncated, damaged, of a newer format, too large, or holds
        anything but finite floats.
    """
    try:
        content = _read(Path(path))
    except FileNotFoundError as error:
        raise SnapshotError(f"there is no snapshot {path}") from error
    except (FileAccessError, *UNREADABLE) as error:
        raise SnapshotError(
            f"{path} is not a readable snapshot, or is truncated: {error}"
        ) from error
    header = _parse_header(content.pop(HEADER, None), path)
    arrays: dict[str, FloatArray] = {}
    for name, array in content.items():
        if array.dtype != np.dtype("<f8") or not np.all(np.isfinite(array)):
            raise SnapshotError(
                f"the array {name!r} of the snapshot {path} must hold finite 64-bit floats"
            )
        arrays[name] = array
    if _checksum(header, arrays) != header.get("checksum"):
        raise SnapshotError(f"the snapshot {path} is damaged: its checksum does not fit")
    return header, arrays


def is_snapshot(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a snapshot by its header, of whatever version and perhaps damaged."""
    try:
        header = _read(Path(path), only=HEADER).get(HEADER)
        _parse_header(header, path, version=None)
    except (SnapshotError, FileAccessError, *UNREADABLE):
        return False
    return True


def _read(path: Path, only: str | None = None) -> dict[str, NDArray[Any]]:
    with open_regular(path, MAX_BYTES) as file:
        return read_archive(file, only)


def _parse_header(
    text: NDArray[Any] | None, path: str | os.PathLike[str], version: int | None = FORMAT_VERSION
) -> dict[str, Any]:
    """Check the header; of any version if that is None."""
    if text is not None and text.nbytes > MAX_HEADER_BYTES:
        raise SnapshotError(
            f"the header of the snapshot {path} has {text.nbytes} bytes, expected at most "
            f"{MAX_HEADER_BYTES}"
        )
    try:
        header = json.loads(bytes(text)) if text is not None else None
    except (ValueError, RecursionError) as error:
        raise SnapshotError(f"the header of the snapshot {path} is not valid JSON") from error
    if not isinstance(header, dict) or header.get("format") != FORMAT_NAME:
        raise SnapshotError(f"{path} is not an {FORMAT_NAME}")
    if not _is_shallow(header):
        raise SnapshotError(
            f"the header of the snapshot {path} is nested deeper than the {MAX_HEADER_DEPTH} "
            "levels allowed"
        )
    if version is not None and header.get("version") != version:
        raise SnapshotError(
            f"the snapshot {path} has format version {header.get('version')!r}; "
            f"this release reads version {version}"
        )
    return header


def _is_shallow(header: dict[str, Any]) -> bool:
    """Whether whoever handles the values one within the other comes to an end soon."""
    level: list[Any] = [header]
    for _ in range(MAX_HEADER_DEPTH):
        level = [
            part
            for value in level
            if isinstance(value, dict | list)
            for part in (value.values() if isinstance(value, dict) else value)
        ]
    return not level


def _checksum(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256()
    covered = {key: value for key, value in header.items() if key != "checksum"}
    digest.update(json.dumps(covered, sort_keys=True).encode())
    for name in sorted(arrays):
        digest.update(f"{name}{arrays[name].shape}".encode())
        digest.update(np.ascontiguousarray(arrays[name]).tobytes())
    return digest.hexdigest()
