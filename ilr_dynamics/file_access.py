# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Safe opening of files named from outside, such as in a service request."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from ilr_dynamics.exceptions import FileAccessError

__all__ = ["open_regular", "resolve_allowed"]

# Longest part of a path that an error message repeats, in characters.
MAX_SHOWN = 200


def resolve_allowed(path: str | Path, directories: Sequence[str | Path] | None) -> Path:
    """
    Resolve a path and check that it is inside one of the allowed directories.

    Parameters
    ----------
    path : str or Path
        Absolute path, or one relative to the working directory or starting with ``~``. It need
        not exist.
    directories : sequence of str or Path, or None
        Allowed directories, written in the same ways; None allows everything.

    Returns
    -------
    Path
        Absolute path without symbolic links and ``..``. Open this one in place of `path`: it is
        the one that was checked.

    Raises
    ------
    FileAccessError
        If the path leads outside the directories, cannot be resolved or is not a valid path.
    """
    resolved = _resolve(path)
    if directories is None:
        return resolved
    allowed = [_resolve(directory) for directory in directories]
    if any(resolved.is_relative_to(directory) for directory in allowed):
        return resolved
    leads = "" if str(resolved) == str(path) else f" leads to {resolved}, which"
    listed = ", ".join(dict.fromkeys(map(str, allowed))) or "(no directory)"
    raise FileAccessError(
        f"{str(path)!r}{leads} is outside the allowed directories (files.directories); "
        f"expected a path inside {listed}"
    )


def _resolve(path: str | Path) -> Path:
    try:
        resolved = Path(path).expanduser().resolve()
        # Raises for a name that is too long or a folder that must not be entered.
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            resolved.lstat()
        return resolved
    # RuntimeError: a loop of links, or no home directory. ValueError: a null byte or a lone
    # surrogate.
    except (OSError, RuntimeError, ValueError) as error:
        raise FileAccessError(
            f"{_shortened(str(path))!r} cannot be reached ({_shortened(str(error))}); "
            "expected the path of a file"
        ) from error


def _shortened(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."


def open_regular(path: Path, max_bytes: int) -> BinaryIO:
    """
    Open a regular file of limited size for reading, without blocking.

    Parameters
    ----------
    path : Path
        File to open. Pipes and devices, which may block or never end, are refused.
    max_bytes : int
        Largest size, in bytes.

    Returns
    -------
    binary file

    Raises
    ------
    OSError
        If the file cannot be opened.
    FileAccessError
        If it is not a regular file or too large.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise FileAccessError(f"{path} is no regular file; expected one")
        if status.st_size > max_bytes:
            raise FileAccessError(
                f"{path} has {status.st_size} bytes; expected at most {max_bytes}"
            )
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise
