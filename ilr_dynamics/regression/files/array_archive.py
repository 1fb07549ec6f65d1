# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Reader of arrays in .npz files, which need not be trusted.

What numpy.load would do for them: take a directory of any size into memory, make an array of any
size that a header claims, evaluate the header, and, unless told otherwise, run what is pickled.
"""

from __future__ import annotations

import math
import os
import re
import struct
import zipfile
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

__all__ = ["UNREADABLE", "read_archive"]

# A model has some thirty arrays.
MAX_MEMBERS = 100
MAX_DIRECTORY_BYTES = 1 << 16
_END_OF_DIRECTORY = struct.Struct("<4s4H2IH")
_END_OF_DIRECTORY_64 = b"PK\x06\x07"
_END_OF_DIRECTORY_64_SIZE = 20
# What np.savez writes before an array. Lengths of up to 18 digits fit into 64 bits.
_NPY = re.compile(
    rb"\x93NUMPY\x01\x00(?P<size>..)\{'descr': '(?P<type>[^']{1,20})', "
    rb"'fortran_order': False, 'shape': \((?P<shape>|(?:\d{1,18}, ){0,7}\d{1,18},?)\), \} *\n",
    re.DOTALL,
)
_TYPES: dict[bytes, np.dtype[Any]] = {b"<f8": np.dtype("<f8"), b"|u1": np.dtype("u1")}
# What zipfile and numpy raise on damaged bytes; RuntimeError: a member that claims to be encrypted
# or to need a later zip.
UNREADABLE = (
    OSError,
    ValueError,
    KeyError,
    EOFError,
    RuntimeError,
    zipfile.BadZipFile,
)


def read_archive(file: BinaryIO, only: str | None = None) -> dict[str, NDArray[Any]]:
    """
    Read arrays of 64-bit floats or of bytes by name.

    Parameters
    ----------
    file : binary file
        Open for reading, seekable.
    only : str, optional
        Leave all others out.

    Raises
    ------
    UNREADABLE
        The file is damaged, or holds or claims other things.
    """
    _check_directory(file)
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        # zipfile may take either size of a member for what it reads.
        size = sum(max(member.file_size, member.compress_size) for member in members)
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
