# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Pipes of a process, read without waiting."""

from __future__ import annotations

import os
from typing import IO

__all__ = ["Pipe"]

READ_SIZE = 65536
"""Bytes taken from a pipe at a time."""
MAX_LINE = 1 << 20
"""Bytes after which a line without an end is garbage."""


class Pipe:
    """One end of a pipe, read without waiting."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._buffer = b""
        self.at_end = False
        os.set_blocking(stream.fileno(), False)

    def read(self) -> bytes:
        """What has arrived, up to a limit."""
        try:
            data = os.read(self._stream.fileno(), READ_SIZE)
        except BlockingIOError:
            return b""
        self.at_end = not data
        return data

    def lines(self) -> list[bytes]:
        """Whole lines that have arrived; one that does not end is given as it is."""
        *lines, self._buffer = (self._buffer + self.read()).split(b"\n")
        if len(self._buffer) > MAX_LINE:
            lines.append(self._buffer)
            self._buffer = b""
        return lines

    def close(self) -> None:
        """Close this end."""
        self._stream.close()
