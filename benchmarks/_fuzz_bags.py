# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Odd recordings: made, read, and turned into samples."""

from __future__ import annotations

import shutil
import sqlite3
import struct
from binascii import crc32
from contextlib import closing
from pathlib import Path

import lz4.frame
import numpy as np
import yaml
from _fuzz_mutations import ODD_FLOATS, ODD_INTEGERS, damage, odd_tree, pick
from backports import zstd
from numpy.random import Generator
from rosbags.highlevel import AnyReader, AnyReaderError
from rosbags.rosbag2 import ReaderError

from ilr_dynamics.exceptions import RecordingError
from ilr_dynamics.recording import (
    RecordingWriter,
    SampleSettings,
    encode_joint_state,
    read_recording,
    training_samples,
)

JOINTS = ("j1", "j2")
N_STATES = 60
SETTINGS = SampleSettings(minimum_samples=5, sample_rate=100.0)
RECORD = struct.Struct("<BQ")
CHUNK_HEAD = struct.Struct("<QQQII")
CHUNK = 6
BOMB_BYTES = 1 << 28
COMPRESSORS = {"": bytes, "zstd": zstd.compress, "lz4": lz4.frame.compress}

# A view that never ends, in a table's place; half of the time it is noted down as a table.
ENDLESS_VIEW = """
    DROP TABLE messages;
    CREATE VIEW messages AS
        WITH RECURSIVE r(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM r)
        SELECT id, 1 AS topic_id, id AS timestamp, zeroblob(1000) AS data FROM r;
"""
AS_TABLE = """
    PRAGMA writable_schema = ON;
    UPDATE sqlite_master SET type = 'table' WHERE name = 'messages';
"""
GENERATED = """
    DROP TABLE messages;
    CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER, timestamp INTEGER,
        data BLOB GENERATED ALWAYS AS (zeroblob(900000000)) VIRTUAL);
    INSERT INTO messages(topic_id, timestamp) VALUES (1, 1), (1, 2), (1, 3), (1, 4);
"""
SQL = (
    ENDLESS_VIEW,
    ENDLESS_VIEW + AS_TABLE,
    GENERATED,
    "DROP TABLE messages; CREATE VIRTUAL TABLE messages USING fts5(topic_id, timestamp, data);",
    "DROP TABLE topics;",
    "DELETE FROM messages;",
    "ALTER TABLE messages DROP COLUMN data;",
    "UPDATE topics SET name = '/joint_states';",
    "UPDATE topics SET serialization_format = 'json';",
    "UPDATE topics SET name = CAST(x'ff00fe' AS TEXT);",
    "UPDATE topics SET type = NULL;",
    "UPDATE messages SET data = zeroblob(100000) WHERE id % 7 = 0;",
    "UPDATE messages SET data = hex(data);",
    "UPDATE messages SET timestamp = 'now' WHERE id = 5;",
    "UPDATE messages SET timestamp = -timestamp;",
    "UPDATE messages SET topic_id = 1;",
    "INSERT INTO topics SELECT id + 100, name, type, 'cdr', '', '' FROM topics;",
    "INSERT INTO messages(topic_id, timestamp, data) SELECT topic_id, 0, data FROM messages;",
)


