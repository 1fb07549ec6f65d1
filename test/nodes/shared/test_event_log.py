# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What is logged, read from where it goes: the process's standard error."""

import fcntl
import os
import time
from contextlib import contextmanager

from rclpy.logging import get_logger

from ilr_dynamics.nodes.shared.event_log import EventLog


def test_event_that_goes_on_is_one_line_a_second_with_a_count(log, lines):
    for _ in range(40):
        log.warning("late", "a state is late")
        log.error("bad", "a state is bad")
    assert lines() == ["a state is late", "a state is bad"]
    time.sleep(1.01)
    log.warning("late", "a state is late again")
    assert lines() == ["a state is late again (39 more like this meanwhile)"]


@contextmanager
def full_pipe():
    """Standard error as a pipe of one page that is full; yields the end that nobody reads."""
    # No fixture: pytest exchanges standard error between that and the test.
    kept = os.dup(2)
    reader, writer = os.pipe()
    size = fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    os.write(writer, b"x" * size)
    os.dup2(writer, 2)
    os.close(writer)
    try:
        yield reader
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(reader)


def test_log_that_nobody_reads_holds_nothing_up():
    events = EventLog(get_logger("test"))
    with full_pipe() as reader:
        for k in range(103):
            events.info(f"kind {k}", f"event {k}")
            events.error(f"fault {k}", "y" * 5000)
        os.read(reader, 4096)
        lines = []
        for _ in range(100):
            events.flush()
            lines.append(os.read(reader, 4096).decode())
        events.info("later", "read again")
        lines.append(os.read(reader, 4096).decode())
    texts = [line.split("[test]: ")[1] for line in lines]
    assert texts[0] == "event 0\n"
    assert texts[1] == "y" * 3000 + "\n"
    assert texts[98] == "event 49\n"
    assert texts[99] == "y" * 3000 + " (106 lines after this one were lost)\n"
    assert texts[100] == "read again\n"
