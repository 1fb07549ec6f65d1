# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The table of transitions, the picture of it, and the controller that goes by it."""

import re
from pathlib import Path

import numpy as np
import pytest

from ilr_dynamics.control import JointPath, Mode, NoFeedForward, TrackingController
from ilr_dynamics.control.guiding import Guidance, Guide
from ilr_dynamics.control.modes import TRANSITIONS, Event
from ilr_dynamics.exceptions import TrajectoryError

PICTURE = Path(__file__).parents[2] / "docs" / "architecture.md"
PERIOD = 0.002
POINT = JointPath([0.2], [[0.05, 0.0]], [[0.0, 0.0]])


class Driven:
    """A controller whose arm is where it should be."""

    def __init__(self, controller):
        self.controller = controller
        self.time = 10.0

    def step(self, velocity=0.0):
        self.time += PERIOD
        reference = self.controller.reference
        self.controller.step(self.time, reference.position, reference.velocity + velocity)

    def run_until(self, mode):
        for _ in range(1000):
            if self.controller.mode is mode:
                return
            self.step()
        raise AssertionError(f"never {mode.name.lower()}")

    def follow(self):
        self.controller.set_trajectory(POINT)

    def guide(self):
        assert self.controller.guide() == ""

    def reach(self, mode):
        """Come from the beginning to a mode."""
        if mode is not Mode.WAITING:
            self.step()
        if mode in (Mode.TRACKING, Mode.STOPPING):
            self.follow()
            self.step()
        if mode is Mode.STOPPING:
            self.controller.stop()
        if mode is Mode.GUIDING:
            self.guide()
            self.step()
        if mode is Mode.FAULT:
            self.step(velocity=100.0)
        assert self.controller.mode is mode

    def happen(self, event):
        """Let an event happen, as it does in use; those that take time are waited for."""
        if event is Event.END:
            self.run_until(Mode.STOPPING)
        elif event is Event.HALTED:
            self.run_until(Mode.HOLDING)
        else:
            {
                Event.STATE: self.step,
                Event.TRAJECTORY: self.follow,
                Event.STOP: self.controller.stop,
                Event.GUIDE: self.guide,
                Event.HOLD: self.controller.hold,
                Event.FAULT: lambda: self.step(velocity=100.0),
                Event.RESET: self.controller.reset,
            }[event]()


@pytest.fixture
def driven(limits, gains, supervision):
    guide = Guide(0.8, 0.9, [0.3, 0.1], [1.0, 1.0], [15.0, 5.0], 0.1, [40.0, 20.0])
    guidance = Guidance(guide, NoFeedForward(2))
    return Driven(TrackingController(limits, gains, supervision, guidance=guidance))


@pytest.mark.parametrize(("mode", "event"), TRANSITIONS, ids=lambda value: value.name.lower())
def test_every_transition_happens(driven, mode, event):
    driven.reach(mode)
    # A path that ends in motion shows the braking at its end.
    if event is Event.END:
        zero = np.zeros(2)
        driven.controller.set_trajectory(
            JointPath([0.0, 0.1], [zero, zero + 0.02], [zero, zero + 0.4])
        )
    driven.happen(event)
    assert driven.controller.mode is TRANSITIONS[mode, event]


@pytest.mark.parametrize("mode", [Mode.WAITING, Mode.STOPPING, Mode.FAULT, Mode.GUIDING])
def test_trajectory_is_refused_where_the_table_has_none(driven, mode):
    driven.reach(mode)
    assert (mode, Event.TRAJECTORY) not in TRANSITIONS
    with pytest.raises(
        TrajectoryError, match=f"no trajectory is accepted while {mode.name}".lower()
    ):
        driven.follow()
    assert driven.controller.mode is mode


@pytest.mark.parametrize("mode", [Mode.WAITING, Mode.TRACKING, Mode.STOPPING, Mode.FAULT])
def test_nobody_guides_where_the_table_has_it_not(driven, mode):
    driven.reach(mode)
    assert (mode, Event.GUIDE) not in TRANSITIONS
    refusal = driven.controller.guide()
    assert refusal.startswith(f"the arm is not guided while {mode.name.lower()}")
    assert "expected the controller to be holding" in refusal
    assert driven.controller.fault in refusal
    assert driven.controller.mode is mode


def test_nobody_guides_without_a_model(limits, gains, supervision):
    alone = Driven(TrackingController(limits, gains, supervision))
    alone.step()
    assert "nothing carries the arm" in alone.controller.guide()
    assert alone.controller.mode is Mode.HOLDING


def test_faults_come_before_the_first_state_never(driven):
    assert (Mode.WAITING, Event.FAULT) not in TRANSITIONS
    driven.step(velocity=100.0)
    assert driven.controller.mode is Mode.FAULT
    driven.controller.reset()
    assert driven.controller.step_blind(100.0) is None
    assert driven.controller.mode is Mode.WAITING


@pytest.mark.parametrize("mode", Mode)
def test_person_can_stop_and_hold_in_every_mode(mode):
    assert (mode, Event.STOP) in TRANSITIONS
    assert (mode, Event.HOLD) in TRANSITIONS


def test_only_hold_and_reset_leave_a_fault():
    ways = {event for (mode, event), to in TRANSITIONS.items() if mode is Mode.FAULT is not to}
    assert ways == {Event.HOLD, Event.RESET}


def test_tracking_is_entered_by_a_trajectory_only():
    ways = {event for (_, event), to in TRANSITIONS.items() if to is Mode.TRACKING}
    assert ways == {Event.TRAJECTORY}


def test_picture_shows_the_table():
    text = PICTURE.read_text()
    diagram = text[text.index("stateDiagram-v2") :].split("```")[0]
    arrows = re.findall(r"^ +(\w+) --> (\w+): (.+)$", diagram, flags=re.MULTILINE)
    shown = {
        (Mode[start.upper()], Event[name.strip().upper()]): Mode[end.upper()]
        for start, end, names in arrows
        for name in names.split(",")
    }
    # The reset is one sentence below the picture instead of five arrows in it.
    assert shown == {key: to for key, to in TRANSITIONS.items() if key[1] is not Event.RESET}
    assert "[*] --> waiting" in diagram
