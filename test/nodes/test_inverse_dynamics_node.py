# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The node as a process, over DDS, against a simulated arm in lock-step."""

import os
import signal
import subprocess
import sys
import time
from array import array
from pathlib import Path

import numpy as np
import pytest
import rclpy
from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Duration, Time
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.srv import SetParameters
from rclpy.action import ActionClient
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from ilr_dynamics.cli.ros_domain import OwnDomain
from ilr_dynamics.control import JointPath
from ilr_dynamics.recording import RecordingWriter
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.plant import WamPlant
from ilr_dynamics.robot.plant_config import load_plant_config
from ilr_dynamics.robot.rigid_body import RigidBodyModel
from ilr_dynamics.robot.tool_paths import figure_eight, joint_path
from ilr_dynamics_msgs.action import Learn
from ilr_dynamics_msgs.msg import ControllerState
from ilr_dynamics_msgs.srv import LoadSnapshot, SaveSnapshot, UpdateModel

CONFIG = Path(__file__).parents[2] / "config" / "wam4.yaml"
OWN_DOMAIN = OwnDomain()
DOMAIN = OWN_DOMAIN.number
CYCLE = 0.002
RATE_LIMIT = np.array([385.0, 800.0, 400.0, 200.0])
NAME = "/inverse_dynamics"


class Bench:
    """An arm and its driver, at work while anything else is asked of the node."""

    def __init__(self, node: Node, executor: SingleThreadedExecutor) -> None:
        self.node, self.executor = node, executor
        description = load_description("wam4")
        self.joints = list(description.joint_names)
        self.plant = WamPlant(description, load_plant_config("wam4"), seed=0)
        motion = joint_path(figure_eight(3.4), RigidBodyModel(description), rate=50.0)
        self.eight = JointPath(*(field[:101] for field in motion))
        self.measured = self.plant.reset(self.eight.positions[0])
        self.time = 1000.0
        self.torques: list[JointState] = []
        self.states: list[ControllerState] = []
        node.create_subscription(JointState, "joint_torque_command", self.torques.append, 10)
        node.create_subscription(
            ControllerState, f"{NAME}/controller_state", self.states.append, 10
        )
        self.publisher = node.create_publisher(JointState, "joint_states", qos_profile_sensor_data)
        self.trajectories = node.create_publisher(JointTrajectory, f"{NAME}/joint_trajectory", 10)

    def joint_state(self) -> JointState:
        message = JointState(
            name=list(self.joints),
            position=array("d", self.measured.position),
            velocity=array("d", self.measured.velocity),
        )
        message.header.stamp = stamp(self.time)
        return message

    def answer_to(self, message: JointState, timeout: float = 2.0) -> JointState | None:
        """Publish a joint state and wait for the torque that carries its stamp."""
        self.torques.clear()
        self.publisher.publish(message)
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            self.executor.spin_once(timeout_sec=0.05)
            for torque in self.torques:
                if torque.header.stamp == message.header.stamp:
                    return torque
        return None

    def newest_torque(self) -> JointState:
        """Torque that arrives without a joint state."""
        deadline = time.monotonic() + 2.0
        while not self.torques and time.monotonic() < deadline:
            self.executor.spin_once(timeout_sec=0.05)
        return self.torques[-1]

    def cycle(self) -> JointState:
        torque = self.answer_to(self.joint_state())
        assert torque is not None, f"no torque for the joint state at {self.time:.3f} s"
        self.measured = self.plant.step(torque.effort)
        self.time += CYCLE
        return torque

    def run(self, duration: float) -> np.ndarray:
        return np.array([self.cycle().effort for _ in range(round(duration / CYCLE))])

    def state(self) -> ControllerState:
        """State in a cycle from now on; the arm moves on until it is there."""
        now = stamp(self.time)
        self.states.clear()
        while True:
            self.cycle()
            for state in self.states:
                if (state.header.stamp.sec, state.header.stamp.nanosec) >= (now.sec, now.nanosec):
                    return state

    def wait(self, future):
        """Keep the arm controlled until an answer is there."""
        deadline = time.monotonic() + 30.0
        while not future.done():
            assert time.monotonic() < deadline, "no answer within 30 s"
            self.cycle()
        return future.result()

    def ask(self, kind, name, *, moving=True, **fields):
        client = self.node.create_client(kind, f"{NAME}/{name}")
        assert client.wait_for_service(timeout_sec=10.0), f"no service {name}"
        future = client.call_async(kind.Request(**fields))
        if moving:
            answer = self.wait(future)
        else:
            self.executor.spin_until_future_complete(future, timeout_sec=10.0)
            answer = future.result()
        self.node.destroy_client(client)
        return answer

    def change_state(self, transition: int) -> bool:
        request = {"transition": Transition(id=transition)}
        return self.ask(ChangeState, "change_state", moving=False, **request).success

    def set_parameters(self, *, moving=True, **values):
        parameters: list[ParameterMessage] = [
            Parameter(name.replace("__", "."), value=value).to_parameter_msg()
            for name, value in values.items()
        ]
        answer = self.ask(SetParameters, "set_parameters", moving=moving, parameters=parameters)
        return answer.results[0]

    def follow_eight(self) -> np.ndarray:
        """Approach the path, track it and return its errors, (n, n_joints)."""
        self.publish(trajectory(self.joints, self.eight, approach=1.0))
        self.run(0.95)
        self.states.clear()
        self.run(self.eight.end + 0.6)
        tracked = [s for s in self.states if s.mode == ControllerState.TRACKING]
        assert len(tracked) > 0.8 * self.eight.end / CYCLE
        return np.array([state.position_error for state in tracked])

    def publish(self, message: JointTrajectory) -> None:
        """Send a trajectory and let it arrive."""
        self.trajectories.publish(message)
        self.run(0.05)


