# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Joint states that stop coming, and a driver that does not do what it is told."""

import numpy as np
import pytest
from controller_bench import CYCLE, RATE_LIMIT, stamp
from rosgraph_msgs.msg import Clock
from std_srvs.srv import Trigger

from ilr_dynamics_msgs.msg import ControllerState

# Joint states are missed soon; and, as everywhere else, not while other things are looked at.
QUICK = {"supervision__silence_timeout": 0.2, "fault__let_down_time": 0.3}
USUAL = {"supervision__silence_timeout": 60.0, "fault__let_down_time": 3.0}


def test_silence_lets_the_arm_down(arm):
    assert arm.set_parameters(**QUICK).successful
    torques = [arm.run(0.1)[-1]]
    arm.torques.clear()
    arm.states.clear()
    arm.spin(2.0)
    torques += [torque.effort for torque in arm.torques]
    assert [state.mode for state in arm.states[-5:]] == [ControllerState.FAULT] * 5
    assert list(arm.states[-1].commanded_torque) == [0.0] * 4
    np.testing.assert_allclose(arm.states[-1].measured_position, arm.measured.position, atol=0.01)
    # Nothing can be held yet.
    assert not arm.ask(Trigger, "hold", moving=False).success
    assert np.abs(torques[0]).max() > 5.0
    assert list(torques[-1]) == [0.0] * 4
    assert (np.abs(np.diff(torques, axis=0)) <= RATE_LIMIT * CYCLE + 1e-9).all()
    assert arm.set_parameters(moving=False, **USUAL).successful
    # Time stood still, so the next state is not late, and yet the fault stays.
    assert arm.state().mode == ControllerState.FAULT
    stopped = arm.ask(Trigger, "stop")
    assert not stopped.success and "no joint state for " in stopped.message
    assert arm.ask(Trigger, "hold").message == "holding"


def test_silence_counts_unless_simulated_time_is_seen_to_stand_still(arm):
    assert arm.set_parameters(use_sim_time=True, **QUICK).successful
    clock = arm.node.create_publisher(Clock, "/clock", 10)
    for _ in range(100):
        clock.publish(Clock(clock=stamp(arm.time)))
        arm.cycle()
    arm.torques.clear()
    arm.spin(0.6)
    assert not arm.torques
    # Stamps by another clock: it says nothing about the arm.
    clock.publish(Clock(clock=stamp(arm.time + 50.0)))
    arm.spin(0.6)
    assert arm.states[-1].mode == ControllerState.FAULT
    arm.run(0.02)
    assert arm.ask(Trigger, "hold").message == "holding"
    arm.node.destroy_publisher(clock)
    arm.states.clear()
    arm.spin(0.6)
    assert arm.states[-1].mode == ControllerState.FAULT
    assert arm.set_parameters(moving=False, use_sim_time=False, **USUAL).successful
    arm.run(0.02)
    assert arm.ask(Trigger, "hold").message == "holding"


def test_hold_is_refused_while_nobody_knows_where_the_arm_is(arm):
    assert arm.set_parameters(**QUICK).successful
    arm.run(0.1)
    arm.spin(1.0)
    answer = arm.ask(Trigger, "hold", moving=False)
    assert not answer.success and "no joint state for" in answer.message
    arm.torques.clear()
    arm.spin(0.5)
    assert not arm.torques
    assert arm.set_parameters(moving=False, **USUAL).successful
    assert arm.state().mode == ControllerState.FAULT
    answer = arm.ask(Trigger, "hold")
    assert answer.success and answer.message == "holding"


@pytest.mark.parametrize(
    ("efforts", "text"),
    [([0.0] * 4, "does not follow: its torque in joint j2"), ([], "reports no torques")],
)
def test_driver_that_does_not_do_what_it_is_told_is_a_fault(arm, efforts, text):
    assert np.abs(arm.run(0.2)[-1][1]) > 8.0
    arm.change_effort = lambda measured: efforts
    arm.run(0.08)
    assert arm.state().mode == ControllerState.HOLDING
    arm.run(0.1)
    arm.change_effort = lambda measured: measured
    assert arm.state().mode == ControllerState.FAULT
    assert text in arm.ask(Trigger, "stop").message
    assert arm.ask(Trigger, "hold").message == "holding"
