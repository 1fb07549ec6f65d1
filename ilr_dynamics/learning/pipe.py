# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Non-blocking reading from the pipes of a child process."""

from __future__ import annotations

import os
from typing import IO

__all__ = ["Pipe"]

READ_SIZE = 65536
"""Largest number of bytes read at a time."""
MAX_LINE = 1 << 20
"""Length in bytes from which an unfinished line counts as garbage."""


class Pipe:
    """Reading end of a pipe, which never blocks."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._buffer = b""
        self.at_end = False
        os.set_blocking(stream.fileno(), False)

    def read(self) -> bytes:
        """Return the bytes that have arrived, at most `READ_SIZE`."""
        try:
            data = os.read(self._stream.fileno(), READ_SIZE)
        except BlockingIOError:
            return b""
        self.at_end = not data
        return data

    def lines(self) -> list[bytes]:
        """Return complete lines that have arrived, and an unfinished one beyond `MAX_LINE`."""
        *lines, self._buffer = (self._buffer + self.read()).split(b"\n")
        if len(self._buffer) > MAX_LINE:
            lines.append(self._buffer)
            self._buffer = b""
        return lines

    def close(self) -> None:
        """Close this end."""
        self._stream.close()
