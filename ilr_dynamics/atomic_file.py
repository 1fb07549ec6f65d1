# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Files that are either there in full or not at all."""

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
    Open a binary file that takes its name only when it has reached the disk.

    The data go to a file without a name in the same folder, are flushed to the disk, and only
    then the file gets a name and replaces `path`, which POSIX does in one step: a crash, a full
    disk or a kill at any moment leaves either the old file or the new one, and nothing beside it.
    Where the file system has no files without names, a kill leaves a hidden one.

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
    """Descriptor of a file without a name, None where there are none."""
    if not hasattr(os, "O_TMPFILE") or not Path(DESCRIPTORS).is_dir():
        return None
    try:
        return os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o600)
    except OSError as error:
        if error.errno in (errno.EOPNOTSUPP, errno.EISDIR):
            return None
        raise


def _give_name(descriptor: int, name: str) -> None:
    # With a directory's descriptor, though not needed for an absolute path, Python calls linkat,
    # which follows the link in /proc.
    os.link(f"{DESCRIPTORS}/{descriptor}", name, src_dir_fd=descriptor, follow_symlinks=True)


def _sync_folder(folder: Path) -> None:
    # The rename itself is only durable once the folder's entry has been written.
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
