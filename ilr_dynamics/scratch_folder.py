# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Temporary folders of a process, removed later if the process was killed."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path

__all__ = ["ScratchFolder"]

LOCK = "lock"


class ScratchFolder:
    """
    New folder for what is not kept.

    A killed process cannot remove its folder; the next process that makes a folder with the same
    prefix in the same place does. A process holds a lock in its folder, which the kernel releases
    when it ends. On a file system without locks a killed process leaves its folder.

    Parameters
    ----------
    prefix : str
        Beginning of the folder's name.
    parent : Path, optional
        Where it is made; by default the system's directory of temporary files.

    Attributes
    ----------
    path : Path
        Path of the folder.
    """

    def __init__(self, prefix: str, parent: Path | None = None) -> None:
        parent = Path(tempfile.gettempdir()) if parent is None else parent
        _remove_abandoned(parent, prefix)
        self.path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        unfinished = self.path / f"new_{LOCK}"
        self._lock = os.open(unfinished, os.O_CREAT | os.O_WRONLY, 0o600)
        # Without a lock nobody can tell whether the folder is in use: it gets none to be found.
        with contextlib.suppress(OSError):
            fcntl.flock(self._lock, fcntl.LOCK_EX)
            # Renamed only now, so that no other process finds a lock that is not held yet.
            unfinished.rename(self.path / LOCK)

    def close(self) -> None:
        """Remove the folder and all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def _remove_abandoned(parent: Path, prefix: str) -> None:
    for folder in parent.glob(f"{prefix}*"):
        if _is_abandoned(folder):
            shutil.rmtree(folder, ignore_errors=True)


def _is_abandoned(folder: Path) -> bool:
    """Whether the folder belongs to this user and to a process that has ended."""
    try:
        # Leave alone the folder of another user, or a link in its place.
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
