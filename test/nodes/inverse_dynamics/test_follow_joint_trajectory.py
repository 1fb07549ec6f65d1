# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Goals of control_msgs/FollowJointTrajectory, from a real client to the simulated arm."""

import os
import subprocess
import sys
from array import array

import numpy as np
import pytest
from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Duration
from controller_bench import CYCLE, NAME, RATE_LIMIT, stamp, trajectory
from lifecycle_msgs.msg import Transition
from rclpy.action import ActionClient
from rclpy.serialization import serialize_message
from std_srvs.srv import Trigger
from trajectory_msgs.msg import MultiDOFJointTrajectoryPoint

from ilr_dynamics.control import JointPath
from ilr_dynamics_msgs.msg import ControllerState

control_msgs = pytest.importorskip(
    "control_msgs.action", reason="there is no control_msgs: run `make test` or tools/run --test"
)
from control_msgs.action import FollowJointTrajectory  # noqa: E402
from control_msgs.msg import JointComponentTolerance, JointTolerance  # noqa: E402

Result = FollowJointTrajectory.Result
HELD = {ControllerState.HOLDING}


def cycles_until(bench, future):
    """Move on without a pause until an answer is there: the bench's own is for the learner."""
    end = bench.time + 30.0
    while not future.done():
        assert bench.time < end, "no answer within 30 s of the arm's time"
        bench.cycle()
    return future.result()


class Goals:
    """Action client of the bench, which keeps the arm controlled while it waits."""

    def __init__(self, bench):
        self._bench = bench
        self.feedback = []
        self._client = ActionClient(
            bench.node, FollowJointTrajectory, f"{NAME}/follow_joint_trajectory"
        )
        assert self._client.wait_for_server(timeout_sec=60.0)

    def close(self):
        self._client.destroy()

    def accepted(self, message, **tolerances):
        """Send a goal that has to be accepted, and return its handle."""
        handle = self.send(message, **tolerances)
        assert handle.accepted
        return handle

    def send(self, message, *, moving=True, **tolerances):
        """Send a goal, and return its handle when it has been accepted or rejected."""
        goal = FollowJointTrajectory.Goal(trajectory=message, **tolerances)
        future = self._client.send_goal_async(goal, self.feedback.append)
        return self._answer(future, moving)

    def result(self, handle, *, moving=True):
        """Wait for the end of a goal; return its status, error code and error string."""
        answer = self._answer(handle.get_result_async(), moving)
        return answer.status, answer.result.error_code, answer.result.error_string

    def cancel(self, handle):
        """Ask to cancel, and return whether that was accepted."""
        return bool(self._answer(handle.cancel_goal_async(), True).goals_canceling)

    def _answer(self, future, moving):
        if moving:
            return cycles_until(self._bench, future)
        self._bench.executor.spin_until_future_complete(future, timeout_sec=60.0)
        return future.result()


@pytest.fixture
def goals(bench):
    goals = Goals(bench)
    yield goals
    goals.close()


@pytest.fixture
def holding(goals, arm):
    """The arm, held by the active node, that takes goals."""
    return arm


def tolerance(joint, position=0.0, velocity=0.0, acceleration=0.0):
    return JointTolerance(
        name=joint, position=position, velocity=velocity, acceleration=acceleration
    )


def to_rest(path):
    """The eight of the bench, which ends in motion, and then a halt along it."""
    position, velocity, _ = (field[-1] for field in path.fields)
    ends = (position + 0.3 * velocity, np.zeros(4), np.zeros(4))
    fields = (np.vstack((field, end)) for field, end in zip(path.fields, ends, strict=True))
    return JointPath(np.append(path.times, path.end + 0.6), *fields)


def eight(arm, approach=0.0):
    return trajectory(list(arm.joints), to_rest(arm.eight), approach)


def to(arm, offset, duration=0.6):
    """A trajectory that ends at an offset from the start of the eight."""
    target = arm.eight.positions[0] + offset
    return trajectory(list(arm.joints), JointPath([duration], [target], [np.zeros(4)]))


def modes(arm, duration):
    arm.states.clear()
    arm.run(duration)
    return {state.mode for state in arm.states}


