# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Messages as they are found in the files of a bag, counted before they are kept."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ..exceptions import RecordingError
from .compression import unpack

__all__ = ["BagLimits", "MessageCollector", "absolute_topic"]

MAX_NAME = 1024
MAX_TOPICS = 10_000


@dataclass(frozen=True)
class BagLimits:
    """
    What a recording may cost to read.

    Attributes
    ----------
    max_bytes : int
        Size of the files of the bag, and of what they hold when it is unpacked, in bytes.
    max_messages : int
        Messages on the topics that are read; the default holds more than a quarter of an hour
        of states and torques at 500 Hz in about 0.5 GB of memory.
    max_message_bytes : int
        Size of one message on these topics, in bytes; the default holds a joint state of a
        thousand joints.
    max_kept_bytes : int
        Size of all messages on these topics together, in bytes.
    """

    max_bytes: int = 2 * 1024**3
    max_messages: int = 1_000_000
    max_message_bytes: int = 64 * 1024
    max_kept_bytes: int = 1024**3


def absolute_topic(name: str) -> str:
    """Name of a topic with its leading slash, which a bag written by ROS 2's API may lack."""
    return "/" + name.lstrip("/")


class MessageCollector:
    """
    Takes topics and messages as a storage file gives them.

    Parameters
    ----------
    topics : collection of str
        Topics whose messages are kept.
    limits : BagLimits
        Refuse more.

    Attributes
    ----------
    types : dict of str to str
        Types of all topics found.
    is_empty : bool
        Whether no message was found on any topic.
    message_compression : str
        How each message is compressed (`unpack`).
    """

    def __init__(self, topics: Collection[str], limits: BagLimits) -> None:
        self.limits = limits
        self.topics = tuple(topics)
        self.message_compression = ""
        self.types: dict[str, str] = {}
        self.is_empty = True
        self._messages: dict[str, list[tuple[int, int, bytes]]] = {
            topic: [] for topic in self.topics
        }
        self._n_kept = 0
        self._bytes_kept = 0
        self._bytes_unpacked = 0

    @property
    def n_kept(self) -> int:
        """Number of messages kept."""
        return self._n_kept

    def add_topic(self, name: str, msgtype: str, serialization: str) -> str | None:
        """
        Note a topic and its type; return its absolute name if its messages are wanted, else None.

        Raises
        ------
        RecordingError
            It is wanted but not serialised as CDR, has another type elsewhere in the bag, or
            there are too many topics.
        """
        if max(len(name), len(msgtype)) > MAX_NAME:
            raise RecordingError(f"a topic or type has a name of more than {MAX_NAME} characters")
        if len(self.types) >= MAX_TOPICS and absolute_topic(name) not in self.types:
            raise RecordingError(f"it has more topics than the allowed {MAX_TOPICS}")
        name = absolute_topic(name)
        wanted = name in self._messages
        if wanted and serialization != "cdr":
            raise RecordingError(f"{name} is serialised as {serialization!r}; expected 'cdr'")
        if wanted and self.types.get(name, msgtype) != msgtype:
            raise RecordingError(
                f"{name} has the types {self.types[name]} and {msgtype}; expected one"
            )
        self.types[name] = msgtype
        return name if wanted else None

    def count_unpacked(self, size: int) -> None:
        """Note that so many bytes were unpacked; RecordingError if they are too many in all."""
        self._bytes_unpacked += size
        if self._bytes_unpacked > self.limits.max_bytes:
            raise RecordingError(
                f"it unpacks to more bytes than the allowed {self.limits.max_bytes}"
            )

    def check_count(self, n_messages: int) -> None:
        """Refuse so many messages with a RecordingError if they are too many."""
        if n_messages > self.limits.max_messages:
            raise RecordingError(
                f"it has {n_messages} messages on {', '.join(self.topics)}; "
                f"expected at most {self.limits.max_messages}"
            )

    def check_message(self, topic: str, size: int) -> None:
        """Refuse a message of this size, in bytes, before it is read; RecordingError."""
        if size > self.limits.max_message_bytes:
            raise RecordingError(
                f"a message on {topic} has {size} bytes; "
                f"expected at most {self.limits.max_message_bytes}"
            )

    def add(self, topic: str, received: int, data: bytes) -> None:
        """
        Keep a message.

        Parameters
        ----------
        topic : str
            One of those wanted.
        received : int
            Time of receipt, ns.
        data : bytes
            CDR.

        Raises
        ------
        RecordingError
            It is too large, or there are too many.
        """
        self.check_message(topic, len(data))
        data = unpack(data, self.message_compression, self.limits.max_message_bytes)
        self._n_kept += 1
        self.check_count(self._n_kept)
        self._bytes_kept += len(data)
        if self._bytes_kept > self.limits.max_kept_bytes:
            raise RecordingError(
                f"it has more than {self.limits.max_kept_bytes} bytes of messages on "
                f"{', '.join(self.topics)}; expected at most as many"
            )
        self._messages[topic].append((received, self._n_kept, data))

    def in_order(self) -> dict[str, list[bytes]]:
        """Messages of each topic in the order of their receipt."""
        return {topic: [data for _, _, data in self._sorted(topic)] for topic in self.topics}

    def places(self) -> dict[str, list[int]]:
        """Of each of these messages, which one of all it was, in the order they were added."""
        return {topic: [place for _, place, _ in self._sorted(topic)] for topic in self.topics}

    def _sorted(self, topic: str) -> list[tuple[int, int, bytes]]:
        messages = self._messages[topic]
        messages.sort(key=lambda message: message[:2])
        return messages
