# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Which files may be opened when somebody else names them, and how."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from ilr_dynamics.exceptions import FileAccessError

__all__ = ["open_regular", "resolve_allowed"]

# Characters of a path that an error repeats.
MAX_SHOWN = 200


def resolve_allowed(path: str | Path, directories: Sequence[str | Path] | None) -> Path:
    """
    Say where a path leads, if that is inside one of some directories.

    Parameters
    ----------
    path : str or Path
        Absolute, relative to the working directory, or starting with ``~``; what it names need
        not exist.
    directories : sequence of str or Path, or None
        Allowed directories, written in the same ways; None allows everything.

    Returns
    -------
    Path
        Absolute and free of symbolic links and ``..``: to be opened in place of `path`, so that
        what was checked is what is opened.

    Raises
    ------
    FileAccessError
        The path leads elsewhere, cannot be followed or cannot be a path at all.
    """
    resolved = _resolve(path)
    if directories is None:
        return resolved
    allowed = [_resolve(directory) for directory in directories]
    if any(resolved.is_relative_to(directory) for directory in allowed):
        return resolved
    leads = "" if str(resolved) == str(path) else f" leads to {resolved}, which"
    listed = ", ".join(map(str, allowed)) or "(no directory)"
    raise FileAccessError(
        f"{str(path)!r}{leads} is outside the allowed directories (files.directories); "
        f"expected a path inside {listed}"
    )


def _resolve(path: str | Path) -> Path:
    try:
        resolved = Path(path).expanduser().resolve()
        # A name that is too long, or a folder that must not be entered.
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            resolved.lstat()
        return resolved
    # A loop of links, or no home directory: RuntimeError; a null byte or a lone surrogate:
    # ValueError.
    except (OSError, RuntimeError, ValueError) as error:
        raise FileAccessError(
            f"{_shortened(str(path))!r} cannot be reached ({_shortened(str(error))}); "
            "expected the path of a file"
        ) from error


def _shortened(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."


def open_regular(path: Path, max_bytes: int) -> BinaryIO:
    """
    Open a file for reading without waiting for it, and only if it is not too large.

    Parameters
    ----------
    path : Path
        What to open. Pipes and devices, which may block or never end, are refused.
    max_bytes : int
        Largest size, in bytes.

    Raises
    ------
    OSError
        The file cannot be opened.
    FileAccessError
        It is no regular file or too large.
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
