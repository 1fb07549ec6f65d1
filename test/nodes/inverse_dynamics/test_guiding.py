# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""An arm that is moved by hand, over DDS."""

import numpy as np
from controller_bench import CYCLE, RATE_LIMIT, trajectory
from std_srvs.srv import Trigger

from ilr_dynamics_msgs.msg import ControllerState


def pushed(arm, push, duration):
    """Torques while a hand pushes the joints, Nm; the drives act on the sum."""
    torques = []
    # The driver reports what the drives give, without the hand.
    arm.change_effort = lambda effort: effort - push
    for _ in range(round(duration / CYCLE)):
        answer = arm.answer_to(arm.joint_state())
        torques.append(list(answer.effort))
        arm.measured = arm.plant.step(np.array(answer.effort) + push)
        arm.time += CYCLE
    arm.change_effort = lambda effort: effort
    return np.array(torques)


def test_the_arm_is_guided_until_hold(arm):
    arm.run(0.3)
    answer = arm.ask(Trigger, "guide")
    assert (answer.success, answer.message) == (True, "guiding")
    before = arm.state()
    assert before.mode == ControllerState.GUIDING
    torques = [arm.run(0.5)]
    np.testing.assert_allclose(arm.state().measured_position, before.measured_position, atol=2e-3)
    # More than dry friction, as the analytic model knows none.
    torques.append(pushed(arm, np.array([6.0, 0.0, 0.0, 3.0]), 0.6))
    state = arm.state()
    assert state.mode == ControllerState.GUIDING
    moved = np.array(state.measured_position) - before.measured_position
    assert moved[0] > 0.05 and moved[3] > 0.05
    np.testing.assert_array_equal(state.desired_position, state.measured_position)
    np.testing.assert_array_equal(state.position_error, 0.0)
    level, message, _ = arm.diagnosis()
    assert message == "guiding"
    # A trajectory is refused, and asked again it goes on.
    arm.publish(trajectory(arm.joints, arm.eight, approach=1.0))
    assert arm.state().mode == ControllerState.GUIDING
    assert arm.ask(Trigger, "guide").success
    answer = arm.ask(Trigger, "hold")
    assert (answer.success, answer.message) == (True, "stopping")
    torques.append(arm.run(0.5))
    state = arm.state()
    assert state.mode == ControllerState.HOLDING
    np.testing.assert_allclose(state.position_error, 0.0, atol=0.05)
    for part in torques:
        assert (np.abs(np.diff(part, axis=0)) <= RATE_LIMIT * CYCLE + 1e-9).all()


def test_nobody_guides_while_a_trajectory_runs_or_in_a_fault(arm):
    arm.publish(trajectory(arm.joints, arm.eight))
    assert arm.state().mode == ControllerState.TRACKING
    answer = arm.ask(Trigger, "guide")
    assert not answer.success
    assert answer.message == (
        "the arm is not guided while tracking: expected the controller to be holding"
    )
    assert arm.state().mode == ControllerState.TRACKING
    arm.time += 0.5
    assert arm.state().mode == ControllerState.FAULT
    answer = arm.ask(Trigger, "guide")
    assert not answer.success
    assert answer.message.startswith("the arm is not guided while fault (joint states are 0.5")
    assert arm.ask(Trigger, "hold").message == "holding"
    assert arm.ask(Trigger, "guide").success


def test_the_pd_alone_is_guided_by_the_analytic_model(arm):
    """Without a model the arm would fall."""
    assert arm.set_parameters(controller="pd").successful
    arm.run(0.5)
    assert arm.ask(Trigger, "guide").success
    start = np.array(arm.state().measured_position)
    arm.run(0.5)
    np.testing.assert_allclose(arm.state().measured_position, start, atol=2e-3)


def test_parameters_of_a_guided_arm_may_be_changed(arm):
    arm.run(0.3)
    assert arm.ask(Trigger, "guide").success
    arm.run(0.1)
    assert arm.set_parameters(guide__damping=2.0, guide__dither=0.0).successful
    torques = arm.run(0.2)
    assert (np.abs(np.diff(torques, axis=0)) <= RATE_LIMIT * CYCLE + 1e-9).all()
    assert not arm.set_parameters(guide__friction_share=1.5).successful
    assert arm.state().mode == ControllerState.GUIDING