def stamp(seconds: float) -> Time:
    sec, nanosec = divmod(round(1e9 * seconds), 1_000_000_000)
    return Time(sec=sec, nanosec=nanosec)


def trajectory(joints: list[str], path: JointPath, approach: float = 0.0) -> JointTrajectory:
    message = JointTrajectory(joint_names=joints)
    for time_from_start, *fields in zip(path.times, *path.fields, strict=True):
        point = JointTrajectoryPoint()
        for name, field in zip(("positions", "velocities", "accelerations"), fields, strict=False):
            setattr(point, name, array("d", field))
        at = stamp(time_from_start + approach)
        point.time_from_start = Duration(sec=at.sec, nanosec=at.nanosec)
        message.points.append(point)
    return message


@pytest.fixture(scope="module")
def process(tmp_path_factory):
    environment = {
        **os.environ,
        "ROS_DOMAIN_ID": str(DOMAIN),
        "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
    }
    command = [sys.executable, "-m", "ilr_dynamics.nodes.inverse_dynamics_node"]
    arguments = [
        "--ros-args",
        "--params-file",
        str(CONFIG),
        "-p",
        "controller_state.decimation:=1",
        "-p",
        f"files.directories:=['{tmp_path_factory.getbasetemp()}', '/nowhere']",
    ]
    with subprocess.Popen(command + arguments, env=environment) as process:
        yield process
        process.kill()


@pytest.fixture(scope="module")
def bench(process):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
        context = rclpy.Context()
        rclpy.init(context=context, domain_id=DOMAIN)
        node = Node("bench", context=context)
        executor = SingleThreadedExecutor(context=context)
        executor.add_node(node)
        bench = Bench(node, executor)
        assert bench.change_state(Transition.TRANSITION_CONFIGURE)
        yield bench
        executor.shutdown()
        node.destroy_node()
        rclpy.shutdown(context=context)


@pytest.fixture
def arm(bench):
    """An arm at the start of the eight, held by the active node."""
    bench.measured = bench.plant.reset(bench.eight.positions[0])
    assert bench.change_state(Transition.TRANSITION_ACTIVATE)
    bench.run(0.12)
    yield bench
    assert bench.change_state(Transition.TRANSITION_DEACTIVATE)
    assert bench.set_parameters(moving=False, controller="analytic").successful


@pytest.fixture(scope="module")
def recording(bench, tmp_path_factory):
    """A pass along the eight, tracked by the node."""
    uri = tmp_path_factory.mktemp("recording") / "eight"
    bench.measured = bench.plant.reset(bench.eight.positions[0])
    assert bench.change_state(Transition.TRANSITION_ACTIVATE)
    bench.run(0.3)
    bench.follow_eight()
    with RecordingWriter(uri) as writer:
        for state in bench.states:
            at = 1_000_000_000 * state.header.stamp.sec + state.header.stamp.nanosec
            writer.write_joint_state(
                "/joint_states",
                at,
                bench.joints,
                state.measured_position,
                state.measured_velocity,
            )
            writer.write_joint_state(
                "/joint_torque_command", at, bench.joints, effort=state.commanded_torque
            )
    assert bench.change_state(Transition.TRANSITION_DEACTIVATE)
    return str(uri)


