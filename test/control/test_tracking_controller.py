# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import dataclasses

import numpy as np
import pytest

from ilr_dynamics.control import (
    FeedForwardTorque,
    Gains,
    JointPath,
    Mode,
    TrackingController,
)
from ilr_dynamics.exceptions import TrajectoryError

PERIOD = 0.002
REST = np.zeros(2)


class Constant:
    """The same feed-forward torque everywhere."""

    def __init__(self, *torque):
        self.torque = np.array(torque)

    def __call__(self, reference):
        return FeedForwardTorque(self.torque, np.zeros(2), component=5, gate=1.0)


class Cycles:
    """Feeds a controller joint states at the nominal rate."""

    def __init__(self, controller, time=50.0):
        self.controller = controller
        self.time = time

    def step(self, position=REST, velocity=REST, after=PERIOD):
        self.time += after
        return self.controller.step(self.time, np.array(position), np.array(velocity))

    def run(self, duration, position=REST):
        return [self.step(position) for _ in range(round(duration / PERIOD))][-1]

    def follow(self, duration):
        """Be where the controller wants the arm to be."""
        for _ in range(round(duration / PERIOD)):
            wanted = self.controller.reference
            command = self.step(wanted.position, wanted.velocity)
        return command


@pytest.fixture
def controller(limits, gains, supervision):
    return TrackingController(
        limits,
        gains,
        supervision,
        feedforward=Constant(4.0, -2.0),
        fault_feedforward=Constant(1.0, 1.0),
    )


@pytest.fixture
def cycles(controller):
    return Cycles(controller)


@pytest.fixture
def tracking(cycles, sway):
    cycles.run(0.2)
    cycles.controller.set_trajectory(sway)
    cycles.follow(0.3)
    return cycles


def test_first_state_is_held_and_torque_starts_at_zero(cycles):
    command = cycles.step([0.3, -0.2])
    assert command.mode is Mode.HOLDING
    np.testing.assert_array_equal(command.reference.position, [0.3, -0.2])
    np.testing.assert_array_equal(command.torque, [0.0, 0.0])


def test_feedforward_fades_in_while_holding(cycles):
    torques = np.array([cycles.step().feedforward.torque for _ in range(60)])
    assert (np.diff(torques[:, 0]) >= 0.0).all()
    np.testing.assert_array_equal(torques[-1], [4.0, -2.0])


def test_command_is_feedforward_plus_pd(cycles, gains):
    cycles.run(0.2)
    position = np.array([0.01, 0.02])
    command = cycles.run(0.1, position)
    np.testing.assert_allclose(command.pd, -gains.kp * position)
    np.testing.assert_allclose(command.torque, command.feedforward.torque + command.pd)
    assert not command.limited
    assert (command.feedforward.component, command.feedforward.gate) == (5, 1.0)


def test_trajectory_is_tracked_to_its_end_and_held(tracking, sway):
    assert tracking.controller.mode is Mode.TRACKING
    command = tracking.follow(0.8)
    assert command.mode is Mode.HOLDING
    np.testing.assert_array_equal(command.reference.position, sway.positions[-1])


def test_trajectory_that_ends_in_motion_is_braked(cycles):
    cycles.run(0.2)
    cycles.controller.set_trajectory(
        JointPath([0.0, 1.0], [[0.0, 0.0], [0.2, 0.0]], [[0.0, 0.0], [0.4, 0.0]])
    )
    assert cycles.follow(1.004).mode is Mode.STOPPING
    command = cycles.follow(0.3)
    assert command.mode is Mode.HOLDING
    assert 0.2 < command.reference.position[0] < 0.3


def test_difference_that_still_fades_does_not_stop_the_arm_where_a_path_ends_in_motion(cycles):
    cycles.run(0.2)
    # The path ends after a fifth of the time in which the distance to it fades.
    cycles.controller.set_trajectory(
        JointPath([0.0, 0.1], [[0.05, 0.0], [0.15, 0.0]], np.ones((2, 1)) * [1.0, 0.0])
    )
    references = []
    for _ in range(round(0.6 / PERIOD)):
        cycles.follow(PERIOD)
        references.append(cycles.controller.reference)
    velocities = np.array([reference.velocity[0] for reference in references])
    accelerations = np.array([reference.acceleration[0] for reference in references])
    assert velocities.max() > 0.5
    assert cycles.controller.mode is Mode.HOLDING
    bound = 1.1 * np.abs(accelerations).max() * PERIOD
    assert np.abs(np.diff(velocities)).max() < bound


