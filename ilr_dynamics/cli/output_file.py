# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Check of the path of an output file, so that nothing but an earlier output is overwritten."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from errno import EISDIR
from pathlib import Path

from ilr_dynamics.exceptions import FileAccessError
from ilr_dynamics.recording.bag_metadata import METADATA_FILE

__all__ = ["check_output_path"]

# First bytes of a file, among which its mark is searched.
HEAD_BYTES = 4096
# Key at the beginning of the metadata of each recording.
OF_RECORDING = b"rosbag2_bagfile_information"


def check_output_path(
    path: str | os.PathLike[str], mark: bytes, recordings: Sequence[str | Path] = ()
) -> None:
    """
    Refuse a path that cannot be written, or where else than an earlier output would be lost.

    Called before the work, so that nobody learns at the end of it that it was in vain.

    Parameters
    ----------
    path : str or path-like
        File to create or replace.
    mark : bytes
        Bytes near the beginning of each output of the same kind.
    recordings : sequence of str or Path
        Recordings that are read; no output may be written into their folders, nor into any other
        that holds a recording.

    Raises
    ------
    FileAccessError
        If the path lies in a recording, is an existing file without the mark, or a folder, or if
        its folder does not exist or no file can be made in it.
    """
    target = Path(path)
    try:
        if "\0" in str(target):
            raise ValueError("it holds a null byte")
        folder = target.parent.resolve(strict=True)
        if target.is_dir():
            raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
        # Tried, as no permission tells of a file system that is read-only or full. It has no name.
        tempfile.TemporaryFile(dir=folder).close()
        inside = [place for place in (folder, *folder.parents) if _is_recording(place, recordings)]
        exists = os.path.lexists(target)
        is_output = exists and target.is_file() and mark in _head(target)
    except (OSError, ValueError) as error:
        raise FileAccessError(
            f"{os.fspath(path)!r} cannot be written ({error}); expected a file in an existing "
            "folder that this program may write to"
        ) from error
    if inside:
        raise FileAccessError(
            f"{target} lies in the recording {inside[0]}; expected a file outside of recordings. "
            "Nothing was written"
        )
    if exists and not is_output:
        raise FileAccessError(
            f"{target} exists, and this program did not write it; expected a new name, or an "
            "earlier output to replace. Nothing was written"
        )


def _is_recording(folder: Path, recordings: Sequence[str | Path]) -> bool:
    metadata = folder / METADATA_FILE
    return any(folder == Path(recording).resolve() for recording in recordings) or (
        metadata.is_file() and OF_RECORDING in _head(metadata)
    )


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(HEAD_BYTES)