def test_goal_is_followed_to_its_end_with_feedback(holding, goals):
    message = eight(holding, approach=0.6)
    # MoveIt's order of the joints is its own.
    message.joint_names.reverse()
    for point in message.points:
        for name in ("positions", "velocities", "accelerations"):
            setattr(point, name, array("d", reversed(getattr(point, name))))
    handle = goals.accepted(message)
    started = holding.time
    status, code, text = goals.result(handle)
    assert (status, code) == (GoalStatus.STATUS_SUCCEEDED, Result.SUCCESSFUL), text
    assert text == "Goal successfully reached!"
    assert holding.time - started > holding.eight.end + 1.1
    state = holding.state()
    assert state.mode == ControllerState.HOLDING
    path = to_rest(holding.eight)
    np.testing.assert_allclose(state.desired_position, path.positions[-1], atol=1e-9)
    told = [message.feedback for message in goals.feedback]
    assert len(told) > 5
    for one in told:
        assert one.joint_names == holding.joints
        assert one.multi_dof_joint_names == []
        desired, actual, error = one.desired, one.actual, one.error
        np.testing.assert_allclose(
            error.positions, np.subtract(desired.positions, actual.positions), atol=1e-12
        )
        np.testing.assert_allclose(
            error.velocities, np.subtract(desired.velocities, actual.velocities), atol=1e-12
        )
        assert len(desired.accelerations) == 4 and not actual.accelerations
        elapsed = desired.time_from_start.sec + 1e-9 * desired.time_from_start.nanosec
        if elapsed > 1.2:
            wanted = path.sample(elapsed - 0.6).position
            np.testing.assert_allclose(desired.positions, wanted, atol=1e-6)
    if hasattr(told[0], "index"):
        indices = [one.index for one in told]
        assert indices == sorted(indices) and indices[0] < 20 < indices[-1] <= 101


def test_arm_that_leaves_the_path_brakes_and_the_goal_is_aborted(holding, goals):
    handle = goals.accepted(eight(holding), path_tolerance=[tolerance("j2", position=1e-4)])
    torques = []
    answer = handle.get_result_async()
    while not answer.done():
        torques.append(holding.cycle().effort)
    status, code, text = goals.result(handle)
    assert (status, code) == (GoalStatus.STATUS_ABORTED, Result.PATH_TOLERANCE_VIOLATED)
    assert text.startswith("Aborted due to path tolerance violation: position error of joint j2 ")
    assert text.endswith("expected at most 0.0001 rad")
    assert (np.abs(np.diff(torques, axis=0)) <= RATE_LIMIT * CYCLE + 1e-9).all()
    # The next goal is not refused: the arm has braked.
    assert modes(holding, 0.1) == HELD
    assert goals.send(to(holding, 0.0)).accepted


def test_goal_that_is_not_reached_in_time_is_aborted_and_the_arm_is_held(holding, goals):
    handle = goals.accepted(
        to(holding, 0.1),
        goal_tolerance=[tolerance("j1", position=1e-7)],
        goal_time_tolerance=Duration(nanosec=300_000_000),
    )
    status, code, text = goals.result(handle)
    assert (status, code) == (GoalStatus.STATUS_ABORTED, Result.GOAL_TOLERANCE_VIOLATED)
    assert text.startswith("Aborted due to goal_time_tolerance exceeding by 0.30")
    assert "position error of joint j1 is " in text
    assert modes(holding, 0.1) == HELD


def test_goal_time_of_minus_one_lets_the_arm_take_its_time(holding, goals):
    assert holding.set_parameters(constraints__goal_time=0.1).successful
    handle = goals.accepted(
        to(holding, 0.1),
        goal_tolerance=[tolerance("j1", position=1e-9)],
        goal_time_tolerance=Duration(sec=-1),
    )
    answer = handle.get_result_async()
    holding.run(1.5)
    assert not answer.done()
    assert goals.cancel(handle)
    assert cycles_until(holding, answer).status == GoalStatus.STATUS_CANCELED


