# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The recorder as a process, over DDS."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from array import array
from contextlib import contextmanager

import numpy as np
import pytest
import rclpy
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.srv import GetParameters, SetParameters
from rclpy.client import Client
from rclpy.context import Context
from rclpy.duration import Duration
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from ilr_dynamics.cli.ros_domain import OwnDomain
from ilr_dynamics.cli.tracking_evaluation import read_tracking
from ilr_dynamics.exceptions import RecordingError
from ilr_dynamics.recording import read_annotations, read_recording
from ilr_dynamics_msgs.msg import ControllerState

JOINTS = ["j1", "j2"]
TIMEOUT = 120.0
REPORTS = "inverse_dynamics/controller_state"
DEEP = QoSProfile(depth=5000)


class Arm:
    """Publishes joint states and the torques that answer them."""

    def __init__(self, node: Node, executor: SingleThreadedExecutor) -> None:
        self.node, self.executor = node, executor
        self.states = node.create_publisher(JointState, "joint_states", DEEP)
        self.torques = node.create_publisher(JointState, "joint_torque_command", DEEP)
        self.count = 0
        self._clients: dict[str, Client] = {}

    def wait_for_recorder(self):
        deadline = time.monotonic() + TIMEOUT
        while min(p.get_subscription_count() for p in (self.states, self.torques)) == 0:
            assert time.monotonic() < deadline, "the recorder does not listen"
            time.sleep(0.02)
        # The recorder may find this node later than the other way round; its publishers before
        # the client that asks now.
        self.call(GetParameters, "get_parameters", GetParameters.Request())

    def wait_until_arrived(self):
        for publisher in (self.states, self.torques):
            assert publisher.wait_for_all_acked(Duration(seconds=TIMEOUT))

    def move(self, cycles):
        """Publish states and torques at 500 Hz; return the positions."""
        positions = np.random.default_rng(self.count).normal(size=(cycles, 2))
        for q in positions:
            self.count += 1
            state, torque = JointState(name=JOINTS), JointState(name=JOINTS)
            for message in (state, torque):
                message.header.stamp.nanosec = 2_000_000 * self.count
            state.position, torque.effort = array("d", q), array("d", 10.0 * q)
            self.states.publish(state)
            self.torques.publish(torque)
            time.sleep(0.002)
        return positions

    def call(self, kind, name, request):
        # Kept: to be found by the recorder takes a new one longer than to be answered.
        client = self._clients.get(name) or self.node.create_client(kind, f"/recorder/{name}")
        self._clients[name] = client
        assert client.wait_for_service(timeout_sec=TIMEOUT), f"no service {name}"
        future = client.call_async(request)
        self.executor.spin_until_future_complete(future, timeout_sec=TIMEOUT)
        assert future.done(), f"no answer from {name}"
        return future.result()

    def trigger(self, name):
        return self.call(Trigger, name, Trigger.Request())

    def set_uri(self, uri):
        parameter = Parameter("uri", value=str(uri)).to_parameter_msg()
        assert isinstance(parameter, ParameterMessage)
        request = SetParameters.Request(parameters=[parameter])
        assert self.call(SetParameters, "set_parameters", request).results[0].successful


@contextmanager
def arm_of(domain=None):
    """Arm in a ROS domain, by default that of the process."""
    context = Context()
    rclpy.init(context=context, domain_id=domain)
    node = Node("arm", context=context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    yield Arm(node, executor)
    executor.shutdown()
    node.destroy_node()
    rclpy.shutdown(context=context)


@pytest.fixture
def arm():
    with arm_of() as arm:
        yield arm


@contextmanager
def recorders(folder, environment=None):
    """Start recorders, which are asked to end at last."""
    processes = []

    def start(**parameters):
        parameters = {"files.directories": [str(folder)], **parameters}
        arguments = [
            word for name, value in parameters.items() for word in ("-p", f"{name}:={value}")
        ]
        process = subprocess.Popen(
            [sys.executable, "-m", "ilr_dynamics.nodes.recorder", "--ros-args", *arguments],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **(environment or {})},
        )
        processes.append(process)
        return process

    yield start
    for process in processes:
        # Not killed: Fast DDS would leave its shared memory behind.
        process.terminate()
        process.communicate(timeout=TIMEOUT)


@pytest.fixture
def start_recorder(tmp_path):
    with recorders(tmp_path) as start:
        yield start


@pytest.fixture(scope="module", params=["mcap", "sqlite3"])
def shared_recorder(request, tmp_path_factory):
    """Folder of a recorder that is ready for one recording after the other, and its domain."""
    folder = tmp_path_factory.mktemp("runs")
    with OwnDomain() as domain, recorders(folder, domain.environment()) as start:
        recorder = start(storage=request.param, prefix="left_", controller_state=REPORTS)
        yield folder, domain.number
        recorder.send_signal(signal.SIGINT)
        assert recorder.wait(TIMEOUT) == 0


