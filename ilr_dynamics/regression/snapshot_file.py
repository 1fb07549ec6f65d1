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
import math
import os
import re
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ..atomic_file import atomic_writer
from ..exceptions import FileAccessError, SnapshotError
from ..file_access import open_regular

__all__ = ["is_snapshot", "read_snapshot", "write_snapshot"]

Array = NDArray[np.float64]

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
# Of the zip: a model has some thirty arrays.
MAX_MEMBERS = 100
MAX_DIRECTORY_BYTES = 1 << 16
_END_OF_DIRECTORY = struct.Struct("<4s4H2IH")
_END_OF_DIRECTORY_64 = b"PK\x06\x07"
_END_OF_DIRECTORY_64_SIZE = 20
# What np.savez writes before an array. Lengths of up to 18 digits fit into 64 bits.
_NPY = re.compile(
    rb"\x93NUMPY\x01\x00(?P<size>..)\{'descr': '(?P<type>[^']{1,20})', "
    rb"'fortran_order': False, 'shape': \((?P<shape>(?:\d{1,18}(?:, |,)?){0,8})\), \} *\n",
    re.DOTALL,
)
_TYPES: dict[bytes, np.dtype[Any]] = {b"<f8": np.dtype("<f8"), b"|u1": np.dtype("u1")}
# What zipfile and numpy raise on damaged bytes; RuntimeError: a member that claims to be encrypted
# or to need a later zip.
_UNREADABLE = (
    FileAccessError,
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


def is_snapshot(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a snapshot by its header, of whatever version and perhaps damaged."""
    try:
        with open_regular(Path(path), MAX_BYTES) as file:
            _check_directory(file)
            header = _read_archive(file, only=HEADER).get(HEADER)
        _parse_header(header, path, version=None)
    except (SnapshotError, *_UNREADABLE):
        return False
    return True


def _read_members(path: Path) -> dict[str, NDArray[Any]]:
    with open_regular(path, MAX_BYTES) as file:
        _check_directory(file)
        return _read_archive(file)


def _check_directory(file: BinaryIO) -> None:
    """Bound the zip's directory, of which zipfile takes any size into memory."""
    tail_size = _END_OF_DIRECTORY_64_SIZE + _END_OF_DIRECTORY.size
    file.seek(-min(tail_size, file.seek(0, os.SEEK_END)), os.SEEK_END)
    tail = file.read(tail_size)
    end = tail[-_END_OF_DIRECTORY.size :]
    if not end.startswith(b"PK\x05\x06") or len(end) < _END_OF_DIRECTORY.size:
        raise ValueError("it does not end as a snapshot does")
    _, _, _, _, n_members, size, _, comment = _END_OF_DIRECTORY.unpack(end)
    if tail.startswith(_END_OF_DIRECTORY_64) or comment:
        raise ValueError("it has a directory of another kind than snapshots have")
    if n_members > MAX_MEMBERS or size > MAX_DIRECTORY_BYTES:
        raise ValueError(
            f"it has {n_members} members, described by {size} bytes; expected at most "
            f"{MAX_MEMBERS} and {MAX_DIRECTORY_BYTES}"
        )


def _read_archive(file: BinaryIO, only: str | None = None) -> dict[str, NDArray[Any]]:
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        size = sum(member.file_size for member in members)
        n_bytes = file.seek(0, os.SEEK_END)
        if size > n_bytes:
            raise ValueError(f"its members claim {size} bytes of a file of {n_bytes}")
        # Stored, never compressed: a small file cannot unpack into a huge one.
        if any(member.compress_type != zipfile.ZIP_STORED for member in members):
            raise ValueError("its members are compressed, expected stored")
        names = [member.filename.removesuffix(".npy") for member in members]
        return {
            name: _array(name, archive.read(member))
            for name, member in zip(names, members, strict=True)
            if only in (None, name)
        }


def _array(name: str, data: bytes) -> NDArray[Any]:
    """
    The array of an .npy file, whose size must be that of the file.

    NumPy's own reader makes an array of any size its header claims, and evaluates the header.
    """
    match = _NPY.match(data)
    if match is None or int.from_bytes(match["size"], "little") != match.end() - 10:
        raise ValueError(f"the array {name!r} does not begin as arrays do")
    if match["type"] not in _TYPES:
        raise ValueError(
            f"the array {name!r} holds {match['type'].decode(errors='replace')}, expected 64-bit "
            "floats"
        )
    dtype, n_bytes = _TYPES[match["type"]], len(data) - match.end()
    shape = tuple(int(length) for length in match["shape"].replace(b",", b" ").split())
    if math.prod(shape) * dtype.itemsize != n_bytes:
        raise ValueError(f"the array {name!r} of shape {shape} has {n_bytes} bytes")
    return np.ndarray(shape, dtype, buffer=data, offset=match.end()).copy()


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