class Bags:
    """
    Recordings in one kind of storage, damaged at every level.

    Parameters
    ----------
    folder
        Where the bag goes.
    storage
        "mcap" or "sqlite3".
    """

    def __init__(self, folder: Path, storage: str) -> None:
        self.name = f"{storage} bag"
        self._storage = storage
        self._bag = folder / "bag"
        self._uri = self._bag
        self._file = self._bag / {"mcap": "bag.mcap", "sqlite3": "bag.db3"}[storage]
        self._messages = _messages()
        self._write_bag(self._messages)
        self._content = self._file.read_bytes()
        self._metadata = (self._bag / "metadata.yaml").read_text()
        compressed = zstd.compress(bytes(BOMB_BYTES))
        self._bomb = _chunk(compressed, "zstd", BOMB_BYTES, 0)
        self._lying_bomb = _chunk(compressed, "zstd", 1000, 0)

    def write(self, rng: Generator) -> str:
        """Write the next input; the answer says of what kind it is."""
        kinds = ("bytes", "structure", "structure", "metadata", "messages")
        kind = pick(rng, kinds)
        if kind == "messages":
            self._write_bag(_odd_messages(self._messages, rng))
        else:
            self._file.write_bytes(self._content)
            (self._bag / "metadata.yaml").write_text(self._metadata)
        if kind == "bytes":
            self._file.write_bytes(damage(self._content, rng))
        elif kind == "structure" and self._storage == "mcap":
            self._file.write_bytes(self._odd_mcap(rng))
        elif kind == "structure":
            self._odd_sqlite(rng)
        elif kind == "metadata":
            (self._bag / "metadata.yaml").write_bytes(self._odd_metadata(rng))
        single = kind != "metadata" and rng.random() < 0.5
        self._uri = self._file if single else self._bag
        return kind

    def load(self) -> None:
        """Read the input and take samples of it."""
        with np.errstate(all="ignore"):
            training_samples(read_recording(self._uri, JOINTS), SETTINGS)

    def _write_bag(self, messages: list[tuple[str, int, bytes]]) -> None:
        shutil.rmtree(self._bag, ignore_errors=True)
        with RecordingWriter(self._bag, self._storage) as writer:
            for topic, received, data in messages:
                writer.write(topic, received, data)

    def _odd_metadata(self, rng: Generator) -> bytes:
        if rng.random() < 0.4:
            return damage(self._metadata.encode(), rng)
        if rng.random() < 0.1:
            # Merged nine times over at each of nine levels.
            bomb = ["a0: &a0 {x: 1}"]
            bomb += [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, 9)]
            return "\n".join(bomb).encode()
        tree = odd_tree(yaml.safe_load(self._metadata), rng)
        return yaml.safe_dump(tree, allow_unicode=True).encode(errors="surrogatepass")

    def _odd_mcap(self, rng: Generator) -> bytes:
        records = _records(self._content[8:-8])
        index = int(rng.integers(len(records)))
        kind = rng.integers(8)
        if kind == 0:
            records[index] = (records[index][0], damage(records[index][1], rng))
        elif kind == 1:
            del records[index]
        elif kind == 2:
            records.insert(index, pick(rng, records))
        elif kind == 3:
            records.insert(index, (CHUNK, pick(rng, (self._bomb, self._lying_bomb))))
        else:
            place = next(n for n, (op, _) in enumerate(records) if op == CHUNK)
            records[place] = (CHUNK, _odd_chunk(records[place][1], rng))
        body = b"".join(RECORD.pack(op, len(data)) + data for op, data in records)
        return self._content[:8] + body + self._content[-8:]

    def _odd_sqlite(self, rng: Generator) -> None:
        with closing(sqlite3.connect(self._file)) as database:
            database.execute("PRAGMA synchronous = OFF")
            database.execute("PRAGMA journal_mode = MEMORY")
            for _ in range(int(rng.integers(1, 3))):
                try:
                    database.executescript(pick(rng, SQL))
                except sqlite3.Error:
                    break
            database.commit()
        if rng.random() < 0.3:
            # A page number of a page.
            content = bytearray(self._file.read_bytes())
            place = 4096 * int(rng.integers(len(content) // 4096)) + int(rng.integers(200))
            content[place : place + 4] = int(rng.integers(16)).to_bytes(4, "big")
            self._file.write_bytes(content)


class RosbagsBags(Bags):
    """The same recordings, read by the readers of the rosbags package instead of ours."""

    def load(self) -> None:
        """Read all messages; an error of rosbags' own counts as a refusal."""
        try:
            with AnyReader([self._uri]) as reader:
                for _ in reader.messages():
                    pass
        except (AnyReaderError, ReaderError) as error:
            raise RecordingError(str(error)) from error


def _messages() -> list[tuple[str, int, bytes]]:
    messages = []
    for k in range(N_STATES):
        stamp = 1_700_000_000_000_000_000 + 2_000_000 * k
        q = np.sin(0.01 * k * np.array([1.0, 1.3]))
        messages.append(("/joint_states", stamp, encode_joint_state(stamp, JOINTS, q, q, q)))
        torque = encode_joint_state(stamp, JOINTS, effort=q)
        messages.append(("/joint_torque_command", stamp, torque))
    return messages


def _odd_messages(
    messages: list[tuple[str, int, bytes]], rng: Generator
) -> list[tuple[str, int, bytes]]:
    """Messages in a sound bag, whose times or contents are odd."""
    messages = list(messages)
    for _ in range(int(rng.integers(1, 20))):
        index = int(rng.integers(len(messages)))
        topic, received, data = messages[index]
        kind = rng.integers(5)
        if kind == 0:
            data = damage(data, rng)
        elif kind == 1:
            names = pick(rng, (JOINTS, ("j2", "j1", "j3"), ("j1",), (), ("j1", "j1", "j2")))
            values = [pick(rng, ODD_FLOATS) for _ in range(int(rng.integers(4)))]
            stamp = int(rng.integers(-(2**31), 2**31)) * 1_000_000_000
            data = encode_joint_state(stamp, names, values, values[:2], values)
        elif kind == 2:
            received = int(pick(rng, ODD_INTEGERS)) % 2**63
        elif kind == 3:
            place = 4 + 4 * int(rng.integers(3))
            number = int(pick(rng, ODD_INTEGERS)) % 2**32
            data = data[:place] + number.to_bytes(4, "little") + data[place + 4 :]
        else:
            messages.append(messages[index])
            continue
        messages[index] = (topic, received, data)
    return messages


def _records(content: bytes) -> list[tuple[int, bytes]]:
    records, start = [], 0
    while start < len(content):
        op, size = RECORD.unpack_from(content, start)
        start += RECORD.size
        records.append((op, content[start : start + size]))
        start += size
    return records


def _odd_chunk(chunk: bytes, rng: Generator) -> bytes:
    """A chunk whose records are odd and whose size, checksum and compression are sound."""
    # Records follow the head, an empty name and their size.
    records = _records(chunk[CHUNK_HEAD.size + 8 :])
    for _ in range(int(rng.integers(1, 4))):
        index = int(rng.integers(len(records)))
        op, data = records[index]
        kind = rng.integers(5)
        if kind == 0:
            records[index] = (op, damage(data, rng))
        elif kind == 1:
            records[index] = (int(rng.integers(16)), data)
        elif kind == 2:
            records[index:index] = [(op, data)] * int(rng.integers(1, 10))
        elif kind == 3 and len(records) > 1:
            del records[index]
        else:
            other = int(rng.integers(len(records)))
            records[index], records[other] = records[other], records[index]
    content = b"".join(RECORD.pack(op, len(data)) + data for op, data in records)
    if rng.random() < 0.2:
        content = damage(content, rng)
    compression = pick(rng, list(COMPRESSORS))
    packed = COMPRESSORS[compression](content)
    return _chunk(packed, compression, len(content), crc32(content))


def _chunk(packed: bytes, compression: str, size: int, checksum: int) -> bytes:
    head = CHUNK_HEAD.pack(0, 2**62, size, checksum, len(compression))
    return head + compression.encode() + struct.pack("<Q", len(packed)) + packed
