# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Reader of the metadata.yaml of a rosbag2 folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

import yaml

from ilr_dynamics.exceptions import RecordingError
from ilr_dynamics.file_access import open_regular
from ilr_dynamics.recording.message_collector import absolute_topic

__all__ = ["METADATA_FILE", "STORAGE_SUFFIXES", "BagMetadata", "existing_name", "read_metadata"]

METADATA_FILE = "metadata.yaml"
# Largest size of the file; it holds one or two kilobytes per topic.
MAX_BYTES = 1024**2
MAX_FILES = 10_000
NEWEST_VERSION = 9
# Longest part of the file that an error message repeats, in characters.
MAX_SHOWN = 500
STORAGE_SUFFIXES = {".mcap": "mcap", ".db3": "sqlite3"}
STORAGES = tuple(STORAGE_SUFFIXES.values())
PACKED_SUFFIX = ".zstd"
REINDEX = "ros2 bag reindex FOLDER creates it from the files that exist"
COMPRESSION_MODES = ("none", "file", "message")
# The faster loader from libyaml, where it is installed.
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class BagMetadata:
    """
    Metadata of a bag.

    Attributes
    ----------
    storage : str
        "mcap" or "sqlite3".
    files : tuple of str
        Names of the storage files in the folder, in order.
    compression : str
        "none", "file" or "message": whether files or messages were compressed (by zstd).
    types : mapping of str to str
        Message type of each topic.
    counts : mapping of str to int
        Number of messages on each topic.
    annotations : mapping of str to str
        Free text entries.
    """

    storage: str
    files: tuple[str, ...]
    compression: str
    types: Mapping[str, str]
    counts: Mapping[str, int]
    annotations: Mapping[str, str]


def read_metadata(path: Path) -> BagMetadata:
    """
    Read the metadata of a bag.

    Parameters
    ----------
    path : Path
        Path of the file.

    Returns
    -------
    BagMetadata

    Raises
    ------
    RecordingError
        If the file is damaged, too large, or of an unknown version.
    FileAccessError, OSError
        If it cannot be opened.
    """
    with open_regular(path, MAX_BYTES) as file:
        text = file.read(MAX_BYTES)
    try:
        content = _load(text)
        return _metadata(content["rosbag2_bagfile_information"])
    except (yaml.YAMLError, LookupError, TypeError, ValueError, RecursionError) as error:
        raise RecordingError(
            f"its {path.name} is damaged ({type(error).__name__}: {str(error)[:MAX_SHOWN]}); "
            f"{REINDEX}"
        ) from error


def _load(text: bytes) -> Any:
    # Nested aliases could expand a small file to a mapping of any size; rosbag2 writes none.
    for event in yaml.parse(text, Loader=LOADER):
        if isinstance(event, yaml.AliasEvent):
            raise ValueError("it has aliases; expected none")
    return yaml.load(text, Loader=LOADER)


def _metadata(values: Any) -> BagMetadata:
    version = _integer(values["version"], "version")
    if version > NEWEST_VERSION:
        raise ValueError(f"version is {version}; expected at most {NEWEST_VERSION}")
    # In older versions paths are relative to the folder of recording: only the name is used.
    files = tuple(PurePath(path).name for path in values["relative_file_paths"])
    if len(files) > MAX_FILES or len(set(files)) != len(files):
        raise ValueError(f"relative_file_paths must be at most {MAX_FILES}, of different names")
    mode = str(values.get("compression_mode") or "none").lower()
    _check_choice(mode, "compression_mode", COMPRESSION_MODES)
    if mode != "none":
        _check_choice(values["compression_format"], "compression_format", ("zstd",))
    storage = values.get("storage_identifier") or _storage_of(files)
    _check_choice(storage, "storage_identifier", STORAGES)
    types: dict[str, str] = {}
    counts: dict[str, int] = {}
    for entry in values.get("topics_with_message_count") or []:
        topic = entry["topic_metadata"]
        name = absolute_topic(_text(topic["name"], "name"))
        types[name] = _text(topic["type"], "type")
        counts[name] = counts.get(name, 0) + _integer(entry["message_count"], "message_count")
    custom = values.get("custom_data") or {}
    if not isinstance(custom, dict):
        raise ValueError(f"custom_data is {custom!r}; expected a mapping")
    annotations = {_text(key, "key"): _text(value, "value") for key, value in custom.items()}
    return BagMetadata(storage, files, mode, types, counts, annotations)


def _storage_of(files: tuple[str, ...]) -> str:
    """Storage by the names of the files, for metadata that lack it, as after a reindex."""
    suffixes = {PurePath(name.removesuffix(PACKED_SUFFIX)).suffix for name in files}
    if len(suffixes) != 1 or not suffixes <= STORAGE_SUFFIXES.keys():
        raise ValueError(
            f"storage_identifier is empty, and the files are {', '.join(files) or 'none'}; "
            f"expected files that end in {' or '.join(STORAGE_SUFFIXES)}"
        )
    return STORAGE_SUFFIXES[suffixes.pop()]


def _integer(value: object, name: str) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{name} is {value!r}; expected a whole number")
    return value


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{name} is {value!r}; expected a text")
    return value


def _check_choice(value: object, name: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} is {value!r}; expected {' or '.join(choices)}")


def existing_name(path: Path) -> Path:
    """Return the path of a file whose compression tools have changed but not its metadata."""
    if path.exists():
        return path
    other = path.name.removesuffix(PACKED_SUFFIX)
    found = path.with_name(path.name + PACKED_SUFFIX if other == path.name else other)
    return found if found.exists() else path
