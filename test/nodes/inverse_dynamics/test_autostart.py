# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""A node gets active by itself, with its model and as the only controller, or ends."""

from __future__ import annotations

import os
import re
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import rclpy
from controller_bench import COMMAND, CONFIG, PARAMETERS
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import GetState
from rclpy.node import Node
from sensor_msgs.msg import JointState

from ilr_dynamics.cli.ros_domain import OwnDomain
from ilr_dynamics.learning import LearningSettings
from ilr_dynamics.learning.settings import snapshot_metadata
from ilr_dynamics.regression import ILR

JOINTS = ("j1", "j2", "j3", "j4")
TIMEOUT = 60.0


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory) -> Path:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 12))
    metadata = snapshot_metadata(LearningSettings(JOINTS), [])
    model = ILR(n_components=3, random_state=0).fit(X, X[:, :4])
    path = tmp_path_factory.mktemp("models") / "model.npz"
    model.metadata_ = metadata
    model.save(path)
    return path


@contextmanager
def started(domain, log, *parameters, namespace="/"):
    """A process of the node that gets active by itself."""
    more = ["autostart:=true", "files.directories:=['/']", *parameters]
    options = [word for value in more for word in ("-p", value)]
    with (
        log.open("w") as stream,
        subprocess.Popen(
            [*COMMAND, *PARAMETERS, *options, "-r", f"__ns:={namespace}"],
            env={**os.environ, **domain.environment()},
            stderr=stream,
        ) as process,
    ):
        try:
            yield process
        finally:
            process.kill()


def wait_for(log, text, process):
    deadline = time.monotonic() + TIMEOUT
    while text not in log.read_text():
        assert time.monotonic() < deadline, log.read_text()
        assert process.poll() is None, log.read_text()
        time.sleep(0.02)


@pytest.fixture
def domain():
    with OwnDomain() as domain:
        yield domain


@pytest.fixture
def observer(domain):
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=domain.number)
    node = Node("observer", context=context)
    yield node
    node.destroy_node()
    rclpy.shutdown(context=context)


def state_of(node: Node, name: str) -> str:
    client = node.create_client(GetState, f"/{name}/get_state")
    assert client.wait_for_service(TIMEOUT)
    future = client.call_async(GetState.Request())
    executor = rclpy.executors.SingleThreadedExecutor(context=node.context)
    executor.add_node(node)
    executor.spin_until_future_complete(future, TIMEOUT)
    executor.shutdown()
    return future.result().current_state.label


def test_a_node_gets_active_with_its_model(domain, observer, snapshot, tmp_path):
    log = tmp_path / "log"
    with started(domain, log, "controller:=ilr", f"snapshot:={snapshot}") as process:
        wait_for(log, "configured for wam4, ilr", process)
        assert f"model {snapshot}: " in log.read_text().partition("configured for")[0]
        assert state_of(observer, "inverse_dynamics") == "active"


@pytest.mark.parametrize(
    ("parameter", "text"),
    [
        ("snapshot:=/nowhere.npz", r"not configured: .*/nowhere\.npz"),
        ("gains.kp:=[1.0]", "not configured: parameter gains.kp holds 1 values; expected 4"),
    ],
)
def test_a_node_that_cannot_get_active_ends_and_says_why(domain, tmp_path, parameter, text):
    log = tmp_path / "log"
    with started(domain, log, parameter) as process:
        assert process.wait(TIMEOUT) == 1
    errors = [line for line in log.read_text().splitlines() if "[ERROR]" in line]
    assert re.search(text, errors[-1]), log.read_text()
    assert "Traceback" not in log.read_text()


def test_a_second_controller_gives_way(domain, observer, tmp_path):
    first_log = tmp_path / "first"
    with started(domain, first_log) as first:
        wait_for(first_log, "configured for", first)
        assert state_of(observer, "inverse_dynamics") == "active"
        # From now on the first has been there for long.
        time.sleep(8.0)
        for namespace in ("/", "/right"):
            log = tmp_path / f"second{namespace.replace('/', '_')}"
            topic = "command.topic:=/joint_torque_command"
            with started(domain, log, topic, namespace=namespace) as second:
                assert second.wait(TIMEOUT) == 1
            text = "activated: /inverse_dynamics publishes /joint_torque_command too: expected one"
            assert text in log.read_text()
        assert state_of(observer, "inverse_dynamics") == "active"


def test_a_controller_gives_way_to_one_that_it_discovers_late(bench):
    assert bench.change_state(Transition.TRANSITION_ACTIVATE)
    bench.run(0.1)
    other = Node("other", context=bench.node.context)
    other.create_publisher(JointState, "joint_torque_command", 10)
    deadline = time.monotonic() + 20.0
    state = ""
    while state != "inactive" and time.monotonic() < deadline:
        bench.spin(0.1)
        state = bench.ask(GetState, "get_state", moving=False).current_state.label
    assert state == "inactive"
    assert not bench.change_state(Transition.TRANSITION_ACTIVATE)
    other.destroy_node()


def test_a_bridge_is_no_controller(bench):
    bridge = Node("bridge", context=bench.node.context)
    bridge.create_publisher(JointState, "joint_torque_command", 10)
    bridge.create_subscription(JointState, "joint_torque_command", lambda message: None, 10)
    bench.spin(0.5)
    assert bench.change_state(Transition.TRANSITION_ACTIVATE)
    bridge.destroy_node()


def test_the_file_leaves_starting_to_others():
    assert "autostart: false" in CONFIG.read_text()
