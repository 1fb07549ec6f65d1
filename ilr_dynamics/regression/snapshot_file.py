# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
The snapshot file: float arrays and a JSON header in one .npz, atomic and never unpickled.

The header carries format, version and a checksum over everything else.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..atomic_file import atomic_writer
from ..exceptions import SnapshotError

__all__ = ["read_snapshot", "write_snapshot"]

Array = NDArray[np.float64]

FORMAT_NAME = "ilr_dynamics snapshot"
FORMAT_VERSION = 2
HEADER = "header"
MAX_BYTES = 2 << 30
# What zipfile and numpy raise on damaged bytes; RuntimeError: a member that claims to be encrypted
# or to need a later zip.
_UNREADABLE = (
    OSError,
    ValueError,
    KeyError,
    EOFError,
    RuntimeError,
    MemoryError,
    zipfile.BadZipFile,
)


def write_snapshot(
    path: str | os.PathLike[str], header: Mapping[str, Any], arrays: Mapping[str, Array]
) -> None:
    """
    Write header and arrays to `path`, in one step.

    Raises
    ------
    SnapshotError
        If the file cannot be written.
    """
    content = {name: np.asarray(array, dtype="<f8", order="C") for name, array in arrays.items()}
    full_header = {"format": FORMAT_NAME, "version": FORMAT_VERSION, **header}
    # As it will be read: JSON turns keys into strings, which sort otherwise.
    full_header = json.loads(json.dumps(full_header))
    full_header["checksum"] = _checksum(full_header, content)
    text = np.frombuffer(json.dumps(full_header).encode(), dtype=np.uint8)
    buffer = io.BytesIO()
    np.savez(buffer, **{HEADER: text}, **content)  # type: ignore[arg-type]
    try:
        with atomic_writer(path) as file:
            file.write(buffer.getbuffer())
    except OSError as error:
        raise SnapshotError(f"cannot write the snapshot {path}: {error}") from error


def read_snapshot(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Array]]:
    """
    Read header and arrays, checked against the checksum.

    Raises
    ------
    SnapshotError
        If the file is missing, truncated, damaged, of a newer format, too large, or holds
        anything but finite floats.
    """
    try:
        content = _read_members(Path(path))
    except FileNotFoundError as error:
        raise SnapshotError(f"there is no snapshot {path}") from error
    except _UNREADABLE as error:
        raise SnapshotError(
            f"{path} is not a readable snapshot, or is truncated: {error}"
        ) from error
    header = _parse_header(content.pop(HEADER, None), path)
    arrays: dict[str, Array] = {}
    for name, array in content.items():
        if array.dtype != np.dtype("<f8") or not np.all(np.isfinite(array)):
            raise SnapshotError(
                f"the array {name!r} of the snapshot {path} must hold finite 64-bit floats"
            )
        arrays[name] = array
    if _checksum(header, arrays) != header.get("checksum"):
        raise SnapshotError(f"the snapshot {path} is damaged: its checksum does not fit")
    return header, arrays


def _read_members(path: Path) -> dict[str, NDArray[Any]]:
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        size = sum(member.file_size for member in members)
        if size > MAX_BYTES:
            raise ValueError(f"it holds {size} bytes, more than the {MAX_BYTES} allowed")
        # Stored, never compressed: a small file cannot unpack into a huge one.
        if any(member.compress_type != zipfile.ZIP_STORED for member in members):
            raise ValueError("its members are compressed, expected stored")
        return {
            member.filename.removesuffix(".npy"): np.lib.format.read_array(
                io.BytesIO(archive.read(member)), allow_pickle=False
            )
            for member in members
        }


def _parse_header(text: NDArray[Any] | None, path: str | os.PathLike[str]) -> dict[str, Any]:
    try:
        header = json.loads(bytes(text)) if text is not None else None
    except (ValueError, RecursionError) as error:
        raise SnapshotError(f"the header of the snapshot {path} is not valid JSON") from error
    if not isinstance(header, dict) or header.get("format") != FORMAT_NAME:
        raise SnapshotError(f"{path} is not an {FORMAT_NAME}")
    if header.get("version") != FORMAT_VERSION:
        raise SnapshotError(
            f"the snapshot {path} has format version {header.get('version')!r}; "
            f"this release reads version {FORMAT_VERSION}"
        )
    return header


def _checksum(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256()
    covered = {key: value for key, value in header.items() if key != "checksum"}
    digest.update(json.dumps(covered, sort_keys=True).encode())
    for name in sorted(arrays):
        digest.update(f"{name}{arrays[name].shape}".encode())
        digest.update(np.ascontiguousarray(arrays[name]).tobytes())
    return digest.hexdigest()
