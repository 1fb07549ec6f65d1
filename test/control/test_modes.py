# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import pytest

from ilr_dynamics.control.modes import TRANSITIONS, Event, Mode


@pytest.mark.parametrize("mode", Mode)
def test_person_can_stop_and_hold_in_every_mode(mode):
    assert (mode, Event.STOP) in TRANSITIONS
    assert (mode, Event.HOLD) in TRANSITIONS


@pytest.mark.parametrize("mode", Mode)
def test_reset_leads_to_waiting(mode):
    assert TRANSITIONS[mode, Event.RESET] is Mode.WAITING


def test_only_hold_and_reset_leave_a_fault():
    ways = {event for (mode, event), to in TRANSITIONS.items() if mode is Mode.FAULT is not to}
    assert ways == {Event.HOLD, Event.RESET}


def test_tracking_is_entered_by_a_trajectory_only():
    ways = {event for (_, event), to in TRANSITIONS.items() if to is Mode.TRACKING}
    assert ways == {Event.TRAJECTORY}


@pytest.mark.parametrize("mode", [Mode.HOLDING, Mode.TRACKING, Mode.STOPPING, Mode.FAULT])
def test_every_active_mode_knows_faults(mode):
    assert TRANSITIONS[mode, Event.FAULT] is Mode.FAULT
