# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Digest by which a bag is known again, wherever it lies and whatever it is called."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

from ilr_dynamics.file_access import open_regular
from ilr_dynamics.recording.bag import DEFAULT_LIMITS, storage_files

__all__ = ["bag_digest"]

CHUNK = 1 << 24


def bag_digest(
    uri: str | Path,
    directories: Sequence[str | Path] | None = None,
    max_bytes: int = DEFAULT_LIMITS.max_bytes,
    alive: Callable[[], None] = lambda: None,
) -> str:
    """
    Return the SHA-256 of the content of a bag's files of messages.

    Its metadata do not count: a folder and its only file are one bag, also after a reindex.

    Parameters
    ----------
    uri : str or Path
        Folder of a rosbag2, or one of its ``.mcap`` or ``.db3`` files.
    directories : sequence of str or Path, or None
        Allowed directories of the bag and its files, links followed; None: any.
    max_bytes : int
        Largest size of a file.
    alive : callable
        Called every some megabytes.

    Returns
    -------
    str
        64 hexadecimal digits.

    Raises
    ------
    RecordingError
        If the bag is missing or its metadata are damaged.
    FileAccessError
        If it, or one of its files, is outside the allowed directories, no regular file or too
        large.
    OSError
        If a file cannot be read.
    """
    digest = hashlib.sha256()
    for path in storage_files(uri, directories):
        with open_regular(path, max_bytes) as file:
            while chunk := file.read(CHUNK):
                digest.update(chunk)
                alive()
    return digest.hexdigest()