def test_new_trajectory_replaces_the_old(tracking):
    tracking.controller.set_trajectory(JointPath([0.6], [[0.15, 0.0]]))
    assert tracking.follow(0.1).mode is Mode.TRACKING
    command = tracking.follow(0.6)
    assert command.mode is Mode.HOLDING
    np.testing.assert_array_equal(command.reference.position, [0.15, 0.0])


def test_refused_trajectory_leaves_the_old_one_running(tracking, sway):
    with pytest.raises(TrajectoryError, match="starts with joint j1 at 1.900 rad"):
        tracking.controller.set_trajectory(JointPath([0.0], [[1.9, 0.0]]))
    assert tracking.controller.mode is Mode.TRACKING
    command = tracking.follow(0.8)
    np.testing.assert_array_equal(command.reference.position, sway.positions[-1])


def test_stop_brakes_and_then_holds(tracking):
    tracking.controller.stop()
    assert tracking.step(*moving(tracking)).mode is Mode.STOPPING
    assert tracking.follow(0.6).mode is Mode.HOLDING


def test_stop_and_hold_leave_braking_and_holding_alone(tracking):
    for request in (tracking.controller.stop, tracking.controller.hold):
        request()
        assert tracking.step(*moving(tracking)).mode is Mode.STOPPING
    held = tracking.follow(0.6)
    tracking.controller.stop()
    tracking.controller.hold()
    after = tracking.follow(0.1)
    assert after.mode is Mode.HOLDING
    np.testing.assert_array_equal(after.reference.position, held.reference.position)


def test_no_trajectory_is_accepted_while_stopping(tracking, sway):
    tracking.controller.stop()
    with pytest.raises(TrajectoryError, match="while stopping: expected .* holding or tracking"):
        tracking.controller.set_trajectory(sway)


def test_no_trajectory_is_accepted_before_the_first_state(controller, sway):
    with pytest.raises(TrajectoryError, match="while waiting"):
        controller.set_trajectory(sway)
    controller.stop()
    controller.hold()
    assert controller.mode is Mode.WAITING


def test_tracking_error_is_a_fault_that_holds_the_measured_position(tracking):
    # The arm is pushed away, as fast as it may move.
    where = tracking.controller.reference.position.copy()
    while tracking.controller.mode is Mode.TRACKING:
        where = where + [0.005, 0.0]
        command = tracking.step(where)
    assert command.mode is Mode.FAULT
    assert "tracking error of joint j1" in tracking.controller.fault
    np.testing.assert_array_equal(command.reference.position, where)
    command = tracking.run(0.3, where)
    np.testing.assert_allclose(command.torque, [1.0, 1.0])


def test_velocity_is_a_fault(cycles):
    cycles.run(0.2)
    assert cycles.step(velocity=[0.0, 3.1]).mode is Mode.FAULT
    assert "velocity of joint j2 is 3.100 rad/s" in cycles.controller.fault


def test_no_trajectory_is_accepted_in_a_fault(cycles, sway):
    cycles.run(0.2)
    cycles.step(velocity=[0.0, 3.1])
    with pytest.raises(TrajectoryError, match=r"while fault \(velocity of joint j2"):
        cycles.controller.set_trajectory(sway)


def test_stop_keeps_a_fault_and_hold_ends_it(cycles, sway):
    cycles.run(0.2)
    cycles.step(velocity=[0.0, 3.1])
    cycles.controller.stop()
    assert cycles.step([0.04, 0.0]).mode is Mode.FAULT
    cycles.controller.hold()
    command = cycles.step([0.04, 0.0])
    assert command.mode is Mode.HOLDING
    assert cycles.controller.fault == ""
    np.testing.assert_array_equal(command.reference.position, [0.04, 0.0])


def test_fault_lets_the_arm_down_if_asked(cycles, gains):
    controller = cycles.controller
    controller.supervision = dataclasses.replace(controller.supervision, let_down_time=1.0)
    cycles.run(0.2)
    cycles.step(velocity=[0.0, 3.1])
    held = cycles.run(0.1)
    later = cycles.run(0.5)
    assert 0.0 < later.torque[0] < held.torque[0]
    cycles.run(0.6)
    sinking = [cycles.step(velocity=[0.4, 0.0]) for _ in range(20)][-1]
    np.testing.assert_allclose(sinking.torque, -gains.kd * [0.4, 0.0])


