# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Arrays in .npz files that need not be trusted, read or mapped into memory.

Such a file is a zip of .npy files, here stored and not compressed. numpy.load, which can read it
too, would take a directory of any size into memory, make an array of any size that a header
claims, and map nothing.
"""

from __future__ import annotations

import io
import math
import mmap
import os
import struct
import zipfile
from collections.abc import Iterator, Mapping
from typing import IO, Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

__all__ = ["HEADER", "UNREADABLE", "map_arrays", "read_arrays", "write_arrays"]

# Name of the one array of bytes, a text; all others hold 64-bit floats.
HEADER = "header"
# A model has some thirty arrays.
MAX_MEMBERS = 100
MAX_DIRECTORY_BYTES = 1 << 16
# NumPy writes 128, and 192 for arrays of many dimensions.
MAX_NPY_HEADER_BYTES = 256
# Whole cache lines: BLAS reads aligned rows faster.
ALIGNMENT = 64
# Type of the zip's extra field that aligns a member, as Android's zipalign has it.
PADDING = 0xD935
_EXTRA = struct.Struct("<2H")
# Precedes each member; it ends with the lengths of the name and of the extra fields that follow.
_LOCAL_HEADER = struct.Struct("<26x2H")
# What is raised of damaged files; NotImplementedError: they claim to need a later zip.
UNREADABLE = (OSError, ValueError, NotImplementedError, zipfile.BadZipFile)


def write_arrays(file: IO[bytes], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays, in row-major order and each on whole cache lines, to a seekable file."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            member = zipfile.ZipInfo(f"{name}.npy")
            begin = file.tell() + _LOCAL_HEADER.size + len(member.filename.encode())
            padding = -(begin + _EXTRA.size) % ALIGNMENT
            member.extra = _EXTRA.pack(PADDING, padding) + bytes(padding)
            with archive.open(member, "w") as target:
                # NumPy's header has a multiple of 64 bytes too.
                npy.write_array(target, array, version=(1, 0), allow_pickle=False)


def read_arrays(file: BinaryIO, only: str | None = None) -> dict[str, NDArray[Any]]:
    """
    Read arrays by name.

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
    arrays = {}
    for name, begin, size in _members(file):
        if only in (None, name):
            file.seek(begin)
            arrays[name] = _array(name, file.read(size)).copy()
    return arrays


def map_arrays(file: BinaryIO) -> dict[str, NDArray[Any]]:
    """Map arrays into memory, read-only; they outlive the file. Errors are as of `read_arrays`."""
    members = list(_members(file))
    content = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    return {name: _array(name, content[begin : begin + size]) for name, begin, size in members}


def _members(file: BinaryIO) -> Iterator[tuple[str, int, int]]:
    """Name of each array, first byte and number of bytes of its .npy file."""
    n_bytes = file.seek(0, os.SEEK_END)
    start = file.seek(max(0, n_bytes - MAX_DIRECTORY_BYTES))
    # A zip's directory is at its end, and zipfile reads one of any size: it gets the end alone,
    # and counts from there.
    end = io.BytesIO(file.read(MAX_DIRECTORY_BYTES))
    with zipfile.ZipFile(end, metadata_encoding="utf-8") as archive:
        members = archive.infolist()
    if len(members) > MAX_MEMBERS:
        raise ValueError(f"it has {len(members)} members; expected at most {MAX_MEMBERS}")
    if any(member.compress_type != zipfile.ZIP_STORED for member in members):
        raise ValueError("its members are compressed; expected stored ones")
    # Members that overlap would be read more than once.
    claimed = sum(member.file_size for member in members)
    if claimed > n_bytes:
        raise ValueError(f"its members claim {claimed} bytes of a file of {n_bytes}")
    for member in members:
        begin = file.seek(start + member.header_offset) + _LOCAL_HEADER.size
        lengths = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size).ljust(_LOCAL_HEADER.size))
        yield member.filename.removesuffix(".npy"), begin + sum(lengths), member.file_size


def _array(name: str, data: bytes | memoryview) -> NDArray[Any]:
    """View of the array in an .npy file, whose size must be what its header says."""
    file = io.BytesIO(data[:MAX_NPY_HEADER_BYTES])
    try:
        if npy.read_magic(file) != (1, 0):
            raise ValueError("it is of another version of NumPy's format")
        shape, is_transposed, dtype = npy.read_array_header_1_0(file, MAX_NPY_HEADER_BYTES)
    # NumPy evaluates nothing, but what it parses headers with raises errors of every kind.
    except Exception as error:
        raise ValueError(f"the array {name!r} does not begin as arrays do: {error}") from error
    expected = np.dtype("u1" if name == HEADER else "<f8")
    if dtype != expected or is_transposed:
        order = "columns" if is_transposed else "rows"
        raise ValueError(
            f"the array {name!r} holds {order} of {dtype}; expected rows of {expected}"
        )
    n_bytes = len(data) - file.tell()
    if math.prod(shape) * dtype.itemsize != n_bytes:
        raise ValueError(f"the array {name!r} of shape {shape} has {n_bytes} bytes")
    return np.ndarray(shape, dtype, data, file.tell())
