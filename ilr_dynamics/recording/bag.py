# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Reader of a rosbag2, a folder or a single file, in sqlite3 or MCAP storage."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from ilr_dynamics.arrays import IndexArray
from ilr_dynamics.exceptions import FileAccessError, RecordingError
from ilr_dynamics.file_access import open_regular, resolve_allowed
from ilr_dynamics.recording.bag_metadata import (
    METADATA_FILE,
    PACKED_SUFFIX,
    REINDEX,
    STORAGE_SUFFIXES,
    BagMetadata,
    existing_name,
    read_metadata,
)
from ilr_dynamics.recording.compression import is_packed, unpack_file
from ilr_dynamics.recording.mcap import read_mcap
from ilr_dynamics.recording.message_collector import BagLimits, MessageCollector, MessageConsumer
from ilr_dynamics.recording.sqlite import read_sqlite

__all__ = [
    "DEFAULT_LIMITS",
    "Bag",
    "Progress",
    "ignore_progress",
    "missing_recording",
    "read_annotations",
    "read_bag",
    "storage_files",
]

DEFAULT_LIMITS = BagLimits()

# Largest share of the free disk space for the temporary copy of a compressed file.
SHARE_OF_DISK = 0.5

# First bytes of the files of a storage (mcap.dev/spec, "Magic"; sqlite.org/fileformat2.html, 1.3).
MAGICS = {b"\x89MCAP": "mcap", b"SQLite format 3\x00": "sqlite3"}
MAGIC_BYTES = max(map(len, MAGICS))

Progress = Callable[[float], None]
"""Callback with the share of a recording that has been read."""


def ignore_progress(share: float) -> None:
    """Discard a report of progress."""


@dataclass(frozen=True)
class Bag:
    """
    Contents of a bag, except for the messages.

    Attributes
    ----------
    types : mapping of str to str
        Message type of every topic in the bag, including those that were not read.
    annotations : mapping of str to str
        Free text entries of the bag's metadata; for a single file those of the bag that contains
        it.
    places : callable of str
        Returns, for each message on a topic, its index among all messages read in the order in
        which they were written. Times of receipt do not give that order, as their clock may be
        set.
    """

    types: Mapping[str, str]
    annotations: Mapping[str, str]
    places: Callable[[str], IndexArray]


def read_bag(
    uri: str | Path,
    consumers: Mapping[str, MessageConsumer],
    limits: BagLimits = DEFAULT_LIMITS,
    directories: Sequence[str | Path] | None = None,
    progress: Progress = ignore_progress,
) -> Bag:
    """
    Read the serialised messages of some topics of a bag.

    Only messages of these topics are decoded, so other topics may have unknown types. The messages
    are passed on while the files are read; none is kept here.

    Parameters
    ----------
    uri : str or Path
        Folder of a rosbag2, or one of its ``.mcap`` or ``.db3`` files.
    consumers : mapping of str to MessageConsumer
        Consumers by absolute topic name. They get the messages in the order of writing; if an
        error is raised, they have got some.
    limits : BagLimits
        Limits beyond which a recording is refused.
    directories : sequence of str or Path, or None
        Allowed directories of the bag and its files, links followed; None: any.
    progress : Progress
        Callback for progress.

    Returns
    -------
    Bag

    Raises
    ------
    RecordingError
        If the bag is missing, unfinished, empty, damaged, truncated or too large.
    FileAccessError
        If the bag or one of its files is outside the allowed directories.
    """
    path = _existing_bag(uri, directories)
    collector = MessageCollector(consumers, limits)
    metadata = None
    # Parsers report damage by many exceptions (struct.error, UnicodeDecodeError, sqlite3.Error,
    # zstd.ZstdError ...): any one means that the file is not a valid bag.
    try:
        if path.is_dir():
            metadata = read_metadata(resolve_allowed(path / METADATA_FILE, directories))
            _read_folder(path, metadata, collector, directories, progress)
        else:
            _read_file(path, STORAGE_SUFFIXES[path.suffix], collector, progress)
            metadata = _metadata_of_file(path, directories)
        collector.flush()
    except (FileAccessError, MemoryError):
        raise
    except RecordingError as error:
        raise RecordingError(f"recording {path} cannot be read: {error}") from error
    except PermissionError as error:
        raise _forbidden(path, error) from error
    except Exception as error:
        raise RecordingError(
            f"recording {path} is damaged or truncated ({_text(error)}); "
            "expected a complete rosbag2"
        ) from error
    if collector.is_empty:
        raise RecordingError(f"recording {path} is empty; expected messages")
    declared = {} if metadata is None else metadata.types
    annotations = {} if metadata is None else metadata.annotations
    return Bag(
        MappingProxyType({**declared, **collector.types}),
        MappingProxyType(dict(annotations)),
        collector.places,
    )