def test_analytic_feedforward_tracks_better_than_pd_alone(arm):
    assert arm.set_parameters(controller="pd").successful
    arm.run(0.3)
    pd = arm.follow_eight()
    assert arm.states[-1].controller == "pd"
    assert arm.set_parameters(controller="analytic").successful
    arm.run(0.3)
    analytic = arm.follow_eight()
    assert np.mean(pd**2) > 2.0 * np.mean(analytic**2)
    assert np.mean(analytic**2) < 5e-3
    assert arm.state().mode == ControllerState.HOLDING


def test_each_state_is_answered_with_its_own_stamp_and_state(arm):
    torque = arm.cycle()
    assert list(torque.name) == arm.joints
    state = arm.state()
    assert list(state.joint_names) == arm.joints
    np.testing.assert_allclose(
        np.array(state.feedforward_torque) + state.pd_torque, state.commanded_torque
    )
    assert 0.0 < state.loop_time < 0.1


def test_joints_are_read_by_name(arm):
    message = arm.joint_state()
    straight = arm.answer_to(message).effort
    order = [3, 1, 0, 2]
    message.name = ["finger", *(arm.joints[i] for i in order)]
    for field in ("position", "velocity"):
        values = getattr(message, field)
        setattr(message, field, array("d", [9.9, *(values[i] for i in order)]))
    message.header.stamp = stamp(arm.time + 1e-5)
    np.testing.assert_allclose(arm.answer_to(message).effort, straight, atol=0.02)


@pytest.mark.parametrize("fault", ["nan", "missing joint", "no velocity", "same stamp"])
def test_unusable_state_is_not_answered_and_the_next_is(arm, fault):
    message = arm.joint_state()
    if fault == "nan":
        message.position[1] = np.nan
    elif fault == "missing joint":
        message.name[0] = "elbow"
    elif fault == "no velocity":
        message.velocity = array("d")
    else:
        message.header.stamp = stamp(arm.time - CYCLE)
    assert arm.answer_to(message, timeout=0.1) is None
    arm.run(0.02)


def malformed(arm, fault):
    message = trajectory(list(arm.joints), arm.eight)
    if fault == "unknown joints":
        message.joint_names = ["j1", "j2", "j3", "wrist"]
    elif fault == "missing joint":
        message.joint_names = message.joint_names[:3]
    elif fault == "unordered times":
        message.points[5].time_from_start, message.points[9].time_from_start = (
            message.points[9].time_from_start,
            message.points[5].time_from_start,
        )
    elif fault == "nan":
        message.points[7].positions[2] = np.nan
    elif fault == "far start":
        message.points = message.points[60:]
        message.points[0].time_from_start = Duration()
    elif fault == "beyond limits":
        message.points[50].velocities[3] = 5.0
    elif fault == "positions alone":
        for point in message.points:
            point.velocities = point.accelerations = array("d")
    elif fault == "ragged":
        message.points[3].accelerations = array("d")
    else:
        message.points = []
    return message


@pytest.mark.parametrize(
    "fault",
    [
        "unknown joints",
        "missing joint",
        "unordered times",
        "nan",
        "far start",
        "beyond limits",
        "positions alone",
        "ragged",
        "empty",
    ],
)
def test_malformed_trajectory_is_refused_while_the_arm_is_held(arm, fault):
    before = arm.state()
    arm.publish(malformed(arm, fault))
    after = arm.state()
    assert after.mode == ControllerState.HOLDING
    assert after.desired_position == before.desired_position


def test_inactive_node_sends_one_zero_torque_and_then_none(bench):
    bench.measured = bench.plant.reset(bench.eight.positions[0])
    assert bench.change_state(Transition.TRANSITION_ACTIVATE)
    assert np.abs(bench.run(0.3)[-1]).max() > 1.0
    bench.torques.clear()
    assert bench.change_state(Transition.TRANSITION_DEACTIVATE)
    bench.newest_torque()
    assert [list(torque.effort) for torque in bench.torques] == [[0.0] * 4]
    for _ in range(5):
        bench.time += CYCLE
        assert bench.answer_to(bench.joint_state(), timeout=0.05) is None
    assert not bench.torques


