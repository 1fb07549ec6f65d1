# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import sqlite3
import subprocess
import sys
import tracemalloc
from contextlib import closing

import pytest
from kept_messages import KeptMessages

from ilr_dynamics.exceptions import RecordingError
from ilr_dynamics.recording import sqlite
from ilr_dynamics.recording.message_collector import BagLimits, MessageCollector
from ilr_dynamics.recording.sqlite import read_sqlite

TOPIC = "/joint_states"
LIMITS = BagLimits()
ENDLESS_VIEW = """
    DROP TABLE messages;
    CREATE VIEW messages AS
        WITH RECURSIVE r(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM r)
        SELECT id, 1 AS topic_id, id AS timestamp, x'00' AS data FROM r;
"""
AS_TABLE = """
    PRAGMA writable_schema = ON;
    UPDATE sqlite_master SET type = 'table' WHERE name = 'messages';
"""


@pytest.fixture
def path(motion, write_bag):
    folder = write_bag(motion.states()[:60], "sqlite3")
    return folder / f"{folder.name}.db3"


def change(path, script):
    with closing(sqlite3.connect(path)) as database:
        database.executescript(script)
        database.commit()


def read(path, limits=LIMITS):
    collector = MessageCollector({TOPIC: KeptMessages()}, limits)
    shares = []
    read_sqlite(path, collector, shares.append)
    assert all(0.0 < share <= 1.0 for share in shares)
    collector.flush()
    return collector


@pytest.mark.parametrize("page_size", [512, 4096, 65536])
def test_a_file_that_is_cut_short_is_refused(path, page_size):
    change(path, f"PRAGMA page_size = {page_size}; VACUUM;")
    content = path.read_bytes()
    n_pages = len(content) // page_size
    assert n_pages > 2
    assert read(path).n_kept == 60
    for size in (
        100,
        page_size,
        len(content) // 2,
        len(content) - page_size - 1,
        len(content) - page_size,
        len(content) - page_size + 1,
        len(content) - page_size // 2,
        len(content) - 1,
    ):
        path.write_bytes(content[:size])
        with pytest.raises(
            RecordingError,
            match=f"cut short: it has {size} bytes; expected {n_pages} pages of {page_size}",
        ):
            read(path)


@pytest.mark.parametrize("size", [0, 1, 99])
def test_less_than_a_header_is_refused(path, size):
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(RecordingError, match=f"it has {size} bytes; expected the 100 of a header"):
        read(path)


def test_a_number_of_pages_that_is_out_of_date_is_not_believed(path):
    content = bytearray(path.read_bytes())
    content[28:32] = (2**31).to_bytes(4, "big")
    path.write_bytes(content)
    with pytest.raises(RecordingError, match="cut short"):
        read(path)
    # As SQLite before 3.7 leaves it: the file was changed since the pages were counted.
    changes = int.from_bytes(content[24:28], "big")
    content[92:96] = (changes - 1).to_bytes(4, "big")
    path.write_bytes(content)
    assert read(path).n_kept == 60


def test_bytes_behind_the_last_page_do_no_harm(path):
    with path.open("ab") as file:
        file.write(bytes(5000))
    assert read(path).n_kept == 60


def test_names_that_mean_more_to_sqlite_are_only_names(path, tmp_path):
    secret = tmp_path / "secret.db3"
    path.rename(secret)
    for name in ("a%2Fb.db3", "a?mode=rwc.db3", "a#b.db3", "%2e%2e"):
        with pytest.raises(FileNotFoundError):
            read(tmp_path / "sub" / name)
        target = tmp_path / name
        target.write_bytes(secret.read_bytes())
        assert read(target).n_kept == 60


@pytest.mark.parametrize("script", [ENDLESS_VIEW, ENDLESS_VIEW + AS_TABLE])
def test_a_view_in_place_of_a_table_is_refused(path, script):
    change(path, script)
    # Newer versions of SQLite see by themselves that the second is no table.
    with pytest.raises(
        (RecordingError, sqlite3.DatabaseError), match="no plain table 'messages'|malformed"
    ):
        read(path)


