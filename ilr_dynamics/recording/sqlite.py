# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Reader of a rosbag2's SQLite files, safe against malicious ones.

A database file can contain views, triggers, virtual tables and generated columns, so that reading
a table can run any computation, and its pages can form loops. Therefore only plain tables are
read, functions are not allowed, and the number of steps is limited.
"""

from __future__ import annotations

import shlex
import sqlite3
import struct
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from ilr_dynamics.exceptions import RecordingError
from ilr_dynamics.recording.message_collector import MAX_TOPICS, MessageCollector

__all__ = ["read_sqlite"]

TABLES = ("messages", "topics")
ALLOWED_ACTIONS = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ)
# Header of the file (https://www.sqlite.org/fileformat2.html): page size (1 for 65536), change
# counter, number of pages, and the change counter when the pages were counted.
HEADER = struct.Struct(">16x H 6x I I 60x I 4x")
LARGEST_PAGE = 65536
# Journals in the same folder, as the same page describes them.
WAL_HEADER_BYTES = 32
JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
# Command that opens the file with write access: SQLite then merges a write-ahead log, or rolls
# unfinished changes back by a rollback journal.
UNITE = (
    "python3 -c 'import sqlite3, sys; "
    'open(sys.argv[1], "r+b").close(); '
    'sqlite3.connect(sys.argv[1]).execute("PRAGMA wal_checkpoint(TRUNCATE)")\''
)
# Largest size of a value or of a table's definition; message definitions are not read.
MAX_VALUE_BYTES = 1024**2
# Limit of steps of SQLite's virtual machine, which takes some ten per message on any topic.
STEPS_PER_CALL = 1_000_000
MAX_CALLS = 1000
ROWS_PER_REPORT = 4096


def read_sqlite(
    path: Path, collector: MessageCollector, progress: Callable[[float], None]
) -> None:
    """
    Read topics and messages.

    Parameters
    ----------
    path : Path
        Path of a ``.db3`` file.
    collector : MessageCollector
        Receiver of topics and messages.
    progress : callable of float
        Callback with the share of the messages that has been read.

    Raises
    ------
    RecordingError
        If the file is cut short, is not a rosbag2, is too large for the collector's limits, or
        has messages in a journal.
    sqlite3.Error
        If it is damaged.
    OSError
        If it cannot be opened.
    """
    _check_journals(path)
    _check_size(path)
    # Quoted, because "?" and "%" have a meaning in a URI.
    uri = f"file:{quote(str(path))}?mode=ro&immutable=1"
    with closing(sqlite3.connect(uri, uri=True)) as database:
        _restrict(database, collector)
        _check_tables(database)
        topics = _read_topics(database, collector)
        if database.execute("SELECT topic_id FROM messages LIMIT 1").fetchone():
            collector.is_empty = False
        _read_messages(database, topics, collector, progress)


def _check_journals(path: Path) -> None:
    """
    Refuse a file with a journal that completes it, as a killed recorder leaves it.

    To read both, SQLite would have to write into the folder.
    """
    for suffix, is_pending in (("-wal", _has_frames), ("-journal", _is_hot)):
        journal = path.with_name(path.name + suffix)
        if journal.is_file() and is_pending(journal):
            raise RecordingError(
                f"it is not complete without {journal.name}, which a recorder left that was "
                f"killed; unite them: {UNITE} {shlex.quote(str(path))}"
            )


def _has_frames(journal: Path) -> bool:
    """Whether a write-ahead log holds more than its header."""
    return journal.stat().st_size > WAL_HEADER_BYTES


def _is_hot(journal: Path) -> bool:
    """Whether a rollback journal belongs to an unfinished change: it then has a header."""
    with journal.open("rb") as file:
        return file.read(len(JOURNAL_MAGIC)) == JOURNAL_MAGIC


def _check_size(path: Path) -> None:
    """Refuse a file that is cut short, as some versions of SQLite read the rest of it."""
    size = path.stat().st_size
    with path.open("rb") as file:
        header = file.read(HEADER.size)
    if len(header) < HEADER.size:
        raise RecordingError(f"it has {size} bytes; expected the {HEADER.size} of a header first")
    page_size, changes, n_pages, changes_at_count = HEADER.unpack(header)
    page_size = LARGEST_PAGE if page_size == 1 else page_size
    # Writers older than SQLite 3.7 do not update the number of pages.
    if changes == changes_at_count and size < n_pages * page_size:
        raise RecordingError(
            f"it is cut short: it has {size} bytes; expected {n_pages} pages of {page_size}"
        )


def _restrict(database: sqlite3.Connection, collector: MessageCollector) -> None:
    database.execute("PRAGMA trusted_schema=OFF")
    database.execute("PRAGMA cell_size_check=ON")
    largest = max(MAX_VALUE_BYTES, collector.limits.max_message_bytes)
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, largest)
    database.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    calls = iter(range(MAX_CALLS))
    database.set_progress_handler(lambda: next(calls, None) is None, STEPS_PER_CALL)
    database.set_authorizer(
        lambda action, *_: sqlite3.SQLITE_OK if action in ALLOWED_ACTIONS else sqlite3.SQLITE_DENY
    )


def _check_tables(database: sqlite3.Connection) -> None:
    for table in TABLES:
        found = database.execute(
            "SELECT type, sql FROM sqlite_master WHERE name = ?", (table,)
        ).fetchall()
        plain = [
            kind == "table" and isinstance(sql, str) and sql.upper().startswith("CREATE TABLE")
            for kind, sql in found
        ]
        if plain != [True]:
            raise RecordingError(f"it has no plain table {table!r}; expected one")


def _read_topics(database: sqlite3.Connection, collector: MessageCollector) -> dict[int, str]:
    """Return the topics to be read, by their number in the messages."""
    rows = database.execute(
        "SELECT id, name, type, serialization_format FROM topics LIMIT ?", (MAX_TOPICS + 1,)
    )
    wanted = {}
    for number, name, msgtype, serialization in rows:
        if not isinstance(number, int) or not all(
            isinstance(value, str) for value in (name, msgtype, serialization)
        ):
            raise RecordingError("its topics are not described by texts")
        topic = collector.add_topic(name, msgtype, serialization)
        if topic is not None:
            wanted[number] = topic
    return wanted


def _read_messages(
    database: sqlite3.Connection,
    topics: dict[int, str],
    collector: MessageCollector,
    progress: Callable[[float], None],
) -> None:
    # In the order of writing. Several numbers may belong to the same topic.
    numbers = ", ".join(map(str, topics))
    newest = database.execute("SELECT rowid FROM messages ORDER BY rowid DESC LIMIT 1").fetchone()
    rows = database.execute(
        "SELECT rowid, topic_id, timestamp, data FROM messages "
        f"WHERE topic_id IN ({numbers}) ORDER BY rowid"
    )
    for row, number, received, data in rows:
        if not isinstance(received, int) or not isinstance(data, bytes):
            raise RecordingError(
                f"a message on {topics[number]} is {type(data).__name__} at {received!r}; "
                "expected bytes at a time in ns"
            )
        collector.add(topics[number], received, data)
        if row % ROWS_PER_REPORT == 0:
            progress(row / newest[0])