def test_activation_starts_from_zero_torque(bench):
    assert bench.change_state(Transition.TRANSITION_ACTIVATE)
    torques = bench.run(0.2)
    assert np.abs(torques[0]).max() < 1e-9
    assert (np.abs(np.diff(torques, axis=0)) <= RATE_LIMIT * CYCLE + 1e-9).all()
    assert bench.change_state(Transition.TRANSITION_DEACTIVATE)


def test_stop_brakes_and_holds(arm):
    arm.publish(trajectory(arm.joints, arm.eight))
    arm.run(1.5)
    assert arm.state().mode == ControllerState.TRACKING
    assert arm.ask(Trigger, "stop").message == "stopping"
    arm.run(0.5)
    state = arm.state()
    assert state.mode == ControllerState.HOLDING
    assert not any(state.desired_velocity)


def test_fault_is_kept_until_hold(arm):
    arm.time += 0.5
    assert arm.state().mode == ControllerState.FAULT
    arm.publish(trajectory(arm.joints, arm.eight))
    assert arm.state().mode == ControllerState.FAULT
    assert "joint states are 0.5" in arm.ask(Trigger, "stop").message
    assert arm.ask(Trigger, "hold").message == "holding"
    assert arm.state().mode == ControllerState.HOLDING


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"gains__kp": [40.0, 60.0, 25.0]}, "kd must hold 3 values"),
        ({"gains__kd": [-1.0, 0.0, 0.0, 0.0]}, "kd must not be negative"),
        ({"limits__torque": [500.0, 1.0, 1.0, 1.0]}, "expected at most"),
        ({"controller": "magic"}, "controller is 'magic': expected one of pd, analytic, ilr"),
        ({"gate__unseen_trusted": 0.9}, "expected 0 <= unseen_trusted < unseen_refused"),
        ({"supervision__input_timeout": 99.0}, "out of range Min: 0.001, Max: 10.0"),
        ({"joints": ["a", "b", "c", "d"]}, "read-only"),
        ({"files__directories": ["/"]}, "read-only"),
        ({"gains__kp": "stiff"}, "Wrong parameter type"),
    ],
)
def test_parameter_out_of_range_is_refused_with_its_reason(arm, change, reason):
    answer = arm.set_parameters(**change)
    assert not answer.successful
    assert reason in answer.reason
    arm.run(0.02)


def test_gains_change_within_the_rate_limit(arm):
    arm.run(0.2)
    assert arm.set_parameters(gains__kp=[400.0, 600.0, 250.0, 150.0]).successful
    torques = arm.run(0.1)
    assert (np.abs(np.diff(torques, axis=0)) <= RATE_LIMIT * CYCLE + 1e-9).all()
    state = arm.state()
    error, velocity_error = np.array(state.position_error), -np.array(state.measured_velocity)
    np.testing.assert_allclose(
        state.pd_torque, error * [400, 600, 250, 150] + velocity_error * [3, 5, 1.5, 1], atol=1e-9
    )
    assert arm.set_parameters(gains__kp=[40.0, 60.0, 25.0, 15.0]).successful


@pytest.mark.parametrize(
    ("kind", "name", "fields", "text"),
    [
        (UpdateModel, "update_model", {"bag_uri": "/nowhere/bag"}, "/nowhere/bag"),
        (LoadSnapshot, "load_snapshot", {"snapshot_uri": "/nowhere/model.npz"}, "model.npz"),
        (LoadSnapshot, "load_snapshot", {"snapshot_uri": "/nowhere/wam4.yaml"}, "wam4.yaml"),
        (LoadSnapshot, "load_snapshot", {"snapshot_uri": str(CONFIG)}, "outside the allowed"),
        (UpdateModel, "update_model", {"bag_uri": str(CONFIG.parent)}, "outside the allowed"),
        (SaveSnapshot, "save_snapshot", {"snapshot_uri": "/tmp/model.npz"}, "no model yet"),
    ],
)
def test_bad_request_is_refused_and_the_arm_is_held(arm, kind, name, fields, text):
    answer = arm.ask(kind, name, **fields)
    assert not answer.success
    assert text in answer.message
    assert arm.state().model == ""


