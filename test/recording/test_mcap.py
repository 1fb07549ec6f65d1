# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import io
import struct
import tracemalloc
from binascii import crc32
from types import SimpleNamespace

import lz4.frame
import pytest
from backports import zstd
from kept_messages import KeptMessages

from ilr_dynamics.exceptions import RecordingError
from ilr_dynamics.recording import mcap
from ilr_dynamics.recording.mcap import read_mcap
from ilr_dynamics.recording.message_collector import BagLimits, MessageCollector

MAGIC = b"\x89MCAP0\r\n"
TOPIC, TYPE = "/joint_states", "sensor_msgs/msg/JointState"
LIMITS = BagLimits()
COMPRESS = {"": bytes, "zstd": zstd.compress, "lz4": lz4.frame.compress}


def record(op, *parts):
    body = b"".join(parts)
    return struct.pack("<BQ", op, len(body)) + body


def text(value):
    return struct.pack("<I", len(value)) + value.encode()


def schema(name=TYPE):
    return record(3, struct.pack("<H", 1), text(name), text("ros2msg"), text(""))


def channel(number=1, topic=TOPIC, encoding="cdr"):
    return record(4, struct.pack("<HH", number, 1), text(topic), text(encoding), text(""))


def message(received, data, number=1):
    return record(5, struct.pack("<HIQQ", number, 0, received, received), data)


def chunk(content, compression="", size=None, checksum=None):
    packed = COMPRESS[compression](content)
    size = len(content) if size is None else size
    checksum = crc32(content) if checksum is None else checksum
    head = struct.pack("<QQQI", 0, 0, size, checksum)
    return record(6, head, text(compression), struct.pack("<Q", len(packed)), packed)


DATA_END = record(15, struct.pack("<I", 0))


def file(*records, end=DATA_END):
    head = MAGIC + record(1, text("ros2"), text(""))
    footer = record(2, struct.pack("<QQI", 0, 0, 0))
    return io.BytesIO(head + b"".join(records) + end + footer + MAGIC)


def read(content, limits=LIMITS):
    consumer = KeptMessages()
    collector = MessageCollector({TOPIC: consumer}, limits)
    read_mcap(content, collector, lambda share: None)
    collector.flush()
    return SimpleNamespace(
        messages=consumer.in_order(), types=collector.types, is_empty=collector.is_empty
    )


@pytest.mark.parametrize("compression", COMPRESS)
def test_messages_in_and_outside_of_chunks_come_in_order_of_receipt(compression):
    first, second = message(3, b"third") + message(1, b"first"), message(4, b"fourth")
    inside = chunk(schema() + channel() + first, compression) + chunk(second, compression)
    found = read(file(inside, message(2, b"second")))
    assert found.messages == [b"first", b"second", b"third", b"fourth"]
    assert found.types == {TOPIC: TYPE}


def test_several_frames_in_one_chunk_are_read(monkeypatch):
    monkeypatch.setitem(
        COMPRESS, "zstd", lambda data: zstd.compress(data[:20]) + zstd.compress(data[20:])
    )
    content = chunk(schema() + channel() + message(1, b"here"), "zstd")
    assert read(file(content)).messages == [b"here"]


def test_messages_of_other_topics_are_counted_and_not_kept():
    found = read(file(schema(), channel(topic="/camera"), message(1, bytes(100_000))))
    assert found.messages == []
    assert not found.is_empty


def test_records_of_kinds_to_come_are_passed_over():
    content = file(schema(), channel(), record(77, bytes(50)), message(1, b"here"))
    assert read(content).messages == [b"here"]


def test_unpacking_stops_at_the_size_that_a_chunk_claims():
    content = file(chunk(bytes(200_000_000), "zstd", size=1000))
    tracemalloc.start()
    with pytest.raises(RecordingError, match="unpacks to more than the allowed 1000 bytes"):
        read(content)
    assert tracemalloc.get_traced_memory()[1] < 5_000_000
    tracemalloc.stop()


