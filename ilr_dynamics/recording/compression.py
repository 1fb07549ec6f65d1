# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Decompression of untrusted zstd and lz4 data up to a maximal size."""

from __future__ import annotations

import sys
from typing import IO, Any

import lz4.frame

from ilr_dynamics.exceptions import RecordingError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

__all__ = ["is_packed", "unpack", "unpack_file"]

DECOMPRESSORS: dict[str, Any] = {
    "zstd": zstd.ZstdDecompressor,
    "lz4": lz4.frame.LZ4FrameDecompressor,
}
BLOCK = 1 << 20
ZSTD_MAGIC = bytes.fromhex("28b52ffd")


def unpack(data: bytes | memoryview, compression: str, max_size: int) -> bytes:
    """
    Decompress data, up to a maximal size.

    Parameters
    ----------
    data : bytes
        One or more compressed frames.
    compression : {"", "zstd", "lz4"}
        Compression; empty: none.
    max_size : int
        Largest size of the result, in bytes.

    Returns
    -------
    bytes

    Raises
    ------
    RecordingError
        If the compression is unknown, the data end early or the result is too large. Other damage
        raises exceptions of the decompressor.
    """
    if compression == "":
        if len(data) > max_size:
            raise RecordingError(f"it holds {len(data)} bytes; expected at most {max_size}")
        return bytes(data)
    if compression not in DECOMPRESSORS:
        raise RecordingError(
            f"its compression is {compression!r}; expected {' or '.join(DECOMPRESSORS)}"
        )
    parts: list[bytes] = []
    size = 0
    rest: bytes | memoryview = data
    while rest:
        frame = DECOMPRESSORS[compression]()
        while not frame.eof:
            # One byte more than allowed shows that the result is too large.
            part = frame.decompress(rest, max_length=min(BLOCK, max_size + 1 - size))
            rest = b""
            size += len(part)
            if size > max_size:
                raise RecordingError(f"it unpacks to more than the allowed {max_size} bytes")
            if not part and not frame.eof:
                raise RecordingError("its compressed data end early")
            parts.append(part)
        rest = frame.unused_data or b""
    return b"".join(parts)


def is_packed(file: IO[bytes]) -> bool:
    """Whether a file, open at its start, begins with zstd's magic number, whatever its name."""
    magic = file.read(len(ZSTD_MAGIC))
    file.seek(0)
    return magic == ZSTD_MAGIC


def unpack_file(source: IO[bytes], target: IO[bytes], max_size: int) -> int:
    """
    Decompress a zstd file into another one; errors are those of `unpack`.

    Parameters
    ----------
    source, target : binary file
        Files open for reading and for writing.
    max_size : int
        Largest size of the result, in bytes.

    Returns
    -------
    int
        Size of the result, in bytes.
    """
    size = 0
    with zstd.open(source, "rb") as stream:
        while block := stream.read(BLOCK):
            size += len(block)
            if size > max_size:
                raise RecordingError(f"it unpacks to more than the allowed {max_size} bytes")
            target.write(block)
    return size
