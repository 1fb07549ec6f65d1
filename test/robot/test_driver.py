# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest

from ilr_dynamics.robot.driver import EventKind, TorqueDriver

LIMIT = [10.0, 5.0]
CYCLE = 0.002


def test_brakes_are_on_until_the_first_command():
    driver = TorqueDriver(LIMIT)
    assert driver.torque(0.0) == (None, None)
    assert driver.receive(0.0, 0.0, [1.0, 2.0]) is None
    torque, event = driver.torque(0.0)
    np.testing.assert_array_equal(torque, [1.0, 2.0])
    assert event is None
    assert not driver.braked


def test_last_torque_is_held_for_20_ms_and_then_the_brakes_go_on():
    driver = TorqueDriver(LIMIT)
    driver.receive(0.0, 0.0, [1.0, 2.0])
    for cycle in range(1, 11):
        torque, event = driver.torque(cycle * CYCLE)
        np.testing.assert_array_equal(torque, [1.0, 2.0])
        assert event.kind is EventKind.MISSING
    torque, event = driver.torque(11 * CYCLE)
    assert torque is None
    assert event.kind is EventKind.BRAKED
    assert "22.0 ms" in event.message
    assert driver.torque(12 * CYCLE) == (None, None)
    assert driver.counts == {EventKind.MISSING: 10, EventKind.BRAKED: 1}


@pytest.mark.parametrize(
    ("torque", "kind", "words"),
    [
        ([1.0], EventKind.WRONG_SIZE, "shape (1,), expected (2,)"),
        ([np.nan, 0.0], EventKind.NOT_FINITE, "expected finite"),
        ([0.0, np.inf], EventKind.NOT_FINITE, "expected finite"),
        ([0.0, -5.1], EventKind.BEYOND_LIMITS, "-5.1"),
    ],
)
def test_bad_torque_is_refused_and_the_last_one_held(torque, kind, words):
    driver = TorqueDriver(LIMIT)
    driver.receive(0.0, 0.0, [1.0, 2.0])
    event = driver.receive(CYCLE, CYCLE, torque)
    assert event.kind is kind
    assert words in event.message
    held, _ = driver.torque(CYCLE)
    np.testing.assert_array_equal(held, [1.0, 2.0])
    assert driver.counts[kind] == 1


def test_torque_at_the_limit_is_taken():
    driver = TorqueDriver(LIMIT)
    assert driver.receive(0.0, 0.0, [10.0, -5.0]) is None


@pytest.mark.parametrize("stamp", [0.979, 1.021])
def test_torque_for_a_state_too_far_away_is_late(stamp):
    driver = TorqueDriver(LIMIT)
    assert driver.receive(1.0, stamp, [1.0, 2.0]).kind is EventKind.LATE
    assert driver.braked


def test_torque_older_than_the_last_is_late():
    driver = TorqueDriver(LIMIT)
    driver.receive(1.0, 1.0, [1.0, 2.0])
    assert driver.receive(1.0, 1.0 - CYCLE, [3.0, 4.0]).kind is EventKind.LATE
    np.testing.assert_array_equal(driver.torque(1.0)[0], [1.0, 2.0])


def test_new_valid_torque_releases_the_brakes():
    driver = TorqueDriver(LIMIT)
    driver.receive(0.0, 0.0, [1.0, 2.0])
    driver.torque(1.0)
    assert driver.braked
    driver.receive(1.0, 1.0, [3.0, 4.0])
    np.testing.assert_array_equal(driver.torque(1.0)[0], [3.0, 4.0])


def test_brake_forgets_the_last_torque():
    driver = TorqueDriver(LIMIT)
    driver.receive(0.0, 0.0, [1.0, 2.0])
    driver.brake()
    assert driver.torque(0.0) == (None, None)


def test_command_does_not_change_with_the_array_it_came_in():
    driver = TorqueDriver(LIMIT)
    command = np.array([1.0, 2.0])
    driver.receive(0.0, 0.0, command)
    command[:] = 9.0
    np.testing.assert_array_equal(driver.torque(0.0)[0], [1.0, 2.0])