def read_annotations(
    uri: str | Path, directories: Sequence[str | Path] | None = None
) -> Mapping[str, str]:
    """
    Return the free text entries of a bag's metadata (`Bag`), without reading its messages.

    Parameters
    ----------
    uri : str or Path
        Folder of a rosbag2, or one of its ``.mcap`` or ``.db3`` files.
    directories : sequence of str or Path, or None
        Allowed directories of the bag and its metadata, links followed; None: any.

    Returns
    -------
    mapping of str to str

    Raises
    ------
    RecordingError
        If the bag is missing or its metadata are damaged.
    FileAccessError
        If it is outside the allowed directories.
    """
    path = _existing_bag(uri, directories)
    try:
        if path.is_dir():
            return read_metadata(resolve_allowed(path / METADATA_FILE, directories)).annotations
        metadata = _metadata_of_file(path, directories)
    except RecordingError as error:
        raise RecordingError(f"recording {path} cannot be read: {error}") from error
    except PermissionError as error:
        raise _forbidden(path, error) from error
    return {} if metadata is None else metadata.annotations


def storage_files(uri: str | Path, directories: Sequence[str | Path] | None = None) -> list[Path]:
    """Return the paths of a bag's files of messages, in order; errors as of `read_annotations`."""
    path = _existing_bag(uri, directories)
    if not path.is_dir():
        return [path]
    metadata = read_metadata(resolve_allowed(path / METADATA_FILE, directories))
    # A link in the folder may lead elsewhere.
    return [resolve_allowed(existing_name(path / name), directories) for name in metadata.files]


def missing_recording(uri: str | Path) -> RecordingError:
    """Return the error that nothing is at a URI."""
    return RecordingError(
        f"recording {str(uri)!r} does not exist; expected the folder of a rosbag2 or one of "
        "its .mcap or .db3 files"
    )


def _existing_bag(uri: str | Path, directories: Sequence[str | Path] | None) -> Path:
    """Return the path of the bag, if the file or folder at the URI can be one."""
    if not str(uri).strip():
        raise missing_recording(uri)
    path = resolve_allowed(uri, directories)
    if path.is_dir():
        _check_folder(path)
    elif not path.exists():
        raise missing_recording(uri)
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
    if (path / METADATA_FILE).exists():
        return
    storage = sorted(file.name for file in path.iterdir() if file.suffix in STORAGE_SUFFIXES)
    if storage:
        raise RecordingError(
            f"recording {path} is unfinished: it holds {', '.join(storage)} but no "
            f"{METADATA_FILE}; expected a recording that was closed ({REINDEX})"
        )
    raise RecordingError(
        f"folder {path} holds no recording; expected a {METADATA_FILE} and .mcap or .db3 files"
    )