def test_a_chunk_that_claims_to_be_huge_is_not_unpacked():
    with pytest.raises(RecordingError, match=r"chunk unpacks to \d+ bytes, over"):
        read(file(chunk(b"", "zstd", size=2**40)))


def test_many_chunks_together_stay_within_the_limit():
    bomb = chunk(record(77, bytes(10_000)), "zstd")
    read(file(bomb * 10), BagLimits(max_bytes=100_100))
    with pytest.raises(RecordingError, match="more bytes than the allowed 100100"):
        read(file(bomb * 11), BagLimits(max_bytes=100_100))


def test_empty_records_come_to_an_end(monkeypatch):
    monkeypatch.setattr(mcap, "MAX_RECORDS", 1000)
    with pytest.raises(RecordingError, match="more records than the allowed 1000"):
        read(file(record(77) * 1001))
    with pytest.raises(RecordingError, match="more records than the allowed 1000"):
        read(file(chunk(record(77) * 1001)))


@pytest.mark.parametrize(
    ("records", "problem"),
    [
        ([struct.pack("<BQ", 5, 2**63)], "claims 9223372036854775808 bytes where"),
        ([struct.pack("<BQ", 9, 1000)], "claims 1000 bytes where"),
        ([chunk(struct.pack("<BQ", 5, 1000))], "claims 1000 bytes where 0 are left"),
        ([chunk(b"\5\0")], "truncated in the middle of a record"),
        ([record(5, bytes(10))], "a record of kind 5 has 10 bytes"),
        ([chunk(record(5, bytes(10)))], "a message record has 10 bytes"),
        ([message(1, b"")], "channel 1, which is unknown"),
        ([record(4, bytes(3))], "shorter than its fields"),
        ([record(3, struct.pack("<HI", 1, 2**31))], "a name has 2147483648 bytes"),
        ([schema("x" * 2000)], "a name has 2000 bytes"),
        ([channel(encoding="json")], "serialised as 'json'; expected 'cdr'"),
        ([chunk(b"", size=1)], "not what its size and checksum say"),
        ([chunk(record(77, b"x"), checksum=1)], "not what its size and checksum say"),
        ([record(6, bytes(10))], "shorter than its fields"),
    ],
)
def test_what_is_wrong_is_named(records, problem):
    with pytest.raises(RecordingError, match=problem):
        read(file(*records))


def test_unknown_compression_is_named(monkeypatch):
    monkeypatch.setitem(COMPRESS, "rar", bytes)
    with pytest.raises(RecordingError, match="compression is 'rar'; expected zstd or lz4"):
        read(file(chunk(b"", "rar")))


def test_a_file_without_the_mark_at_the_end_of_its_data_is_refused():
    with pytest.raises(RecordingError, match="end of its data is not marked"):
        read(file(schema(), end=b""))


def test_a_topic_of_two_types_is_refused():
    other = record(3, struct.pack("<H", 1), text("std_msgs/msg/String"), text(""), text(""))
    with pytest.raises(RecordingError, match="has the types .*JointState and std_msgs"):
        read(file(schema(), channel(), other, channel(2)))


def test_large_messages_are_refused_before_they_are_read():
    content = file(schema(), channel(), message(1, bytes(70_000)))
    with pytest.raises(RecordingError, match="on /joint_states has 70000 bytes; expected"):
        read(content)
    content = file(chunk(schema() + channel() + message(1, bytes(70_000))))
    with pytest.raises(RecordingError, match="on /joint_states has 70000 bytes; expected"):
        read(content)


def test_messages_together_stay_within_the_limit():
    content = schema() + channel() + message(1, bytes(100)) * 10
    read(file(content), BagLimits(max_memory=1010))
    with pytest.raises(RecordingError, match="take 1010 bytes of memory; expected at most 1009"):
        read(file(content), BagLimits(max_memory=1009))
