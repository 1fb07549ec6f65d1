# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from ilr_dynamics.control import DriverWatch

JOINTS = ("j1", "j2")
PERIOD = 0.002


class Driver:
    """Answers a command that falls by 0.1 Nm a cycle, some cycles late."""

    def __init__(self, delay=3):
        self.watch = DriverWatch(np.array([0.5, 0.2]), timeout=0.1)
        self.delay = delay
        self.commands = []
        self.time = 0.0

    def cycle(self, effort=None):
        self.commands.append(np.array([5.0 - 0.1 * len(self.commands), 3.0]))
        self.watch.commanded(self.commands[-1])
        self.time += PERIOD
        answered = self.commands[max(0, len(self.commands) - 1 - self.delay)]
        return self.watch.violation(self.time, answered if effort is None else effort, JOINTS)


def test_a_driver_that_follows_a_few_cycles_late_is_no_violation():
    driver = Driver(delay=8)
    assert not any(driver.cycle() for _ in range(200))


@pytest.mark.parametrize("effort", [[0.0, 0.0], [np.nan, 3.0]])
def test_a_driver_that_does_something_else_is_found_after_the_timeout(effort):
    driver = Driver()
    for _ in range(20):
        assert driver.cycle() is None
    found = [driver.cycle(np.array(effort)) for _ in range(70)]
    assert found[49] is None
    assert "does not follow" in found[-1]
    driver.watch.reset()
    assert driver.cycle(np.array(effort)) is None


def test_the_first_torques_may_take_a_second_to_reach_the_driver():
    driver = Driver()
    found = [driver.cycle(np.zeros(2)) for _ in range(600)]
    assert not any(found[:500])
    assert "does not follow" in found[-1]
    driver.watch.reset()
    assert not any(driver.cycle(np.zeros(2)) for _ in range(500))
    assert not any(driver.cycle() for _ in range(20))
    assert any(driver.cycle(np.zeros(2)) for _ in range(60))


def test_a_moment_is_passed_over():
    driver = Driver()
    for _ in range(20):
        driver.cycle()
    for _ in range(5):
        assert not any(driver.cycle(np.array([0.0, 0.0])) for _ in range(40))
        assert driver.cycle() is None


def test_a_driver_that_does_not_tell_is_named():
    watch = DriverWatch(np.array([1.0, 1.0]), timeout=0.1)
    for _ in range(10):
        watch.commanded(np.zeros(2))
    assert watch.violation(1.0, None, JOINTS) is None
    assert "reports no torques" in watch.violation(1.2, None, JOINTS)


def test_without_a_tolerance_nothing_is_watched():
    watch = DriverWatch(None, timeout=0.1)
    for cycle in range(100):
        watch.commanded(np.zeros(2))
        assert watch.violation(0.01 * cycle, np.array([99.0, 99.0]), JOINTS) is None
