# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The node as a process, over DDS, against a simulated arm in lock-step."""

import os
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import rclpy
from lifecycle_msgs.msg import Transition
from rclpy.node import Node

from ilr_dynamics.cli.ros_domain import OwnDomain
from ilr_dynamics.control import JointPath, RigidBodyFeedForward
from ilr_dynamics.learning import LearningSettings, learn
from ilr_dynamics.recording import RecordingWriter
from ilr_dynamics.robot.tool_paths import figure_eight

# Test folders are no packages (--import-mode=importlib), so a shared module is found by its path.
sys.path.insert(0, str(Path(__file__).parent))

from _simulated_motion import Arm, recorded_samples  # noqa: E402
from controller_bench import COMMAND, PARAMETERS, Bench, FastExecutor  # noqa: E402


@contextmanager
def running_bench(folder, stderr=None, parameters=(), configures=True):
    """A node that may use a folder, and an arm for it, in a domain of their own.

    It is configured, or refuses to be. What it logs goes to ``stderr``, a file, if there is one;
    ``parameters`` are given to it at its start.
    """
    with ExitStack() as stack:
        domain = stack.enter_context(OwnDomain())
        home = stack.enter_context(TemporaryDirectory())
        environment = {**os.environ, **domain.environment(), "ROS_HOME": home}
        more = [f"files.directories:=['{folder}', '/nowhere']", *parameters]
        options = [word for value in more for word in ("-p", value)]
        process = stack.enter_context(
            subprocess.Popen([*COMMAND, *PARAMETERS, *options], env=environment, stderr=stderr)
        )
        stack.callback(process.kill)
        context = rclpy.Context()
        rclpy.init(context=context, domain_id=domain.number)
        stack.callback(rclpy.shutdown, context=context)
        node = Node("bench", context=context)
        stack.callback(node.destroy_node)
        executor = FastExecutor(context=context)
        stack.callback(executor.shutdown)
        executor.add_node(node)
        bench = Bench(node, executor, process)
        assert bench.change_state(Transition.TRANSITION_CONFIGURE) is configures
        yield bench


class SharedBench:
    """One bench for all tests, and another one after a test that failed."""

    def __init__(self, start):
        self._start, self._stack = start, ExitStack()
        self._bench = None

    def get(self) -> Bench:
        if self._bench is None:
            self._bench = self._stack.enter_context(self._start())
        return self._bench

    def drop(self) -> None:
        self._bench = None
        self._stack.close()


FAILED = pytest.StashKey[bool]()
# Points of a path, of fifty a second: its start from rest, and more than one eight.
PART = 400


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    report = yield
    if report.failed:
        item.stash[FAILED] = True
    return report


@pytest.fixture(scope="session")
def shared_bench(start_bench):
    shared = SharedBench(start_bench)
    yield shared
    shared.drop()


@pytest.fixture
def bench(shared_bench, request):
    """The node, configured as by its file, without a model."""
    yield shared_bench.get()
    try:
        if not request.node.stash.get(FAILED, False):
            shared_bench.get().restore()
            return
    except BaseException:
        shared_bench.drop()
        raise
    shared_bench.drop()


@pytest.fixture(scope="session")
def start_bench(tmp_path_factory):
    """For tests that end the node."""
    return partial(running_bench, tmp_path_factory.getbasetemp())


@pytest.fixture
def arm(bench):
    """An arm at the start of the eight, held by the active node."""
    bench.measured = bench.plant.reset(bench.eight.positions[0])
    assert bench.change_state(Transition.TRANSITION_ACTIVATE)
    bench.run(0.12)
    return bench


@pytest.fixture(scope="session")
def recording(shared_bench, tmp_path_factory):
    """A pass along the eight, tracked by the node."""
    bench = shared_bench.get()
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
    bench.restore()
    return str(uri)


@pytest.fixture(scope="session")
def snapshot(tmp_path_factory):
    """What a learner makes of eight seconds of eights: more than one that knows little."""
    arm = Arm(seed=0)
    settings = LearningSettings(
        arm.description.joint_names, robot="wam4", model={"n_components": 30, "random_state": 0}
    )
    # A little faster than the bench's own.
    whole = arm.joint_path(figure_eight(3.0))
    path = JointPath(whole.times[:PART], *(field[:PART] for field in whole.fields))
    controller = arm.controller(RigidBodyFeedForward(arm.model))
    model, _ = learn(recorded_samples(arm, controller, path), settings)
    path = tmp_path_factory.mktemp("learned") / "model.npz"
    model.save(path)
    return str(path)