@pytest.mark.parametrize("after", [0.15, 1e3, -0.15, -40.0])
def test_gap_between_states_is_a_fault(tracking, after):
    assert tracking.step([0.1, 0.0], after=after).mode is Mode.FAULT
    assert f"joint states are {after:.3f} s apart" in tracking.controller.fault
    assert tracking.run(0.3, [0.1, 0.0]).mode is Mode.FAULT


@pytest.mark.parametrize("after", [0.0, -0.001, -0.09])
def test_state_that_is_no_news_is_not_answered(cycles, after):
    cycles.run(0.1)
    assert cycles.step(after=after) is None
    assert cycles.controller.mode is Mode.HOLDING


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_state_that_is_not_finite_is_not_answered(cycles, bad):
    assert cycles.step([bad, 0.0]) is None
    assert cycles.step(velocity=[0.0, bad]) is None
    assert cycles.controller.mode is Mode.WAITING
    assert cycles.controller.step(bad, REST, REST) is None


def test_arm_without_joint_states_is_let_down_and_then_left_alone(tracking, limits):
    before = tracking.step(*moving(tracking)).torque
    silences = 0.5 + 0.02 * np.arange(400)
    torques = [tracking.controller.step_blind(silence) for silence in silences]
    assert tracking.controller.mode is Mode.FAULT
    assert tracking.controller.fault == "no joint state for 0.500 s"
    sent = np.array([before, *(torque for torque in torques if torque is not None)])
    assert (np.abs(np.diff(sent, axis=0)) <= limits.torque_rate * PERIOD + 1e-12).all()
    # The fault's feed-forward alone is on its way out: half of it after half of the time.
    np.testing.assert_allclose(sent[1 + 75], [0.5, 0.5], atol=0.01)
    np.testing.assert_array_equal(sent[-1], [0.0, 0.0])
    assert len(sent) < 160
    assert torques[-1] is None


def test_joint_states_that_come_back_find_a_fault(tracking, limits):
    for silence in (0.5, 0.52, 0.54):
        torque = tracking.controller.step_blind(silence)
    command = tracking.step([0.1, 0.0])
    assert command.mode is Mode.FAULT
    assert (np.abs(command.torque - torque) <= limits.torque_rate * PERIOD + 1e-12).all()
    tracking.controller.step_blind(0.7)
    assert tracking.controller.fault == "no joint state for 0.700 s"
    # Nobody knows where the arm is.
    tracking.controller.hold()
    assert tracking.controller.mode is Mode.FAULT
    torque = tracking.controller.step_blind(0.72)
    later = tracking.controller.step_blind(1.5)
    assert np.abs(later).sum() <= np.abs(torque).sum()
    assert tracking.step([0.1, 0.0]).mode is Mode.FAULT
    tracking.controller.hold()
    assert tracking.step([0.1, 0.0]).mode is Mode.HOLDING


@pytest.mark.parametrize("jump", [2.0 * np.pi, -1.0, 0.07])
def test_a_position_that_jumps_is_not_believed(cycles, jump):
    before = cycles.run(0.2)
    assert cycles.step([0.0, jump]) is None
    assert f"joint j2 has moved by {jump:.3f} rad within 0.002 s" in cycles.controller.refusal
    command = cycles.step()
    assert command.mode is Mode.HOLDING
    np.testing.assert_allclose(command.torque, before.torque)


def test_a_position_that_has_jumped_for_good_is_a_fault_that_holds_the_new_one(cycles):
    cycles.run(0.2)
    answers = [cycles.step([0.0, 1.0]) for _ in range(60)]
    assert answers[0] is None
    assert answers[-1].mode is Mode.FAULT
    np.testing.assert_array_equal(answers[-1].reference.position, [0.0, 1.0])
    np.testing.assert_array_equal(answers[-1].pd, [0.0, 0.0])


def test_an_arm_that_is_moved_in_a_fault_is_held_where_it_comes_to(cycles, supervision):
    cycles.run(0.2)
    cycles.step(velocity=[0.0, 3.1])
    pd = []
    for k in range(400):
        where = np.array([0.0, 0.002 * k])
        pd.append(cycles.step(where, [0.0, 1.0]).pd)
    # Never farther than a tracking error, however far it is led.
    stiffness = cycles.controller.gains.kp[1]
    assert np.abs(pd).max() <= stiffness * supervision.tracking_error[1] + 3.1
    fast = cycles.step(where + [0.0, 0.004], [0.0, 4.0])
    np.testing.assert_array_equal(fast.reference.position, where + [0.0, 0.004])


