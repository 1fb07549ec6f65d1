# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Collector of the messages of a bag: checks limits, passes messages on in blocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ilr_dynamics.arrays import IndexArray
from ilr_dynamics.exceptions import RecordingError
from ilr_dynamics.recording.compression import unpack

__all__ = ["BagLimits", "MessageCollector", "MessageConsumer", "absolute_topic"]

MAX_NAME = 1024
MAX_TOPICS = 10_000
# Size of a block of messages, in messages and bytes: large enough that the overhead per block is
# small compared with the cost of its messages.
BLOCK, BLOCK_BYTES = 2048, 1024**2


@dataclass(frozen=True)
class BagLimits:
    """
    Limits on the size of a recording.

    Parameters
    ----------
    max_bytes : int
        Largest size of the files of the bag, and of their unpacked content, in bytes. It bounds
        the time of reading.
    max_memory : int
        Largest memory for the numbers of all messages that are read, in bytes. A state with its
        command takes some 90 with four joints, 140 with seven. The default is enough for four
        hours at 1 kHz with seven.
    max_message_bytes : int
        Largest size of one message that is read, in bytes. The default is enough for a joint
        state of a thousand joints.
    """

    max_bytes: int = 256 * 1024**3
    max_memory: int = 2 * 1024**3
    max_message_bytes: int = 64 * 1024


class MessageConsumer(Protocol):
    """Interface of a consumer of the messages of a topic."""

    @property
    def nbytes(self) -> int:
        """Memory of all data kept so far, bytes."""

    @property
    def message_nbytes(self) -> int:
        """Smallest memory per message, bytes."""

    def take(self, messages: list[bytes], received: list[int]) -> None:
        """
        Take the next messages, in the order in which they were written.

        Parameters
        ----------
        messages : list of bytes
            CDR of each message.
        received : list of int
            Times of receipt, ns.
        """


def absolute_topic(name: str) -> str:
    """Return a topic's name with the leading slash, which bags of ROS 2's writer API may lack."""
    return "/" + name.lstrip("/")


class MessageCollector:
    """
    Collects topics and messages from a storage file, and passes the messages on in blocks.

    Parameters
    ----------
    consumers : mapping of str to MessageConsumer
        Consumers of the messages, by topic; other topics are not read.
    limits : BagLimits
        Limits beyond which a recording is refused.

    Attributes
    ----------
    types : dict of str to str
        Types of all topics found.
    is_empty : bool
        Whether no message was found on any topic.
    message_compression : str
        Compression of each message (`unpack`).
    """

    def __init__(self, consumers: Mapping[str, MessageConsumer], limits: BagLimits) -> None:
        self.limits = limits
        self.topics = tuple(consumers)
        self.message_compression = ""
        self.types: dict[str, str] = {}
        self.is_empty = True
        self._inboxes = {
            topic: _Inbox(number, consumer)
            for number, (topic, consumer) in enumerate(consumers.items())
        }
        # Number of the topic of each message, one byte each: the order of messages of two topics.
        self._sequence = bytearray()
        self._bytes_pending = 0
        self._bytes_unpacked = 0

    @property
    def n_kept(self) -> int:
        """Number of messages passed on or pending."""
        return len(self._sequence)

    def add_topic(self, name: str, msgtype: str, serialization: str) -> str | None:
        """
        Add a topic; return its absolute name if its messages are to be read, else None.

        Parameters
        ----------
        name, msgtype, serialization : str
            Name of the topic, its type and its serialization format.

        Raises
        ------
        RecordingError
            If a topic to be read is not serialised as CDR, a topic has two types, or there are too
            many topics.
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
        """Count unpacked bytes; RecordingError if the total is too large."""
        self._bytes_unpacked += size
        if self._bytes_unpacked > self.limits.max_bytes:
            raise RecordingError(
                f"it unpacks to more bytes than the allowed {self.limits.max_bytes}"
            )

    def expect(self, counts: Mapping[str, int]) -> None:
        """Check the expected numbers of messages on topics; RecordingError if too many."""
        self._check_memory(
            sum(
                counts.get(topic, 0) * inbox.consumer.message_nbytes
                for topic, inbox in self._inboxes.items()
            )
        )

    def check_message(self, topic: str, size: int) -> None:
        """Check the size of a message, in bytes, before it is read; may raise RecordingError."""
        if size > self.limits.max_message_bytes:
            raise RecordingError(
                f"a message on {topic} has {size} bytes; "
                f"expected at most {self.limits.max_message_bytes}"
            )

    def add(self, topic: str, received: int, data: bytes) -> None:
        """
        Add a message.

        Parameters
        ----------
        topic : str
            Topic, one of those to be read.
        received : int
            Time of receipt, ns, 64 bits.
        data : bytes
            CDR of the message.

        Raises
        ------
        RecordingError
            If it is too large, or there are too many.
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
            self.flush()

    def flush(self) -> None:
        """
        Pass all pending messages on to their consumers; call it at the end of the bag.

        Raises
        ------
        RecordingError
            If the consumers use too much memory.
        """
        for inbox in self._inboxes.values():
            inbox.empty()
        self._bytes_pending = 0
        kept = sum(inbox.consumer.nbytes for inbox in self._inboxes.values())
        self._check_memory(kept + len(self._sequence))

    def places(self, topic: str) -> IndexArray:
        """Return the index of each message of a topic (n,) among all, in the order of writing."""
        sequence = np.frombuffer(self._sequence, dtype=np.uint8)
        return np.flatnonzero(sequence == self._inboxes[topic].number)

    def _check_memory(self, size: int) -> None:
        if size > self.limits.max_memory:
            raise RecordingError(
                f"its messages on {', '.join(self.topics)} take {size} bytes of memory; "
                f"expected at most {self.limits.max_memory} (record shorter ones)"
            )


class _Inbox:
    """Pending messages of a topic."""

    def __init__(self, number: int, consumer: MessageConsumer) -> None:
        self.number = number
        self.consumer = consumer
        self.messages: list[bytes] = []
        self.received: list[int] = []

    def empty(self) -> None:
        if self.messages:
            self.consumer.take(self.messages, self.received)
        self.messages, self.received = [], []
