# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Folders for a process's own files, which do not pile up when processes are killed."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from pathlib import Path

__all__ = ["ScratchFolder"]

LOCK = "lock"


class ScratchFolder:
    """
    A new folder among the system's temporary files.

    A killed process cannot remove its folder; the next one that makes a folder of this prefix
    does. That a process lives is seen by its lock, which the kernel releases when it ends.

    Parameters
    ----------
    prefix : str
        Of the folder's name.

    Attributes
    ----------
    path : Path
        The folder.
    """

    def __init__(self, prefix: str) -> None:
        _remove_abandoned(prefix)
        self.path = Path(tempfile.mkdtemp(prefix=prefix))
        unfinished = self.path / f"new_{LOCK}"
        self._lock = os.open(unfinished, os.O_CREAT | os.O_WRONLY, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        # Nobody finds a lock that is not held yet.
        unfinished.rename(self.path / LOCK)

    def close(self) -> None:
        """Remove the folder and all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def _remove_abandoned(prefix: str) -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        if _is_abandoned(folder):
            shutil.rmtree(folder, ignore_errors=True)


def _is_abandoned(folder: Path) -> bool:
    """Whether this user made the folder, in a process that has ended."""
    try:
        # A folder of somebody else, or a link in its place, is none of our business.
        if folder.is_symlink() or folder.lstat().st_uid != os.getuid():
            return False
        lock = os.open(folder / LOCK, os.O_WRONLY | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(lock)
    return True