def _read_folder(
    folder: Path,
    metadata: BagMetadata,
    collector: MessageCollector,
    directories: Sequence[str | Path] | None,
    progress: Progress,
) -> None:
    topics = collector.topics
    expected = sum(metadata.counts.get(topic, 0) for topic in topics)
    collector.expect(metadata.counts)
    if metadata.compression == "message":
        collector.message_compression = "zstd"
    # A link in the folder may lead elsewhere.
    paths = [resolve_allowed(existing_name(folder / name), directories) for name in metadata.files]
    sizes = [path.stat().st_size for path in paths]
    storages = set()
    _check_size(sum(sizes), collector)
    for number, path in enumerate(paths):
        before, size, whole = sum(sizes[:number]), sizes[number], max(sum(sizes), 1)

        def report(
            share: float, before: int = before, size: int = size, whole: int = whole
        ) -> None:
            progress((before + share * size) / whole)

        with _unpacked(path, collector) as unpacked:
            storages.add(_read_file(unpacked, metadata.storage, collector, report))
    # Only for SQLite, where nothing else shows that messages are missing. An MCAP file marks its
    # end, and some tools leave wrong counts in its metadata.
    if collector.n_kept < expected and storages != {"mcap"}:
        raise RecordingError(
            f"truncated: {collector.n_kept} messages on {', '.join(topics)}; expected {expected} "
            f"by its {METADATA_FILE} (if that is wrong: {REINDEX})"
        )


def _metadata_of_file(path: Path, directories: Sequence[str | Path] | None) -> BagMetadata | None:
    """
    Metadata in the folder of a storage file, if they describe it and can be read; else None.

    They describe it if they name it or if it was renamed: then the only file they name is missing.
    """
    metadata_path = path.parent / METADATA_FILE
    if not metadata_path.exists():
        return None
    try:
        metadata = read_metadata(resolve_allowed(metadata_path, directories))
    except (RecordingError, PermissionError):
        # Naming the storage file itself is a way to read a bag whose metadata cannot be read.
        return None
    # As for folders, tools may have compressed or unpacked it but not changed the metadata.
    names = {name.removesuffix(PACKED_SUFFIX) for name in metadata.files}
    named = path.name.removesuffix(PACKED_SUFFIX) in names
    renamed = len(names) == 1 and not existing_name(path.parent / metadata.files[0]).exists()
    return metadata if named or renamed else None


def _check_size(size: int, collector: MessageCollector) -> None:
    limit = collector.limits.max_bytes
    if size > limit:
        raise RecordingError(f"it has {size} bytes; expected at most {limit}")


def _read_file(path: Path, storage: str, collector: MessageCollector, progress: Progress) -> str:
    """
    Read a file and return its storage.

    That is what its first bytes say: names and metadata may be wrong, as of a converted bag.
    """
    _check_size(path.stat().st_size, collector)
    # SQLite opens the file by itself, but pipes and devices are refused here for both formats.
    with open_regular(path, collector.limits.max_bytes) as file:
        head = file.read(MAGIC_BYTES)
        storage = next((name for magic, name in MAGICS.items() if head.startswith(magic)), storage)
        if storage == "mcap":
            read_mcap(file, collector, progress)
        else:
            read_sqlite(path, collector, progress)
    return storage


@contextmanager
def _unpacked(path: Path, collector: MessageCollector) -> Iterator[Path]:
    """Yield the path of the file, or of a temporary unpacked copy if it is compressed."""
    limit = collector.limits.max_bytes
    with open_regular(path, limit) as packed, tempfile.NamedTemporaryFile() as file:
        if not is_packed(packed):
            yield path
            return
        # Leave room on the disk for other programs.
        room = int(SHARE_OF_DISK * shutil.disk_usage(file.name).free)
        collector.count_unpacked(unpack_file(packed, file, min(limit, room)))
        file.flush()
        yield Path(file.name)


def _forbidden(path: Path, error: OSError) -> RecordingError:
    return RecordingError(f"recording {path} may not be read ({error}); expected one that may")


def _text(error: Exception) -> str:
    return str(error) or type(error).__name__