def test_a_virtual_table_is_refused(path):
    change(path, "DROP TABLE topics; CREATE VIRTUAL TABLE topics USING fts5(id, name, type);")
    with pytest.raises(RecordingError, match="no plain table 'topics'"):
        read(path)


def test_columns_that_are_computed_cannot_call_anything(path):
    change(
        path,
        """
        DROP TABLE messages;
        CREATE TABLE messages(topic_id INTEGER, timestamp INTEGER,
            data BLOB GENERATED ALWAYS AS (zeroblob(900000000)));
        INSERT INTO messages(topic_id, timestamp) VALUES (1, 1);
        """,
    )
    tracemalloc.start()
    with pytest.raises(sqlite3.Error):
        read(path)
    assert tracemalloc.get_traced_memory()[1] < 5_000_000
    tracemalloc.stop()


def test_the_work_is_bounded(path, monkeypatch):
    monkeypatch.setattr(sqlite, "STEPS_PER_CALL", 10)
    monkeypatch.setattr(sqlite, "MAX_CALLS", 10)
    with pytest.raises(sqlite3.OperationalError, match="interrupted"):
        read(path)


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("UPDATE topics SET serialization_format = 'json'", "is serialised as 'json'"),
        ("UPDATE topics SET name = x'00'", "not described by texts"),
        ("UPDATE messages SET data = 'text' WHERE id = 5", "is str at .*; expected bytes"),
        ("UPDATE messages SET timestamp = 'now'", "is bytes at 'now'; expected bytes at a time"),
        ("UPDATE messages SET data = zeroblob(70000)", "has 70000 bytes; expected at most 65536"),
        ("UPDATE topics SET name = hex(zeroblob(600))", "a name of more than 1024"),
    ],
)
def test_what_is_wrong_is_named(path, script, problem):
    change(path, script)
    with pytest.raises(RecordingError, match=problem):
        read(path)


def test_large_messages_of_other_topics_do_no_harm(path):
    change(
        path,
        """
        INSERT INTO topics VALUES (2, '/camera', 'sensor_msgs/msg/Image', 'cdr', '', '');
        INSERT INTO messages(topic_id, timestamp, data) VALUES (2, 1, zeroblob(3000000));
        """,
    )
    assert read(path).n_kept == 60


def test_too_many_messages_are_refused(path):
    with pytest.raises(RecordingError, match=r"take \d+ bytes of memory; expected at most 5000"):
        read(path, BagLimits(max_memory=5000))


def leave_unfinished(path, mode, n_times):
    """Add all messages so many times more and end as a recorder does that is killed."""
    code = f"""
import os, sqlite3
database = sqlite3.connect({str(path)!r}, isolation_level=None)
database.execute("PRAGMA journal_mode = {mode}")
database.execute("PRAGMA cache_size = 1")  # so that changes reach the file at once
database.execute("BEGIN")
database.execute(
    "INSERT INTO messages (topic_id, timestamp, data) "
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {n_times}) "
    "SELECT topic_id, timestamp + 1000000, data FROM messages, n"
)
if {mode!r} == "WAL":
    database.execute("COMMIT")
os._exit(0)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("mode", "suffix", "expected"), [("WAL", "-wal", 60 * 51), ("PERSIST", "-journal", 60)]
)
def test_a_killed_recorder_s_journal_is_named_and_how_to_unite_it(path, mode, suffix, expected):
    leave_unfinished(path, mode, 50)
    with pytest.raises(RecordingError, match=f"without {path.name}{suffix}") as refusal:
        read(path)
    command = str(refusal.value).partition("unite them: ")[2]
    subprocess.run(["bash", "-c", command], check=True)
    assert read(path).n_kept == expected


def test_journals_that_hold_nothing_do_no_harm(path):
    path.with_name(path.name + "-wal").touch()
    path.with_name(path.name + "-journal").write_bytes(bytes(512))
    assert read(path).n_kept == 60