def test_the_feedforward_of_a_fault_fades_in(cycles):
    before = cycles.run(0.3)
    after = cycles.step(velocity=[0.0, 3.1])
    assert after.mode is Mode.FAULT
    np.testing.assert_allclose(after.feedforward.torque, before.feedforward.torque, atol=0.01)
    np.testing.assert_allclose(cycles.run(0.2).feedforward.torque, [1.0, 1.0])


def test_a_fault_found_elsewhere_is_one_here(cycles):
    cycles.controller.fail("too early")
    assert cycles.controller.mode is Mode.WAITING
    cycles.run(0.1)
    cycles.controller.fail("the driver does not follow")
    assert cycles.step().mode is Mode.FAULT
    assert cycles.controller.fault == "the driver does not follow"


def test_the_torque_is_taken_back_at_the_rate_limit(cycles, limits):
    torques = [cycles.run(0.3).torque]
    while (torque := cycles.controller.step_release()) is not None:
        torques.append(torque)
    assert len(torques) > 2
    np.testing.assert_array_equal(torques[-1], [0.0, 0.0])
    steps = np.abs(np.diff(torques, axis=0))
    assert (steps <= limits.torque_rate * PERIOD + 1e-12).all()


def test_burst_after_a_dropout_is_answered_within_the_rate_limit(cycles, limits):
    torques = [cycles.run(0.2).torque]
    torques.append(cycles.step([0.02, 0.0], after=0.08).torque)
    torques += [cycles.step([0.02, 0.0], after=1e-5).torque for _ in range(20)]
    assert cycles.controller.mode is Mode.HOLDING
    jumps = np.abs(np.diff(torques, axis=0))
    assert (jumps[0] <= limits.torque_rate * PERIOD + 1e-9).all()
    assert (jumps[1:] <= limits.torque_rate * 1e-5 + 1e-9).all()


def test_feedforward_that_is_not_finite_is_a_fault(cycles):
    cycles.run(0.2)
    cycles.controller.set_feedforward(Constant(np.nan, 0.0))
    assert cycles.step().mode is Mode.FAULT
    assert "feed-forward torque is [nan, 0.0]: expected finite" in cycles.controller.fault
    np.testing.assert_allclose(cycles.run(0.2).torque, [1.0, 1.0])


def test_reset_forgets_everything(tracking):
    tracking.controller.reset()
    assert tracking.controller.mode is Mode.WAITING
    command = tracking.step([1.5, 1.0], after=-30.0)
    assert command.mode is Mode.HOLDING
    np.testing.assert_array_equal(command.torque, [0.0, 0.0])


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c.set_feedforward(None),
        lambda c: c.set_feedforward(Constant(-15.0, 8.0)),
        lambda c: setattr(c, "gains", Gains([400.0, 200.0], [0.0, 0.0])),
        lambda c: setattr(c, "limits", dataclasses.replace(c.limits, torque=[1.0, 1.0])),
        lambda c: c.set_trajectory(JointPath([0.0], [[0.08, -0.08]])),
    ],
)
def test_change_at_run_time_moves_the_torque_at_the_rate_limit_at_most(cycles, limits, change):
    position = [0.05, -0.04]
    cycles.run(0.2)
    torques = [cycles.run(0.2, position).torque]
    change(cycles.controller)
    torques += [cycles.step(position).torque for _ in range(200)]
    jumps = np.abs(np.diff(torques, axis=0))
    assert (jumps <= limits.torque_rate * PERIOD + 1e-9).all()
    assert jumps.max() > 0.0


def test_late_state_does_not_widen_the_rate_limit(cycles, limits):
    before = cycles.run(0.2).torque
    command = cycles.step([0.4, 0.4], after=0.09)
    np.testing.assert_allclose(before - command.torque, limits.torque_rate * PERIOD)
    assert command.limited


def test_one_feedforward_fades_into_the_next(cycles):
    cycles.run(0.2)
    cycles.controller.set_feedforward(None)
    torques = np.array([cycles.step().feedforward.torque for _ in range(60)])
    np.testing.assert_array_equal(torques[0], [4.0, -2.0])
    assert (np.diff(torques[:, 0]) <= 0.0).all()
    np.testing.assert_array_equal(torques[-1], [0.0, 0.0])


def moving(cycles):
    wanted = cycles.controller.reference
    return wanted.position, wanted.velocity