def test_goal_without_tolerances_has_those_of_the_parameters(holding, goals):
    assert holding.set_parameters(constraints__trajectory=1e-5).successful
    status, code, _ = goals.result(goals.accepted(eight(holding)))
    assert (status, code) == (GoalStatus.STATUS_ABORTED, Result.PATH_TOLERANCE_VIOLATED)
    none = [tolerance(joint, position=-1.0) for joint in holding.joints]
    handle = goals.accepted(to(holding, 0.05), path_tolerance=none)
    assert goals.result(handle)[0] == GoalStatus.STATUS_SUCCEEDED
    assert holding.set_parameters(
        constraints__trajectory=0.0, constraints__goal=1e-8, constraints__goal_time=0.2
    ).successful
    status, code, _ = goals.result(goals.accepted(to(holding, 0.1)))
    assert (status, code) == (GoalStatus.STATUS_ABORTED, Result.GOAL_TOLERANCE_VIOLATED)


def test_cancelled_goal_brakes_smoothly_and_the_arm_is_held(holding, goals):
    handle = goals.accepted(eight(holding))
    holding.run(1.5)
    assert np.abs(holding.state().desired_velocity).max() > 0.1
    holding.states.clear()
    assert goals.cancel(handle)
    answer = handle.get_result_async()
    torques = []
    while not answer.done():
        torques.append(holding.cycle().effort)
    status, code, text = goals.result(handle)
    assert (status, code) == (GoalStatus.STATUS_CANCELED, Result.SUCCESSFUL)
    assert text == "Goal canceled: the arm is held."
    assert (np.abs(np.diff(torques, axis=0)) <= RATE_LIMIT * CYCLE + 1e-9).all()
    seen = [state.mode for state in holding.states]
    assert ControllerState.STOPPING in seen and seen[-1] == ControllerState.HOLDING
    wanted = [state.desired_velocity for state in holding.states]
    # No faster than stop.deceleration, with what a quartic needs above its mean.
    assert np.abs(np.diff(wanted, axis=0)).max() < 20.0 * CYCLE
    state = holding.state()
    assert not any(state.desired_velocity)
    holding.run(0.5)
    assert np.abs(holding.measured.velocity).max() < 0.05
    assert not goals.cancel(handle)


def test_new_goal_replaces_the_one_before_which_is_aborted(holding, goals):
    first = goals.accepted(eight(holding))
    holding.run(1.0)
    holding.states.clear()
    second = goals.accepted(to(holding, 0.1, duration=1.0))
    status, code, text = goals.result(first)
    assert (status, code) == (GoalStatus.STATUS_ABORTED, Result.INVALID_GOAL)
    assert text == "Current goal preempted by new incoming action."
    assert not goals.cancel(first)
    assert {state.mode for state in holding.states} == {ControllerState.TRACKING}
    assert goals.result(second)[0] == GoalStatus.STATUS_SUCCEEDED


def test_rejected_goal_leaves_the_one_before_alone(holding, goals):
    first = goals.accepted(to(holding, 0.2, duration=2.0))
    holding.run(0.5)
    wrong = eight(holding, approach=1.0)
    wrong.joint_names[0] = "wrist"
    assert not goals.send(wrong).accepted
    assert goals.result(first)[0] == GoalStatus.STATUS_SUCCEEDED


def test_trajectory_of_the_topic_replaces_a_goal(holding, goals):
    handle = goals.accepted(eight(holding))
    holding.run(1.0)
    holding.publish(to(holding, 0.1, duration=1.0))
    status, code, text = goals.result(handle)
    assert (status, code) == (GoalStatus.STATUS_ABORTED, Result.INVALID_GOAL)
    assert text == "Current goal preempted by new incoming trajectory."
    assert holding.state().mode == ControllerState.TRACKING


@pytest.mark.parametrize("request_name", ["hold", "stop"])
def test_stop_and_hold_end_a_goal_when_the_arm_has_braked(holding, goals, request_name):
    handle = goals.accepted(eight(holding))
    holding.run(1.5)
    answer = handle.get_result_async()
    assert holding.ask(Trigger, request_name).message == "stopping"
    assert not goals.cancel(handle)
    result = cycles_until(holding, answer)
    assert result.status == GoalStatus.STATUS_ABORTED
    assert result.result.error_code == Result.INVALID_GOAL
    assert result.result.error_string == f"Current goal stopped by ~/{request_name}."
    assert holding.state().mode == ControllerState.HOLDING


