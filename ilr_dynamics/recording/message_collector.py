# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Messages as they are found in the files of a bag, handed on in blocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ilr_dynamics.arrays import IndexArray
from ilr_dynamics.exceptions import RecordingError
from ilr_dynamics.recording.compression import unpack

__all__ = ["BagLimits", "MessageCollector", "MessageTaker", "absolute_topic"]

MAX_NAME = 1024
MAX_TOPICS = 10_000
# Messages of a topic that are handed on at a time, and their bytes: enough that what a block costs
# by itself is little beside what its messages cost.
BLOCK, BLOCK_BYTES = 2048, 1024**2


@dataclass(frozen=True)
class BagLimits:
    """
    What a recording may cost to read.

    Attributes
    ----------
    max_bytes : int
        Size of the files of the bag, and of what they hold when it is unpacked, in bytes. It
        bounds the time; nothing of that is kept.
    max_memory : int
        Of what is kept of the messages on the topics that are read, in bytes: some 90 a state and
        its command of four joints, 140 of seven. The default holds four hours at 1 kHz of seven.
    max_message_bytes : int
        Size of one message on these topics, in bytes; the default holds a joint state of a
        thousand joints.
    """

    max_bytes: int = 256 * 1024**3
    max_memory: int = 2 * 1024**3
    max_message_bytes: int = 64 * 1024


class MessageTaker(Protocol):
    """Who makes something of the messages of a topic."""

    @property
    def nbytes(self) -> int:
        """Memory of what it keeps, bytes."""

    @property
    def message_nbytes(self) -> int:
        """Memory that it needs for each message, at least, bytes."""

    def take(self, messages: list[bytes], received: list[int]) -> None:
        """
        Take the next messages, in the order in which they were written.

        Parameters
        ----------
        messages : list of bytes
            CDR of each.
        received : list of int
            Times of receipt, ns.
        """


def absolute_topic(name: str) -> str:
    """Name of a topic with its leading slash, which a bag written by ROS 2's API may lack."""
    return "/" + name.lstrip("/")


class MessageCollector:
    """
    Takes topics and messages as a storage file gives them, and hands the messages on in blocks.

    Parameters
    ----------
    takers : mapping of str to MessageTaker
        Who takes the messages of each topic that is read.
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

    def __init__(self, takers: Mapping[str, MessageTaker], limits: BagLimits) -> None:
        self.limits = limits
        self.topics = tuple(takers)
        self.message_compression = ""
        self.types: dict[str, str] = {}
        self.is_empty = True
        self._inboxes = {
            topic: _Inbox(number, taker) for number, (topic, taker) in enumerate(takers.items())
        }
        # Of which topic each message is, a byte each: tells how those of two topics alternate.
        self._sequence = bytearray()
        self._bytes_pending = 0
        self._bytes_unpacked = 0

    @property
    def n_kept(self) -> int:
        """Number of messages taken."""
        return len(self._sequence)

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
        wanted = name in self._inboxes
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

    def expect(self, counts: Mapping[str, int]) -> None:
        """Refuse so many messages on the topics with a RecordingError if they are too many."""
        self._check_memory(
            sum(
                counts.get(topic, 0) * inbox.taker.message_nbytes
                for topic, inbox in self._inboxes.items()
            )
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
        Take a message.

        Parameters
        ----------
        topic : str
            One of those wanted.
        received : int
            Time of receipt, ns, of 64 bits.
        data : bytes
            CDR.

        Raises
        ------
        RecordingError
            It is too large, or there are too many.
        """
        self.check_message(topic, len(data))
        if self.message_compression:
            data = unpack(data, self.message_compression, self.limits.max_message_bytes)
        inbox = self._inboxes[topic]
        inbox.messages.append(data)
        inbox.received.append(received)
        self._sequence.append(inbox.number)
        self._bytes_pending += len(data)
        if len(inbox.messages) >= BLOCK or self._bytes_pending >= BLOCK_BYTES:
            self.hand_on()

    def hand_on(self) -> None:
        """
        Hand on what has come, at last when the bag ends.

        Raises
        ------
        RecordingError
            The messages are too many.
        """
        for inbox in self._inboxes.values():
            inbox.empty()
        self._bytes_pending = 0
        kept = sum(inbox.taker.nbytes for inbox in self._inboxes.values())
        self._check_memory(kept + len(self._sequence))

    def places(self, topic: str) -> IndexArray:
        """Of each message of a topic, which one of all it was in the order of writing, (n,)."""
        sequence = np.frombuffer(self._sequence, dtype=np.uint8)
        return np.flatnonzero(sequence == self._inboxes[topic].number)

    def _check_memory(self, size: int) -> None:
        if size > self.limits.max_memory:
            raise RecordingError(
                f"its messages on {', '.join(self.topics)} take {size} bytes of memory; "
                f"expected at most {self.limits.max_memory} (record shorter ones)"
            )


class _Inbox:
    """Messages of a topic that nobody has taken yet."""

    def __init__(self, number: int, taker: MessageTaker) -> None:
        self.number = number
        self.taker = taker
        self.messages: list[bytes] = []
        self.received: list[int] = []

    def empty(self) -> None:
        if self.messages:
            self.taker.take(self.messages, self.received)
        self.messages, self.received = [], []
