# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Atomic file writing: a file has its name only when it is complete on disk."""

from __future__ import annotations

import errno
import os
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

__all__ = ["atomic_writer"]

DESCRIPTORS = "/proc/self/fd"


@contextmanager
def atomic_writer(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """
    Open a binary file for writing that gets its name only when it has reached the disk.

    The data go to an unnamed file in the same folder and are flushed to the disk. Only then the
    file gets a name and replaces `path`, which POSIX does in one step: a crash, a full disk or a
    kill at any moment leaves either the old file or the new one, and no other file. On a file
    system without unnamed files a kill can leave a hidden one.

    Parameters
    ----------
    path : str or path-like
        File to write. Its folder must exist.

    Yields
    ------
    file : binary file
        Open for writing.
    """
    target = Path(path)
    descriptor = _open_unnamed(target.parent)
    name = None
    if descriptor is None:
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if name is None:
                name = str(target.parent / f".{target.name}.{uuid.uuid4().hex}")
                _give_name(file.fileno(), name)
        os.replace(name, target)
    except BaseException:
        if name is not None:
            Path(name).unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def _open_unnamed(folder: Path) -> int | None:
    """Descriptor of an unnamed file; None where the file system has none."""
    if not hasattr(os, "O_TMPFILE") or not Path(DESCRIPTORS).is_dir():
        return None
    try:
        return os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o600)
    except OSError as error:
        if error.errno in (errno.EOPNOTSUPP, errno.EISDIR):
            return None
        raise


def _give_name(descriptor: int, name: str) -> None:
    # An absolute path needs no directory descriptor, but only with one Python calls linkat, which
    # follows the link in /proc.
    os.link(f"{DESCRIPTORS}/{descriptor}", name, src_dir_fd=descriptor, follow_symlinks=True)


def _sync_folder(folder: Path) -> None:
    # The rename is durable only once the entry in the folder has been written.
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
