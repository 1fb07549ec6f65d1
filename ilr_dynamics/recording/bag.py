# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Raw messages of a rosbag2, in sqlite3 or MCAP storage, folder or single file."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from rosbags.rosbag2 import Reader

from ..exceptions import RecordingError

__all__ = ["Bag", "BagLimits", "read_bag"]

STORAGE_SUFFIXES = (".mcap", ".db3")


@dataclass(frozen=True)
class BagLimits:
    """
    What a recording may cost to read.

    Attributes
    ----------
    max_bytes : int
        Size of the files of the bag, in bytes.
    max_messages : int
        Messages on the topics that are read; the default holds more than a quarter of an hour
        of states and torques at 500 Hz in about 0.5 GB of memory.
    """

    max_bytes: int = 2 * 1024**3
    max_messages: int = 1_000_000


DEFAULT_LIMITS = BagLimits()


@dataclass(frozen=True)
class Bag:
    """
    Serialised messages of a bag.

    Attributes
    ----------
    types : mapping of str to str
        Message type of every topic in the bag, also of those that were not read.
    messages : mapping of str to list of bytes
        CDR of each message on the topics asked for, in the order of their receipt; a topic
        that is not in the bag has an empty list.
    annotations : mapping of str to str
        Free text entries of the bag's metadata; empty for a single file.
    """

    types: Mapping[str, str]
    messages: Mapping[str, list[bytes]]
    annotations: Mapping[str, str]


def read_bag(uri: str | Path, topics: Collection[str], limits: BagLimits = DEFAULT_LIMITS) -> Bag:
    """
    Read the serialised messages of some topics of a bag.

    Only the topics asked for are looked into, so types unknown here do no harm elsewhere in the
    bag.

    Parameters
    ----------
    uri : str or Path
        Folder of a rosbag2, or one of its ``.mcap`` or ``.db3`` files.
    topics : collection of str
        Absolute topic names.
    limits : BagLimits
        Refuse larger recordings.

    Returns
    -------
    Bag

    Raises
    ------
    RecordingError
        The bag is missing, unfinished, empty, damaged, truncated or too large.
    """
    path = _existing_bag(uri)
    _check_size(path, limits)
    # rosbags reports damage by whatever its parsers trip over (struct.error, TypeError,
    # AssertionError, apsw.Error ...): any exception means that the file is not a sound bag.
    try:
        with Reader(path) as reader:
            bag = _read_messages(reader, topics, path, limits)
    except RecordingError:
        raise
    except Exception as error:
        raise RecordingError(
            f"recording {path} is damaged or truncated ({_text(error)}); "
            "expected a complete rosbag2"
        ) from error
    return bag


def _existing_bag(uri: str | Path) -> Path:
    """Path of the bag, if there is something at the URI that can be one."""
    path = Path(uri).expanduser()
    if not str(uri).strip() or not path.exists():
        raise RecordingError(
            f"recording {str(uri)!r} does not exist; expected the folder of a rosbag2 or one of "
            "its .mcap or .db3 files"
        )
    if path.is_dir():
        _check_folder(path)
    elif path.suffix not in STORAGE_SUFFIXES:
        raise RecordingError(
            f"recording {path} is a {path.suffix or 'nameless'} file; expected the folder of a "
            "rosbag2 or one of its .mcap or .db3 files"
        )
    elif path.stat().st_size == 0:
        raise RecordingError(f"recording {path} is an empty file; expected a rosbag2")
    return path


def _check_folder(path: Path) -> None:
    """Refuse folders without metadata, which rosbag2 writes when a recording is closed."""
    if (path / "metadata.yaml").exists():
        return
    storage = sorted(file.name for file in path.iterdir() if file.suffix in STORAGE_SUFFIXES)
    if storage:
        raise RecordingError(
            f"recording {path} is unfinished: it holds {', '.join(storage)} but no metadata.yaml; "
            "expected a recording that was closed"
        )
    raise RecordingError(
        f"folder {path} holds no recording; expected a metadata.yaml and .mcap or .db3 files"
    )


def _check_size(path: Path, limits: BagLimits) -> None:
    files = [file for file in path.iterdir() if file.is_file()] if path.is_dir() else [path]
    size = sum(file.stat().st_size for file in files)
    if size > limits.max_bytes:
        raise RecordingError(
            f"recording {path} has {size} bytes; expected at most {limits.max_bytes}"
        )


def _read_messages(reader: Reader, topics: Collection[str], path: Path, limits: BagLimits) -> Bag:
    if reader.message_count == 0:
        raise RecordingError(f"recording {path} is empty; expected messages")
    wanted = [connection for connection in reader.connections if connection.topic in topics]
    expected = sum(connection.msgcount for connection in wanted)
    if expected > limits.max_messages:
        raise RecordingError(
            f"recording {path} has {expected} messages on {', '.join(topics)}; "
            f"expected at most {limits.max_messages}"
        )
    messages: dict[str, list[bytes]] = {topic: [] for topic in topics}
    if wanted:
        for connection, _, data in reader.messages(wanted):
            messages[connection.topic].append(bytes(data))
    found = sum(len(of_topic) for of_topic in messages.values())
    if found != expected:
        raise RecordingError(
            f"recording {path} is truncated: {found} messages on {', '.join(topics)}; "
            f"expected {expected}"
        )
    types = {connection.topic: connection.msgtype for connection in reader.connections}
    annotations = getattr(reader.storage.metadata, "custom", None) or {}
    return Bag(types, MappingProxyType(messages), MappingProxyType(dict(annotations)))


def _text(error: Exception) -> str:
    return str(error) or type(error).__name__
