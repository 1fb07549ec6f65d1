# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Reader of MCAP files (https://mcap.dev/spec), from beginning to end.

The index at the end of the file is not used: in a damaged file its entries could overlap, repeat
or be wrong, and all joint states are needed anyway. Every length is compared with the rest of the
file, or of the chunk, before memory of that length is allocated.
"""

from __future__ import annotations

import struct
from binascii import crc32
from collections.abc import Callable
from typing import BinaryIO

from ilr_dynamics.exceptions import RecordingError
from ilr_dynamics.recording.compression import unpack
from ilr_dynamics.recording.message_collector import MAX_NAME, MessageCollector

__all__ = ["read_mcap"]

MAGIC = b"\x89MCAP0\r\n"
HEADER, FOOTER, SCHEMA, CHANNEL, MESSAGE, CHUNK, DATA_END = 1, 2, 3, 4, 5, 6, 15
RECORD = struct.Struct("<BQ")
FOOTER_SIZE = RECORD.size + 20 + len(MAGIC)
# Channel, number, and times of receipt and of sending, ns: signed, as those of SQLite and of ROS.
MESSAGE_HEAD = struct.Struct("<HIqq")
MESSAGE_START = struct.Struct("<BQH4xq8x")
CHUNK_HEAD = struct.Struct("<QQQII")
# Writers close a chunk at about 1 MB, but it holds at least one message, such as a raw image.
MAX_CHUNK_BYTES = 128 * 1024**2
# Limit for schema and channel records, whose definitions and quality of service are text.
MAX_RECORD_BYTES = 4 * 1024**2
# Limit of the number of records, as empty ones take time but almost no bytes: about a minute.
MAX_RECORDS = 50_000_000


def read_mcap(
    file: BinaryIO, collector: MessageCollector, progress: Callable[[float], None]
) -> None:
    """
    Read topics and messages.

    Parameters
    ----------
    file : binary file
        File open for reading, seekable.
    collector : MessageCollector
        Receiver of topics and messages.
    progress : callable of float
        Callback with the share of the file that has been read.

    Raises
    ------
    RecordingError
        If the file is damaged, truncated or too large for the collector's limits. Damaged
        compressed data raise exceptions of the decompressor.
    """
    size = file.seek(0, 2)
    if size < len(MAGIC) + FOOTER_SIZE:
        raise RecordingError(f"it ends after {size} bytes")
    file.seek(size - FOOTER_SIZE)
    end = file.read(FOOTER_SIZE)
    file.seek(0)
    if file.read(len(MAGIC)) != MAGIC or end[-len(MAGIC) :] != MAGIC:
        raise RecordingError(f"it does not begin and end as MCAP files do ({RECOVER})")
    if RECORD.unpack_from(end) != (FOOTER, 20):
        raise RecordingError(f"it has no footer ({RECOVER})")
    _Reader(collector).read(file, size - FOOTER_SIZE, progress)


# Command that repairs the file of a recorder that was killed.
RECOVER = "mcap recover FILE -o NEW saves what is left of it"


class _Reader:
    """Parser of the records, with the channels found so far."""

    def __init__(self, collector: MessageCollector) -> None:
        self._collector = collector
        self._schemas: dict[int, str] = {}
        self._topics: dict[int, str | None] = {}
        self._n_records = 0

    def read(self, file: BinaryIO, end: int, progress: Callable[[float], None]) -> None:
        while file.tell() < end:
            op, size = _record_head(file.read(RECORD.size), end - file.tell())
            self._count(1)
            if op == DATA_END:
                return
            if op == CHUNK:
                if size > MAX_CHUNK_BYTES:
                    raise RecordingError(f"a chunk has {size} bytes, over {MAX_CHUNK_BYTES}")
                self._read_chunk(memoryview(file.read(size)))
                progress(file.tell() / end)
            elif op == MESSAGE and size >= MESSAGE_HEAD.size:
                channel, _, received, _ = MESSAGE_HEAD.unpack(file.read(MESSAGE_HEAD.size))
                size -= MESSAGE_HEAD.size
                topic = self._topic(channel)
                if topic is None:
                    file.seek(size, 1)
                    continue
                self._collector.check_message(topic, size)
                self._collector.add(topic, received, file.read(size))
            elif op in (SCHEMA, CHANNEL) and size <= MAX_RECORD_BYTES:
                self._define(op, memoryview(file.read(size)))
            elif op in (SCHEMA, CHANNEL, MESSAGE):
                raise RecordingError(f"a record of kind {op} has {size} bytes")
            else:
                file.seek(size, 1)
        raise RecordingError("the end of its data is not marked")

    def _read_chunk(self, record: memoryview) -> None:
        fields = _Fields(record)
        _, _, size, checksum, n_letters = fields.take(CHUNK_HEAD)
        compression = fields.text(n_letters)
        (packed_size,) = fields.take(_U64)
        if size > MAX_CHUNK_BYTES:
            raise RecordingError(f"a chunk unpacks to {size} bytes, over {MAX_CHUNK_BYTES}")
        self._collector.count_unpacked(size)
        records = unpack(fields.data(packed_size), compression, size)
        if len(records) != size or (checksum and crc32(records) != checksum):
            raise RecordingError("a chunk is not what its size and checksum say")
        self._read_records(records)

    def _read_records(self, records: bytes) -> None:
        start, end = 0, len(records)
        n_records = 0
        while start < end:
            n_records += 1
            # The head of a message is unpacked in one call, as half of the time is spent here.
            if start + MESSAGE_START.size <= end:
                op, size, channel, received = MESSAGE_START.unpack_from(records, start)
            else:
                op, size = _record_head(records[start:], end - start - RECORD.size)
            body = start + RECORD.size
            start = body + size
            if start > end:
                raise RecordingError(f"a record claims {size} bytes where {end - body} are left")
            if op == MESSAGE:
                if size < MESSAGE_HEAD.size:
                    raise RecordingError(f"a message record has {size} bytes")
                topic = self._topic(channel)
                if topic is not None:
                    self._collector.check_message(topic, size - MESSAGE_HEAD.size)
                    data = records[body + MESSAGE_HEAD.size : start]
                    self._collector.add(topic, received, data)
            elif op in (SCHEMA, CHANNEL):
                self._define(op, memoryview(records)[body:start])
        # After the whole chunk, which is too small for its records to take long.
        self._count(n_records)

    def _count(self, n_records: int) -> None:
        self._n_records += n_records
        if self._n_records > MAX_RECORDS:
            raise RecordingError(f"it has more records than the allowed {MAX_RECORDS}")

    def _define(self, op: int, record: memoryview) -> None:
        fields = _Fields(record)
        (key,) = fields.take(_U16)
        if op == SCHEMA:
            self._schemas[key] = fields.string()
            return
        (schema,) = fields.take(_U16)
        topic, serialization = fields.string(), fields.string()
        msgtype = self._schemas.get(schema, "")
        self._topics[key] = self._collector.add_topic(topic, msgtype, serialization)

    def _topic(self, channel: int) -> str | None:
        """Return the topic of a message; None if it is not to be read."""
        self._collector.is_empty = False
        if channel not in self._topics:
            raise RecordingError(f"a message belongs to the channel {channel}, which is unknown")
        return self._topics[channel]


_U16, _U32, _U64 = struct.Struct("<H"), struct.Struct("<I"), struct.Struct("<Q")


class _Fields:
    """Sequential parser of the fields of a record."""

    def __init__(self, record: memoryview) -> None:
        self._rest = record

    def data(self, size: int) -> memoryview:
        if size > len(self._rest):
            raise RecordingError("a record is shorter than its fields")
        taken, self._rest = self._rest[:size], self._rest[size:]
        return taken

    def take(self, layout: struct.Struct) -> tuple[int, ...]:
        return layout.unpack(self.data(layout.size))

    def text(self, size: int) -> str:
        if size > MAX_NAME:
            raise RecordingError(f"a name has {size} bytes; expected at most {MAX_NAME}")
        return bytes(self.data(size)).decode()

    def string(self) -> str:
        (size,) = self.take(_U32)
        return self.text(size)


def _record_head(head: bytes | memoryview, left: int) -> tuple[int, int]:
    """Return kind and size of a record, whose body must fit into the ``left`` bytes."""
    if len(head) < RECORD.size:
        raise RecordingError("it is truncated in the middle of a record")
    op, size = RECORD.unpack_from(head)
    if size > left:
        raise RecordingError(f"a record claims {size} bytes where {left} are left")
    return op, size
