# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Writer of joint states, torques and controller states to a rosbag2."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from numpy.typing import ArrayLike
from rosbags.interfaces import Connection
from rosbags.rosbag2 import StoragePlugin, Writer, WriterError
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from ilr_dynamics.exceptions import RecordingError
from ilr_dynamics.recording.joint_state import JOINT_STATE, encode_joint_state, typestore

__all__ = ["STORAGES", "RecordingWriter"]

STORAGES = tuple(plugin.name.lower() for plugin in StoragePlugin)
BAG_VERSION: Literal[9] = 9
"""Version of the bag's metadata.yaml, as written by ROS 2 Jazzy and newer."""
WRITE_ERRORS = (WriterError, OSError, sqlite3.Error)


class RecordingWriter:
    """
    Rosbag2 of JointState and other messages, open for writing.

    `close` writes the bag's metadata.yaml last: for readers (ours and ROS's) a folder without it
    is an unfinished recording.

    Parameters
    ----------
    uri : str or Path
        Folder to write, which must not exist yet.
    storage : {"mcap", "sqlite3"}
        Format of the storage file.
    annotations : mapping of str to str, optional
        Free text entries for the bag's metadata.

    Raises
    ------
    RecordingError
        If the folder exists or cannot be written, or the storage is unknown.
    """

    def __init__(
        self,
        uri: str | Path,
        storage: str = "mcap",
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        if storage not in STORAGES:
            raise RecordingError(
                f"recordings cannot be stored as {storage!r}; expected {' or '.join(STORAGES)}"
            )
        if not str(uri).strip():
            raise RecordingError("the recording has no URI; expected a folder to write")
        self.path = Path(uri).expanduser()
        self._connections: dict[str, Connection] = {}
        self._counts: Counter[str] = Counter()
        try:
            self._writer = Writer(
                self.path, version=BAG_VERSION, storage_plugin=StoragePlugin[storage.upper()]
            )
            for key, value in (annotations or {}).items():
                self._writer.set_custom_data(key, value)
            self._writer.open()
        except WRITE_ERRORS as error:
            raise RecordingError(
                f"recording {self.path} cannot be written ({error}); expected a new folder"
            ) from error

    @property
    def counts(self) -> Mapping[str, int]:
        """Number of messages written so far, by topic."""
        return dict(self._counts)

    def add_topic(self, topic: str, kind: str = JOINT_STATE, definition: str = "") -> None:
        """
        Declare a topic, whether or not messages follow.

        Parameters
        ----------
        topic : str
            Absolute name.
        kind : str
            Type of its messages.
        definition : str, optional
            Text of that type's .msg file, unless it is one of ROS 2's own.
        """
        if topic not in self._connections:
            types = typestore()
            if definition:
                # A copy, as that of the package's other bags knows nothing of it.
                types = get_typestore(Stores.ROS2_JAZZY)
                types.register(get_types_from_msg(definition, kind))
            self._connections[topic] = self._writer.add_connection(topic, kind, typestore=types)
            self._counts[topic] = 0

    def write(self, topic: str, received: int, data: bytes) -> None:
        """
        Append one serialised message.

        Parameters
        ----------
        topic : str
            Absolute name.
        received : int
            Time of receipt, ns.
        data : bytes
            CDR of the message: a JointState, unless the topic was declared otherwise.

        Raises
        ------
        RecordingError
            If the bag cannot be written, for example because the disk is full.
        """
        self.add_topic(topic)
        try:
            self._writer.write(self._connections[topic], received, data)
        except WRITE_ERRORS as error:
            raise RecordingError(f"recording {self.path} cannot be written: {error}") from error
        self._counts[topic] += 1

    def write_joint_state(
        self,
        topic: str,
        stamp: int,
        names: Iterable[str],
        position: ArrayLike = (),
        velocity: ArrayLike = (),
        effort: ArrayLike = (),
    ) -> None:
        """Append one message from arrays (`encode_joint_state`), with its stamp as receipt."""
        self.write(topic, stamp, encode_joint_state(stamp, names, position, velocity, effort))

    def close(self) -> None:
        """
        Finish the bag.

        Raises
        ------
        RecordingError
            If the end of the bag cannot be written.
        """
        try:
            self._writer.close()
        except WRITE_ERRORS as error:
            raise RecordingError(f"recording {self.path} cannot be finished: {error}") from error

    def abort(self) -> None:
        """Close the files and leave the bag unfinished."""
        self._writer.abort()

    def __enter__(self) -> Self:
        """Return the writer, which is already open."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Finish the bag, or leave it unfinished after an error."""
        if kind is None:
            self.close()
        else:
            self.abort()
