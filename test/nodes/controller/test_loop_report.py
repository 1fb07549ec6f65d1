# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What is logged of the control loop."""

import time

import numpy as np

from ilr_dynamics.control import Command, FeedForwardTorque, JointLimits, Mode, Reference
from ilr_dynamics.nodes.controller.loop_report import LoopEvents

LIMITS = JointLimits(("a", "b"), [-1.0, -1.0], [1.0, 1.0], [2.0, 2.0], [20.0, 10.0], [9.0, 9.0])
COUNTED = "; more like this are counted in /diagnostics"


def command(torque, gate=1.0):
    feedforward = FeedForwardTorque(np.array([30.0, 1.0]), np.array([0.5, 4.0]), 3, 0.25, gate)
    rest = np.zeros(2)
    reference = Reference.at_rest([0.5, -0.25])
    return Command(
        1.0, Mode.TRACKING, np.array(torque), feedforward, rest, reference, rest, rest, True, True
    )


def test_torque_at_its_limit_is_named_with_what_was_wanted(log, lines):
    LoopEvents(log).saturated(command([20.0, 1.0]), LIMITS)
    assert lines() == ["torque at its limit in a: wanted [30] Nm, limited to [20] Nm" + COUNTED]


def test_model_that_is_not_trusted_is_named_with_its_reasons(log, lines):
    LoopEvents(log).trust(command([0.0, 0.0], gate=0.6), "analytic")
    assert lines() == []
    LoopEvents(log).trust(command([0.0, 0.0], gate=0.1), "analytic")
    assert lines() == [
        "the learned torque is too uncertain at [0.5, -0.25] rad: share 0.10 of it used "
        "(weight of the unseen component 0.25, std [0.5, 4] Nm), fallback: analytic" + COUNTED
    ]


def test_joint_states_are_refused_in_a_line_for_each_kind_of_reason(log, lines):
    events = LoopEvents(log)
    for k in range(3):
        events.refused("not newer than the last one")
        events.refused(f"joint a moved by {k} rad")
    refused = "joint state not answered: "
    assert lines() == [
        f"{refused}not newer than the last one{COUNTED}",
        f"{refused}joint a moved by 0 rad{COUNTED}",
    ]
    assert list(log.counts.values()) == ["3", "3"]


def test_joint_states_without_velocities_are_told_once(log, lines):
    events = LoopEvents(log)
    for _ in range(3):
        events.velocity_missing(30.0)
    (line,) = lines()
    assert "positions are differentiated, with a low-pass of 30 Hz" in line


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