def wrong_goal(arm, fault):
    message, fields = eight(arm), {}
    if fault == "unknown joint":
        message.joint_names[3] = "wrist"
    elif fault == "missing joint":
        message.joint_names.pop()
    elif fault == "far start":
        message.points = message.points[60:]
        message.points[0].time_from_start = Duration()
    elif fault == "beyond limits":
        message.points[50].velocities[3] = 5.0
    elif fault == "in the past":
        message.header.stamp = stamp(arm.time - 100.0)
    elif fault == "empty":
        message.points = []
    elif fault == "moving at its end":
        message.points.pop()
    elif fault == "too many points":
        assert arm.set_parameters(trajectory__max_points=100).successful
    elif fault == "joint of a tolerance":
        fields["goal_tolerance"] = [tolerance("wrist", position=0.1)]
    elif fault == "negative tolerance":
        fields["path_tolerance"] = [tolerance("j1", velocity=-0.5)]
    elif fault == "tolerance of an acceleration":
        fields["path_tolerance"] = [tolerance("j1", acceleration=0.5)]
    elif fault == "several degrees of freedom":
        fields["multi_dof_trajectory"] = FollowJointTrajectory.Goal().multi_dof_trajectory
        fields["multi_dof_trajectory"].points = [MultiDOFJointTrajectoryPoint()]
    else:
        fields["component_path_tolerance"] = [JointComponentTolerance(joint_name="j1")]
    return message, fields


@pytest.fixture(scope="module")
def shared_logging_bench(start_bench, tmp_path_factory):
    log = tmp_path_factory.mktemp("log") / "log"
    with log.open("wb") as stderr, start_bench(stderr=stderr) as bench:
        bench.measured = bench.plant.reset(bench.eight.positions[0])
        assert bench.change_state(Transition.TRANSITION_ACTIVATE)
        bench.run(0.12)
        goals = Goals(bench)
        yield bench, goals, log
        goals.close()


@pytest.fixture
def logging_bench(shared_logging_bench):
    yield shared_logging_bench
    bench, _, _ = shared_logging_bench
    bench.restore_parameters()


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("unknown joint", "the trajectory has "),
        ("missing joint", "the trajectory has "),
        ("far start", "the trajectory starts with joint"),
        ("beyond limits", "joint j4 would move at"),
        ("in the past", "the trajectory ended 9"),
        ("empty", "the trajectory is empty: expected at least one point"),
        ("moving at its end", "as a goal is reached at rest"),
        ("joint of a tolerance", "goal_tolerance names the joint 'wrist': expected one of j1, "),
        ("negative tolerance", "path_tolerance of joint j1, velocity, is -0.5: expected a pos"),
        ("tolerance of an acceleration", "as accelerations are not measured"),
        ("several degrees of freedom", "multi_dof_trajectory names [] and has 1 points"),
        ("tolerance of a component", "component_path_tolerance has 1 entries: expected none"),
        ("too many points", "the trajectory has 102 points: expected at most 100"),
    ],
)
def test_goal_that_cannot_be_followed_is_rejected_and_the_log_says_why(
    logging_bench, fault, reason
):
    bench, goals, log = logging_bench
    before = len(log.read_text())
    # One line a second about each kind of problem.
    bench.spin(1.1)
    bench.time += 1e-3
    message, fields = wrong_goal(bench, fault)
    assert not goals.send(message, **fields).accepted
    assert bench.state().mode in (ControllerState.HOLDING, ControllerState.FAULT)
    lines = log.read_text()[before:].splitlines()
    refused = [line for line in lines if "trajectory refused: " in line]
    assert any(reason in line for line in refused), lines


def test_goal_is_rejected_while_the_node_is_not_configured_or_inactive(bench, goals):
    assert not goals.send(eight(bench), moving=False).accepted
    assert bench.change_state(Transition.TRANSITION_CLEANUP)
    assert not goals.send(eight(bench), moving=False).accepted
    assert bench.change_state(Transition.TRANSITION_CONFIGURE)