@pytest.fixture
def shared(shared_recorder):
    folder, domain = shared_recorder
    with arm_of(domain) as arm:
        yield arm, folder


def test_runs_are_recorded_one_after_the_other(shared):
    arm, folder = shared
    arm.wait_for_recorder()
    for name in ("first", "second"):
        arm.set_uri(folder / name)
        answer = arm.trigger("start")
        assert answer.success, answer.message
        positions = arm.move(100)
        arm.wait_until_arrived()
        answer = arm.trigger("stop")
        assert answer.success, answer.message
        assert "100 on /joint_states, 100 on /joint_torque_command" in answer.message
        recording = read_recording(folder / name, JOINTS)
        np.testing.assert_array_equal(recording.position, positions)
        np.testing.assert_array_equal(recording.torque, np.float32(10.0 * positions))
        assert recording.rejected == {}
        assert read_annotations(folder / name) == {"namespace": "/", "prefix": "left_"}


def test_controller_states_are_recorded_for_evaluate(shared):
    arm, folder = shared
    reports = arm.node.create_publisher(ControllerState, REPORTS, DEEP)
    arm.wait_for_recorder()
    arm.set_uri(folder / "run")
    assert arm.trigger("start").success
    positions = arm.move(50)
    for k in range(20):
        state = ControllerState(mode=ControllerState.TRACKING, joint_names=JOINTS)
        state.header.stamp.nanosec = 20_000_000 * k
        for name in ("desired_position", "measured_position", "feedforward_torque", "pd_torque"):
            setattr(state, name, array("d", [0.1 * k, 1.0]))
        state.commanded_torque = state.predicted_std = array("d", [0.0, 0.0])
        reports.publish(state)
    assert reports.wait_for_all_acked(Duration(seconds=TIMEOUT))
    arm.wait_until_arrived()
    answer = arm.trigger("stop")
    assert answer.message.endswith(f"20 on /{REPORTS}"), answer.message
    tracking = read_tracking(str(folder / "run"), REPORTS)
    np.testing.assert_allclose(tracking.record.pd[:, 0], 0.1 * np.arange(20))
    np.testing.assert_array_equal(read_recording(folder / "run", JOINTS).position, positions)


def test_requests_that_make_no_sense_are_answered_with_the_reason(shared):
    arm, folder = shared
    arm.set_uri("")
    assert arm.trigger("start").message == ("the recording has no URI; expected a folder to write")
    answer = arm.trigger("stop")
    assert not answer.success
    assert "nothing is being recorded" in answer.message
    arm.set_uri(folder)
    answer = arm.trigger("start")
    assert not answer.success
    assert "exists already" in answer.message
    arm.set_uri("/tmp/elsewhere")
    answer = arm.trigger("start")
    assert not answer.success
    assert "'/tmp/elsewhere' is outside the allowed directories" in answer.message
    arm.set_uri(folder / "twice")
    assert arm.trigger("start").success
    answer = arm.trigger("start")
    assert not answer.success
    assert "is going on; expected one at a time" in answer.message
    assert arm.trigger("stop").success


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_recording_is_finished_when_the_process_is_asked_to_end(
    arm, start_recorder, tmp_path, end
):
    uri = tmp_path / "run"
    recorder = start_recorder(uri=uri, driver_compensates_gravity="'true'")
    arm.wait_for_recorder()
    positions = arm.move(200)
    arm.wait_until_arrived()
    recorder.send_signal(end)
    assert recorder.wait(TIMEOUT) == 0
    recording = read_recording(uri, JOINTS, driver_compensates_gravity=True)
    # Discovery may still cost the first messages; the last ones have to be there.
    assert 0 < len(recording.position) <= len(positions)
    np.testing.assert_array_equal(recording.position, positions[-len(recording.position) :])
    with pytest.raises(RecordingError, match="driver_compensates_gravity = true"):
        read_recording(uri, JOINTS)


def test_killed_recorder_leaves_a_recording_that_is_refused(arm, start_recorder, tmp_path):
    recorder = start_recorder(uri=tmp_path / "run")
    arm.wait_for_recorder()
    arm.move(20)
    recorder.kill()
    recorder.wait(TIMEOUT)
    with pytest.raises(RecordingError, match="is unfinished"):
        read_recording(tmp_path / "run", JOINTS)


def test_recorder_that_cannot_write_says_so_and_fails(start_recorder, tmp_path):
    recorder = start_recorder(uri=tmp_path)
    _, log = recorder.communicate(timeout=TIMEOUT)
    assert recorder.returncode == 1
    assert "exists already" in log
