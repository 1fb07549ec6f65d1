# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Bags that paths, folders and globs stand for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from ilr_dynamics.exceptions import FileAccessError, RecordingError
from ilr_dynamics.file_access import resolve_allowed
from ilr_dynamics.recording.bag import missing_recording
from ilr_dynamics.recording.bag_metadata import METADATA_FILE, STORAGE_SUFFIXES

__all__ = ["find_bags"]

WILDCARDS = re.compile(r"[*?\[]")
ANY_FOLDERS = "**"


def find_bags(
    patterns: Sequence[str | Path], directories: Sequence[str | Path] | None = None
) -> list[str]:
    """
    Return the bags that paths, folders and globs stand for.

    A path of a bag (folder or file) stands for itself. Any other folder stands for the bags in it
    and in its folders, but for hidden ones, and a glob for the bags that it matches or that are in
    folders that it matches; ``**`` is any number of folders. Names are in natural order: run2
    comes before run10.

    Parameters
    ----------
    patterns : sequence of str or Path
        Paths and globs; relative ones and those that begin with ``~`` as in a shell.
    directories : sequence of str or Path, or None
        Allowed directories; None: any. No folder outside is looked into.

    Returns
    -------
    list of str
        Paths, in the order of the patterns. A bag that several name, also by a link, is there
        once, by its first name; what lies in the folder of another is a part of that one.

    Raises
    ------
    RecordingError
        If a pattern stands for no bag, or a folder cannot be read.
    FileAccessError
        If what a pattern stands for is outside the allowed directories, links followed.
    """
    found: dict[Path, str] = {}
    for pattern in patterns:
        for bag in _bags_of(str(pattern), directories):
            found.setdefault(resolve_allowed(bag, directories), bag)
    return [bag for path, bag in found.items() if not any(up in found for up in path.parents)]


def _bags_of(pattern: str, directories: Sequence[str | Path] | None) -> list[str]:
    """Bags of one pattern, perhaps some of them more than once."""
    if not pattern.strip():
        raise missing_recording(pattern)
    path = resolve_allowed(pattern, directories)
    if path.is_dir() and not _is_bag(path):
        bags = [str(bag) for bag in _bags_in(Path(pattern).expanduser(), directories, set())]
        if not bags:
            raise RecordingError(
                f"folder {path} holds no recording, nor do the folders in it; expected the folder "
                "of a rosbag2, or one of such folders"
            )
        return bags
    if path.exists():
        return [pattern]
    if not WILDCARDS.search(pattern):
        raise missing_recording(pattern)
    bags = [str(bag) for bag in _matched_bags(Path(pattern).expanduser(), directories)]
    if not bags:
        raise RecordingError(
            f"no recording matches {pattern!r}; expected a pattern of folders of rosbag2 or of "
            "their .mcap or .db3 files"
        )
    return bags


def _is_bag(folder: Path) -> bool:
    """Whether a folder holds a bag, perhaps an unfinished one; never bags in folders of it."""
    try:
        return (folder / METADATA_FILE).exists() or any(
            entry.suffix in STORAGE_SUFFIXES and entry.is_file() for entry in folder.iterdir()
        )
    except OSError as error:
        raise _unreadable(folder, error) from error


def _bags_in(
    folder: Path, directories: Sequence[str | Path] | None, seen: set[Path]
) -> Iterator[Path]:
    """Bags in a folder and in its folders; what was seen is passed by, as links may lead back."""
    real = resolve_allowed(folder, directories)
    if real in seen:
        return
    seen.add(real)
    if _is_bag(real):
        yield folder
        return
    for inner in _folders(folder, directories):
        yield from _bags_in(inner, directories, seen)


def _matched_bags(pattern: Path, directories: Sequence[str | Path] | None) -> Iterator[Path]:
    parts = pattern.parts
    first = next(k for k, part in enumerate(parts) if WILDCARDS.search(part))
    for match in _matches(Path(*parts[:first]), parts[first:], directories, set()):
        if match.is_dir():
            yield from _bags_in(match, directories, set())
        elif match.suffix in STORAGE_SUFFIXES:
            yield match


def _matches(
    folder: Path,
    parts: Sequence[str],
    directories: Sequence[str | Path] | None,
    seen: set[tuple[Path, int]],
) -> Iterator[Path]:
    """Files and folders below a folder that the remaining parts of a glob match."""
    real = resolve_allowed(folder, directories)
    # A link may lead back to a folder above.
    if (real, len(parts)) in seen:
        return
    seen.add((real, len(parts)))
    if not parts:
        yield folder
    elif parts[0] == ANY_FOLDERS:
        yield from _matches(folder, parts[1:], directories, seen)
        for inner in _folders(folder, directories):
            yield from _matches(inner, parts, directories, seen)
    elif not WILDCARDS.search(parts[0]):
        if (folder / parts[0]).exists():
            yield from _matches(folder / parts[0], parts[1:], directories, seen)
    elif real.is_dir():
        for entry in _entries(folder, directories):
            is_meant = parts[0].startswith(".") or not entry.name.startswith(".")
            if is_meant and fnmatchcase(entry.name, parts[0]):
                yield from _matches(entry, parts[1:], directories, seen)


def _folders(folder: Path, directories: Sequence[str | Path] | None) -> list[Path]:
    """Folders in a folder, but for hidden ones."""
    if not folder.is_dir():
        return []
    entries = _entries(folder, directories)
    return [entry for entry in entries if not entry.name.startswith(".") and entry.is_dir()]


def _entries(folder: Path, directories: Sequence[str | Path] | None) -> list[Path]:
    """What is in a folder, in natural order."""
    real = resolve_allowed(folder, directories)
    try:
        names = [entry.name for entry in real.iterdir()]
    except OSError as error:
        raise _unreadable(real, error) from error
    return [folder / name for name in sorted(names, key=_natural_order)]


def _natural_order(name: str) -> tuple[list[tuple[int, str]], str]:
    """Key by which run2 comes before run10; names with equal numbers by their text."""
    parts = re.split(r"([0-9]+)", name)
    key = [(int(part), "") if k % 2 else (0, part) for k, part in enumerate(parts)]
    return key, name


def _unreadable(folder: Path, error: OSError) -> FileAccessError:
    return FileAccessError(
        f"the folder {folder} cannot be read ({error.strerror}); expected one to look into"
    )
