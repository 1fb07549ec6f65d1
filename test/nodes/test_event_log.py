# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What is logged, read from where it goes: the process's standard error."""

import fcntl
import os
import time
from contextlib import contextmanager

import numpy as np
import pytest
from rclpy.logging import get_logger

from ilr_dynamics.control import Command, FeedForwardTorque, JointLimits, Mode, Reference
from ilr_dynamics.nodes.event_log import EventLog
from ilr_dynamics.nodes.loop_events import LoopEvents

LIMITS = JointLimits(("a", "b"), [-1.0, -1.0], [1.0, 1.0], [2.0, 2.0], [20.0, 10.0], [9.0, 9.0])


@pytest.fixture
def log():
    return EventLog(get_logger("test"))


@pytest.fixture
def lines(capfd):
    """Lines since the last call, without stamps."""
    return lambda: [line.split("[test]: ")[1] for line in capfd.readouterr().err.splitlines()]


def command(torque, gate=1.0):
    feedforward = FeedForwardTorque(np.array([30.0, 1.0]), np.array([0.5, 4.0]), 3, 0.25, gate)
    rest = np.zeros(2)
    reference = Reference.at_rest([0.5, -0.25])
    return Command(
        1.0, Mode.TRACKING, np.array(torque), feedforward, rest, reference, rest, rest, True, True
    )


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


def test_torque_at_its_limit_is_named_with_what_was_wanted(log, lines):
    LoopEvents(log).saturated(command([20.0, 1.0]), LIMITS)
    assert lines() == ["torque at its limit in a: wanted [30] Nm, limited to [20] Nm"]


def test_model_that_is_not_trusted_is_named_with_its_reasons(log, lines):
    LoopEvents(log).trust(command([0.0, 0.0], gate=0.6), "analytic")
    assert lines() == []
    LoopEvents(log).trust(command([0.0, 0.0], gate=0.1), "analytic")
    assert lines() == [
        "the learned torque is too uncertain at [0.5, -0.25] rad: share 0.10 of it used "
        "(weight of the unseen component 0.25, std [0.5, 4] Nm), fallback: analytic"
    ]


def test_modes_are_told_when_they_change(log, lines):
    events = LoopEvents(log)
    for mode, fault in ((Mode.HOLDING, ""), (Mode.HOLDING, ""), (Mode.FAULT, "too fast")):
        events.mode(mode, fault)
    assert lines() == ["waiting -> holding", "holding -> fault: too fast"]


def test_fault_after_a_fault_is_told(log, lines):
    events = LoopEvents(log)
    events.mode(Mode.FAULT, "too fast")
    time.sleep(1.01)
    events.mode(Mode.FAULT, "too fast")
    events.mode(Mode.FAULT, "silence")
    assert lines() == ["waiting -> fault: too fast", "fault -> fault: silence"]