def test_model_is_learned_saved_and_loaded_while_the_arm_is_held(arm, recording, tmp_path):
    assert arm.set_parameters(controller="ilr", learning__n_components=20).successful
    learned = arm.ask(
        UpdateModel,
        "update_model",
        bag_uri=recording,
        snapshot_uri=str(tmp_path / "learned.npz"),
    )
    assert learned.success, learned.message
    assert learned.samples_used > 200
    assert learned.components_after > learned.components_before == 0
    assert arm.state().model == learned.snapshot_uri == str(tmp_path / "learned.npz")
    assert np.mean(arm.follow_eight() ** 2) < 5e-3
    assert max(state.gate for state in arm.states) > 0.5
    assert max(max(state.predicted_std) for state in arm.states) > 0.0

    # The running model does not need the file that it was saved to.
    (tmp_path / "learned.npz").unlink()
    copy = str(tmp_path / "copy.npz")
    assert arm.ask(SaveSnapshot, "save_snapshot", snapshot_uri=copy).success
    elsewhere = arm.ask(SaveSnapshot, "save_snapshot", snapshot_uri="/tmp/model.npz")
    assert not elsewhere.success and "outside the allowed" in elsewhere.message
    again = arm.ask(SaveSnapshot, "save_snapshot", snapshot_uri=copy)
    assert not again.success and "exists" in again.message
    loaded = arm.ask(LoadSnapshot, "load_snapshot", snapshot_uri=copy)
    assert loaded.success, loaded.message
    assert loaded.components == learned.components_after
    assert loaded.samples == learned.samples_used
    assert arm.state().model == copy


def test_second_update_is_refused_while_one_runs(arm, recording):
    client = arm.node.create_client(UpdateModel, f"{NAME}/update_model")
    assert client.wait_for_service(timeout_sec=10.0)
    # By one client: requests of two may overtake each other on their way.
    first = client.call_async(UpdateModel.Request(bag_uri=recording))
    second = arm.wait(client.call_async(UpdateModel.Request(bag_uri="/nowhere/bag")))
    assert not second.success
    assert f"busy (learning from {recording}" in second.message
    assert not first.done()
    assert arm.wait(first).success


def test_action_reports_progress(arm, recording, tmp_path):
    stages = []
    client = ActionClient(arm.node, Learn, f"{NAME}/learn")
    goal = Learn.Goal(bag_uri=recording, snapshot_uri=str(tmp_path / "model.npz"))
    assert client.wait_for_server(timeout_sec=10.0)
    handle = arm.wait(
        client.send_goal_async(goal, lambda message: stages.append(message.feedback.stage))
    )
    answer = arm.wait(handle.get_result_async())
    assert answer.status == GoalStatus.STATUS_SUCCEEDED
    assert answer.result.snapshot_uri == goal.snapshot_uri
    assert {"reading", "learning"} <= set(stages)
    client.destroy()


def test_action_can_be_cancelled(arm, recording):
    client = ActionClient(arm.node, Learn, f"{NAME}/learn")
    assert client.wait_for_server(timeout_sec=10.0)
    handle = arm.wait(client.send_goal_async(Learn.Goal(bag_uri=recording)))
    arm.wait(handle.cancel_goal_async())
    answer = arm.wait(handle.get_result_async())
    assert answer.status == GoalStatus.STATUS_CANCELED
    assert "cancelled" in answer.result.message
    client.destroy()


def test_node_is_not_configured_with_parameters_that_do_not_fit(bench):
    assert bench.change_state(Transition.TRANSITION_CLEANUP)
    refused = bench.ask(UpdateModel, "update_model", moving=False, bag_uri="/nowhere/bag")
    assert "the node is not configured" in refused.message
    assert bench.set_parameters(moving=False, gains__kd=[1.0]).successful
    assert not bench.change_state(Transition.TRANSITION_CONFIGURE)
    assert bench.set_parameters(moving=False, gains__kd=[3.0, 5.0, 1.5, 1.0]).successful
    assert bench.change_state(Transition.TRANSITION_CONFIGURE)


def test_signal_ends_the_node_and_its_learner(bench, process, recording):
    """Last, as no node is left for another test."""
    assert bench.change_state(Transition.TRANSITION_ACTIVATE)
    bench.run(0.1)
    client = bench.node.create_client(UpdateModel, f"{NAME}/update_model")
    assert client.wait_for_service(timeout_sec=10.0)
    client.call_async(UpdateModel.Request(bag_uri=recording))
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while not (learners := children.read_text().split()):
        bench.cycle()
    bench.torques.clear()
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=5.0) == 0
    assert list(bench.newest_torque().effort) == [0.0] * 4
    assert not any(Path(f"/proc/{learner}").exists() for learner in learners)