def test_goal_is_rejected_in_a_fault_and_while_braking(holding, goals):
    goals.send(eight(holding))
    holding.run(1.5)
    assert holding.ask(Trigger, "stop").message == "stopping"
    assert not goals.send(to(holding, 0.0)).accepted
    holding.run(0.6)
    holding.time += 0.5
    assert holding.state().mode == ControllerState.FAULT
    assert not goals.send(to(holding, 0.0)).accepted
    assert holding.ask(Trigger, "hold").message == "holding"
    assert goals.send(
        trajectory(holding.joints, JointPath([0.6], [holding.measured.position], [np.zeros(4)]))
    ).accepted


def test_fault_ends_a_goal_and_names_its_cause(holding, goals):
    handle = goals.accepted(eight(holding))
    holding.run(1.0)
    holding.time += 0.5
    status, code, text = goals.result(handle)
    assert (status, code) == (GoalStatus.STATUS_ABORTED, Result.INVALID_GOAL)
    assert text.startswith("Current goal aborted by a fault: joint states are 0.5")
    assert holding.state().mode == ControllerState.FAULT


def test_silence_of_the_driver_ends_a_goal(holding, goals):
    assert holding.set_parameters(supervision__silence_timeout=0.3).successful
    handle = goals.accepted(eight(holding))
    holding.run(1.0)
    status, code, text = goals.result(handle, moving=False)
    assert (status, code) == (GoalStatus.STATUS_ABORTED, Result.INVALID_GOAL)
    assert text.startswith("Current goal aborted by a fault: no joint state for 0.")


def test_deactivation_ends_a_goal(holding, goals):
    handle = goals.accepted(eight(holding))
    holding.run(1.0)
    answer = handle.get_result_async()
    assert holding.change_state(Transition.TRANSITION_DEACTIVATE)
    holding.executor.spin_until_future_complete(answer, timeout_sec=60.0)
    assert answer.result().status == GoalStatus.STATUS_ABORTED
    assert answer.result().result.error_code == Result.INVALID_GOAL
    text = answer.result().result.error_string
    assert text == "Current goal cancelled during deactivate transition."


CLIENT = """
import sys, rclpy
from rclpy.action import ActionClient
from rclpy.serialization import deserialize_message
from control_msgs.action import FollowJointTrajectory
goal = deserialize_message(sys.stdin.buffer.read(), FollowJointTrajectory.Goal)
rclpy.init()
node = rclpy.create_node("dying_client")
client = ActionClient(node, FollowJointTrajectory, sys.argv[1])
assert client.wait_for_server(60.0)
future = client.send_goal_async(goal)
rclpy.spin_until_future_complete(node, future)
print(future.result().accepted, flush=True)
future.result().get_result_async()
rclpy.spin(node)
"""


def test_goal_of_a_client_that_dies_is_followed_and_can_be_replaced(holding, goals):
    message = to(holding, 0.2, duration=1.5)
    data = serialize_message(FollowJointTrajectory.Goal(trajectory=message))
    environment = {**os.environ, "ROS_DOMAIN_ID": str(holding.node.context.get_domain_id())}
    with subprocess.Popen(
        [sys.executable, "-c", CLIENT, f"{NAME}/follow_joint_trajectory"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
    ) as client:
        client.stdin.write(data)
        client.stdin.close()
        os.set_blocking(client.stdout.fileno(), False)
        while (answer := client.stdout.readline()) in (b"", None):
            assert client.poll() is None
            holding.cycle()
        assert answer == b"True\n"
        client.kill()
    holding.run(0.3)
    assert holding.state().mode == ControllerState.TRACKING
    holding.run(1.4)
    assert holding.state().mode == ControllerState.HOLDING
    np.testing.assert_allclose(
        holding.state().desired_position, holding.eight.positions[0] + 0.2, atol=1e-9
    )
    assert goals.result(goals.accepted(to(holding, 0.0)))[0] == GoalStatus.STATUS_SUCCEEDED
