# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What is logged, read from where it goes: the process's standard error."""

import fcntl
import os
from contextlib import contextmanager

import pytest
from rclpy.logging import LoggingSeverity, get_logger

from ilr_dynamics.nodes.shared import event_log
from ilr_dynamics.nodes.shared.event_log import EventLog


@pytest.fixture
def clock(monkeypatch):
    """The log's clock, which a test moves on."""
    clock = Clock()
    monkeypatch.setattr(event_log, "time", clock)
    return clock


class Clock:
    def __init__(self):
        self.now = 1000.0

    def monotonic(self):
        return self.now


def test_problem_that_goes_on_is_one_line_a_second_with_a_count(clock, log, lines):
    for _ in range(40):
        log.warning("late", "a state is late")
        log.error("bad", "a state is bad")
    assert lines() == ["a state is late", "a state is bad"]
    clock.now += 1.01
    log.warning("late", "a state is late again")
    assert lines() == ["a state is late again (39 more like this meanwhile)"]


def test_normal_operation_is_two_lines_of_each_kind_in_two_minutes(clock, log, lines):
    for pass_ in range(5):
        log.info("accepted", f"trajectory {pass_}")
        log.info("mode", f"tracking {pass_}")
        clock.now += 22.0
    assert lines() == ["trajectory 0", "tracking 0", "trajectory 1", "tracking 1"]
    clock.now += 10.0
    log.info("accepted", "trajectory 5")
    assert lines() == ["trajectory 5 (3 more like this meanwhile)"]


def test_condition_that_recurs_is_said_once_and_counted(clock, log, lines):
    for _ in range(1000):
        log.recurring("rate", lambda: "joint states are rare")
        log.recurring("brakes", "brakes on", LoggingSeverity.ERROR)
        clock.now += 0.5
    said = "; more like this are counted in /diagnostics"
    assert lines() == [f"joint states are rare{said}", f"brakes on{said}"]
    assert log.counts == {"brakes": "1000", "rate": "1000"}


def test_condition_that_was_absent_for_a_minute_is_news(clock, log, lines):
    for absence in (0.0, 59.0, 61.0):
        clock.now += absence
        log.recurring("rate", f"rare after {absence:.0f} s")
    assert [line.split(";")[0] for line in lines()] == ["rare after 0 s", "rare after 61 s"]


def test_text_of_a_condition_is_made_only_for_its_line(log):
    made = []
    for _ in range(3):
        log.recurring("rate", lambda: made.append(1) or "rare")
    assert len(made) == 1


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
