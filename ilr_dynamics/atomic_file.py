# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Files that are either there in full or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

__all__ = ["atomic_writer"]


@contextmanager
def atomic_writer(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """
    Open a binary file that takes its name only when it has reached the disk.

    The data go to a temporary file in the same folder, are flushed to the disk and then renamed
    over `path`, which POSIX does in one step: a crash, a full disk or a kill at any moment leaves
    either the old file or the new one.

    Parameters
    ----------
    path
        The file to write. Its folder must exist.

    Yields
    ------
    file
        A binary file open for writing.
    """
    target = Path(path)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    # The rename itself is only durable once the folder's entry has been written.
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
