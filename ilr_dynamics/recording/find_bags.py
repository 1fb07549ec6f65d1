# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Bags that paths, folders and globs stand for."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
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
    patterns: Sequence[str | Path],
    directories: Sequence[str | Path] | None = None,
    note: Callable[[str], None] = lambda text: None,
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
    note : callable
        Called with what a person should know: what lies on the way, by no name of a pattern, and
        is passed by, as it cannot be read or is outside the allowed directories.

    Returns
    -------
    list of str
        Paths, in the order of the patterns. A bag that several name, also by a link, is there
        once, by its first name; what lies in the folder of another is a part of that one.

    Raises
    ------
    RecordingError
        If a pattern stands for no bag.
    FileAccessError
        If what a pattern names is outside the allowed directories, links followed, or cannot be
        read; also if all that it stands for is.
    """
    search = _Search(directories)
    found: dict[Path, str] = {}
    for pattern in patterns:
        for path, bag in search.bags_of(str(pattern)):
            found.setdefault(path, bag)
    for text in dict.fromkeys(map(str, search.passed_by)):
        note(f"passed by: {text}")
    return [bag for path, bag in found.items() if not any(up in found for up in path.parents)]


@dataclass(frozen=True)
class _Search:
    """
    Search for bags.

    Parameters
    ----------
    directories : sequence of str or Path, or None
        Allowed directories; None: any.
    passed_by : list of FileAccessError
        Why what was found on the way was not looked into.
    """

    directories: Sequence[str | Path] | None
    passed_by: list[FileAccessError] = field(default_factory=list)

    def bags_of(self, pattern: str) -> list[tuple[Path, str]]:
        """Bags of one pattern, some perhaps repeatedly: their paths, links followed, and names."""
        if not pattern.strip():
            raise missing_recording(pattern)
        path, before = resolve_allowed(pattern, self.directories), len(self.passed_by)
        if _is_folder(path) and not _is_bag(path):
            bags = list(self._bags_in(Path(pattern).expanduser(), set()))
            missing = (
                f"folder {path} holds no recording, nor do the folders in it; expected the folder "
                "of a rosbag2, or one of such folders"
            )
        elif _exists(path):
            return [(path, pattern)]
        elif not WILDCARDS.search(pattern):
            raise missing_recording(pattern)
        else:
            bags = list(self._matched_bags(Path(pattern).expanduser()))
            missing = (
                f"no recording matches {pattern!r}; expected a pattern of folders of rosbag2 or "
                "of their .mcap or .db3 files"
            )
        if not bags:
            raise next(iter(self.passed_by[before:]), RecordingError(missing))
        return [(real, str(bag)) for real, bag in bags]

    @contextmanager
    def _passing_by(self) -> Iterator[None]:
        """Go on after what nobody has named and cannot be looked into."""
        try:
            yield
        except FileAccessError as error:
            self.passed_by.append(error)

    def _bags_in(self, folder: Path, seen: set[Path]) -> Iterator[tuple[Path, Path]]:
        """Bags in a folder and in its folders; what was seen is passed by, as links lead back."""
        real = resolve_allowed(folder, self.directories)
        if real in seen:
            return
        seen.add(real)
        if _is_bag(real):
            yield real, folder
            return
        for inner in self._folders(folder):
            with self._passing_by():
                yield from self._bags_in(inner, seen)

    def _matched_bags(self, pattern: Path) -> Iterator[tuple[Path, Path]]:
        parts = pattern.parts
        first = next(k for k, part in enumerate(parts) if WILDCARDS.search(part))
        for match in self._matches(Path(*parts[:first]), parts[first:], set()):
            with self._passing_by():
                real = resolve_allowed(match, self.directories)
                if _is_folder(real):
                    yield from self._bags_in(match, set())
                elif match.suffix in STORAGE_SUFFIXES:
                    yield real, match

    def _matches(
        self, folder: Path, parts: Sequence[str], seen: set[tuple[Path, int]]
    ) -> Iterator[Path]:
        """Files and folders below a folder that the remaining parts of a glob match."""
        real = resolve_allowed(folder, self.directories)
        # A link may lead back to a folder above.
        if (real, len(parts)) in seen:
            return
        seen.add((real, len(parts)))
        if not parts:
            yield folder
        elif parts[0] == ANY_FOLDERS:
            with self._passing_by():
                yield from self._matches(folder, parts[1:], seen)
            for inner in self._folders(folder):
                with self._passing_by():
                    yield from self._matches(inner, parts, seen)
        elif not WILDCARDS.search(parts[0]):
            if _exists(folder / parts[0]):
                yield from self._matches(folder / parts[0], parts[1:], seen)
        elif _is_folder(real):
            for entry in self._entries(folder):
                is_meant = parts[0].startswith(".") or not entry.name.startswith(".")
                if is_meant and fnmatchcase(entry.name, parts[0]):
                    with self._passing_by():
                        yield from self._matches(entry, parts[1:], seen)

    def _folders(self, folder: Path) -> list[Path]:
        """Folders in a folder, but for hidden ones."""
        if not _is_folder(folder):
            return []
        folders = []
        for entry in self._entries(folder):
            with self._passing_by():
                if not entry.name.startswith(".") and _is_folder(entry):
                    folders.append(entry)
        return folders

    def _entries(self, folder: Path) -> list[Path]:
        """What is in a folder, in natural order."""
        real = resolve_allowed(folder, self.directories)
        try:
            names = os.listdir(real)
        except OSError as error:
            raise _unreadable(real, error) from error
        return [folder / name for name in sorted(names, key=_natural_order)]


def _is_bag(folder: Path) -> bool:
    """Whether a folder holds a bag, perhaps an unfinished one; never bags in folders of it."""
    try:
        return _mode(folder / METADATA_FILE) is not None or any(
            Path(name).suffix in STORAGE_SUFFIXES and stat.S_ISREG(_mode(folder / name) or 0)
            for name in os.listdir(folder)
        )
    except OSError as error:
        raise _unreadable(folder, error) from error


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(_mode(path) or 0)
    except OSError as error:
        raise _unreadable(path, error) from error


def _exists(path: Path) -> bool:
    try:
        return _mode(path) is not None
    except OSError as error:
        raise _unreadable(path, error) from error


def _mode(path: Path) -> int | None:
    """
    Mode of what is at a path, links followed; None if nothing is; OSError if that is not known.

    Methods of `Path` differ in what they raise between versions of Python.
    """
    try:
        return path.stat().st_mode
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            raise
    # A null byte or a lone surrogate.
    except ValueError:
        pass
    return None


def _natural_order(name: str) -> tuple[list[tuple[int, str]], str]:
    """Key by which run2 comes before run10; names with equal numbers by their text."""
    parts = re.split(r"([0-9]+)", name)
    key = [(int(part), "") if k % 2 else (0, part) for k, part in enumerate(parts)]
    return key, name


def _unreadable(folder: Path, error: OSError) -> FileAccessError:
    return FileAccessError(
        f"{folder} cannot be read ({error.strerror}); expected what may be looked into"
    )
