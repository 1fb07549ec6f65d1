# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The launch files as ``ros2 launch`` runs them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from importlib.util import find_spec
from pathlib import Path

import pytest
import rclpy
import yaml
from ament_index_python.packages import get_package_share_path, get_packages_with_prefixes
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.srv import GetParameters
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String
from std_srvs.srv import Trigger
from visualization_msgs.msg import MarkerArray

from ilr_dynamics.learning import LearningSettings
from ilr_dynamics.learning.learn import read_states
from ilr_dynamics.nodes.shared.robot_model import DESCRIPTION_TOPIC
from ilr_dynamics.recording import read_recording
from ilr_dynamics_msgs.msg import ControllerState
from ilr_dynamics_msgs.srv import UpdateModel

pytestmark = [
    pytest.mark.skipif(
        find_spec(module) is None,
        reason=f"{module} is not installed: a sourced ROS 2 brings it",
    )
    for module in ("launch_ros", "ros2launch")
]
INSTALLED = get_packages_with_prefixes()
WITH_ROBOT_STATE_PUBLISHER = "robot_state_publisher" in INSTALLED
JOINTS = ("j1", "j2", "j3", "j4")
TIMEOUT = 120.0


class Launch:
    """A launch in the background, in a process group of its own."""

    def __init__(self, log: Path, *arguments: str, file: str = "wam_tracking.launch.py") -> None:
        self.log = log
        with log.open("w") as output:
            self.process = subprocess.Popen(
                ["ros2", "launch", "ilr_dynamics", file, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                process_group=0,
            )

    def __enter__(self) -> Launch:
        return self

    def __exit__(self, *exception: object) -> None:
        if self.is_alive():
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    @property
    def output(self) -> str:
        return self.log.read_text()

    def is_alive(self) -> bool:
        """Whether the launch or anything that it started is left."""
        self.process.poll()
        try:
            os.killpg(self.process.pid, 0)
        except ProcessLookupError:
            return False
        return True

    def process_of(self, executable: str) -> int:
        """Return the process id of what the launch has started."""
        started = rf"\[{executable}-\d+\]: process started with pid \[(\d+)\]"
        return int(re.search(started, self.output)[1])

    def interrupt(self) -> int:
        """Ask the launch to end, and return its exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(TIMEOUT)


class Observer:
    """Looks at the nodes from outside."""

    def __init__(self, node: Node, executor: SingleThreadedExecutor, namespace: str = "") -> None:
        self.node, self.executor, self.namespace = node, executor, namespace
        self.states: list[ControllerState] = []
        self.markers: list[MarkerArray] = []
        node.create_subscription(
            ControllerState,
            f"{namespace}/inverse_dynamics/controller_state",
            self.states.append,
            10,
        )
        node.create_subscription(
            MarkerArray, f"{namespace}/visualizer/markers", self.markers.append, 10
        )

    def wait_until(self, condition, launch: Launch) -> None:
        deadline = time.monotonic() + TIMEOUT
        while not condition():
            assert launch.process.poll() is None, launch.output
            assert time.monotonic() < deadline, launch.output
            self.executor.spin_once(timeout_sec=0.1)

    def call(self, kind, name: str, **request):
        client = self.node.create_client(kind, name)
        assert client.wait_for_service(TIMEOUT)
        future = client.call_async(kind.Request(**request))
        self.executor.spin_until_future_complete(future, TIMEOUT)
        self.node.destroy_client(client)
        return future.result()

    def life_cycle_state(self) -> str:
        name = f"{self.namespace}/inverse_dynamics/get_state"
        return self.call(GetState, name).current_state.label

    def parameter(self, node: str, name: str):
        service = f"{self.namespace}/{node}/get_parameters"
        answer = self.call(GetParameters, service, names=[name])
        return parameter_value_to_python(answer.values[0])

    def mode_seen(self, mode: int) -> bool:
        return any(state.mode == mode for state in self.states)


@pytest.fixture
def observer(request):
    rclpy.init()
    node, executor = Node("observer"), SingleThreadedExecutor()
    executor.add_node(node)
    yield Observer(node, executor, getattr(request, "param", ""))
    executor.shutdown()
    rclpy.shutdown()


@pytest.fixture(scope="module")
def config() -> dict:
    return yaml.safe_load(
        (get_package_share_path("ilr_dynamics") / "config/wam4.yaml").read_text()
    )


@pytest.fixture
def lock_step(tmp_path, config) -> str:
    """The robot's parameters, but independent of how busy the machine is; records to tmp_path."""
    simulator = {**config["/**/wam_simulator"]["ros__parameters"], "lock_step": True}
    changed = {"/**/wam_simulator": simulator}
    for node in ("/**/recorder", "/**/inverse_dynamics"):
        files = {"directories": [str(tmp_path)]}
        changed[node] = {**config[node]["ros__parameters"], "files": files}
    nodes = {name: {"ros__parameters": values} for name, values in changed.items()}
    path = tmp_path / "lock_step.yaml"
    path.write_text(yaml.safe_dump({**config, **nodes}))
    return f"params_file:={path}"


def test_the_simulated_arm_tracks_and_is_recorded_until_interrupted(observer, lock_step, tmp_path):
    recording = tmp_path / "recording"
    with Launch(tmp_path / "log", lock_step, f"record:={recording}") as launch:
        observer.wait_until(lambda: observer.mode_seen(ControllerState.TRACKING), launch)
        observer.wait_until(lambda: observer.markers, launch)
        # Until the recorder, too, has discovered the others and recorded for a while.
        observer.wait_until(lambda: len(observer.states) > 250, launch)
        assert observer.life_cycle_state() == "active"
        assert launch.interrupt() == 0, launch.output
        assert not launch.is_alive()
    assert observer.markers[-1].markers[0].header.frame_id == "base"
    assert len(read_recording(recording, JOINTS).time) > 100


def test_without_an_accessory_the_launch_goes_on_and_says_so(observer, lock_step, tmp_path):
    record = f"record:={tmp_path / 'recording'}"
    with Launch(tmp_path / "log", lock_step, record, "trajectory:=none") as launch:
        observer.wait_until(lambda: observer.mode_seen(ControllerState.HOLDING), launch)
        for name in ("recorder", "visualizer"):
            os.kill(launch.process_of(name), signal.SIGKILL)
            text = f"/{name} was ended by SIGKILL: the launch goes on without it"
            observer.wait_until(lambda text=text: text in launch.output, launch)
        observer.states.clear()
        observer.wait_until(lambda: len(observer.states) > 10, launch)
        assert observer.states[-1].mode == ControllerState.HOLDING
        assert launch.interrupt() == 0, launch.output


@pytest.mark.parametrize("executable", ["inverse_dynamics_node", "wam_simulator"])
def test_without_controller_or_arm_the_launch_ends_and_says_so_last(
    observer, lock_step, tmp_path, executable
):
    with Launch(tmp_path / "log", lock_step, "trajectory:=none") as launch:
        observer.wait_until(lambda: observer.mode_seen(ControllerState.HOLDING), launch)
        os.kill(launch.process_of(executable), signal.SIGKILL)
        assert launch.process.wait(TIMEOUT) == 1
        node = f"/{executable.removesuffix('_node')} was ended by SIGKILL: by a person, or"
        assert node in launch.output.splitlines()[-1]
        assert "Traceback" not in launch.output
        assert not launch.is_alive()


@pytest.mark.parametrize("observer", ["/left"], indirect=True)
def test_everything_works_in_a_namespace_and_with_a_prefix(observer, lock_step, tmp_path):
    recording = tmp_path / "recording"
    arguments = ("namespace:=left", "prefix:=left_", f"record:={recording}", "trajectory:=T1")
    with Launch(tmp_path / "log", lock_step, *arguments) as launch:
        observer.wait_until(lambda: observer.mode_seen(ControllerState.TRACKING), launch)
        observer.wait_until(lambda: observer.markers, launch)
        # Until the recorder, too, has discovered the others and recorded for a while.
        observer.wait_until(lambda: len(observer.states) > 250, launch)
        assert observer.states[-1].joint_names == [f"left_{joint}" for joint in JOINTS]
        assert observer.parameter("wam_simulator", "lock_step") is True
        names = {
            name
            for name, space in observer.node.get_node_names_and_namespaces()
            if space == "/left"
        }
        assert launch.interrupt() == 0, launch.output
    assert names >= {"inverse_dynamics", "wam_simulator", "visualizer", "recorder"}
    assert observer.markers[-1].markers[0].header.frame_id == "left_base"
    settings = LearningSettings(
        JOINTS, state_topic="joint_states", command_topic="joint_torque_command"
    )
    assert len(read_states(recording, settings).time) > 100


@pytest.mark.timeout(400)
def test_two_arms_learn_from_each_others_recordings(observer, lock_step, tmp_path):
    arms = {
        side: Observer(observer.node, observer.executor, f"/{side}") for side in ("left", "right")
    }
    arguments = (lock_step, "trajectory:=train_2.6", f"record:={tmp_path / 'run1'}")
    with Launch(tmp_path / "log", *arguments, file="two_arms.launch.py") as launch:
        for arm in arms.values():
            observer.wait_until(lambda arm=arm: arm.mode_seen(ControllerState.TRACKING), launch)
        for arm in arms.values():
            observer.wait_until(
                lambda arm=arm: arm.states[-1].mode == ControllerState.HOLDING, launch
            )
        for side in arms:
            assert observer.call(Trigger, f"/{side}/recorder/stop").success
        for side, other in (("left", "right"), ("right", "left")):
            service = f"/{side}/inverse_dynamics/update_model"
            answer = observer.call(UpdateModel, service, bag_uri=str(tmp_path / f"run1_{other}"))
            assert answer.success, answer.message
            assert answer.samples_used > 100
            arm = arms[side]
            model = answer.snapshot_uri
            observer.wait_until(lambda arm=arm, model=model: arm.states[-1].model == model, launch)
        assert launch.interrupt() == 0, launch.output
    for side, arm in arms.items():
        assert arm.states[-1].joint_names == [f"{side}_{joint}" for joint in JOINTS]


def test_a_second_launch_leaves_the_first_alone(observer, lock_step, tmp_path):
    with Launch(tmp_path / "log", lock_step, "trajectory:=none") as first:
        observer.wait_until(lambda: observer.mode_seen(ControllerState.HOLDING), first)
        with Launch(tmp_path / "second", lock_step) as second:
            assert second.process.wait(TIMEOUT) == 1
            # Which of these says so depends on what is discovered first.
            text = "there is another /|/wam_simulator is another arm|publishes /joint_"
            assert re.search(text, second.output.splitlines()[-1]), second.output
        observer.states.clear()
        observer.wait_until(lambda: len(observer.states) > 10, first)
        assert observer.states[-1].mode == ControllerState.HOLDING
        assert observer.life_cycle_state() == "active"


def test_arguments_go_before_the_parameter_file(observer, lock_step, config, tmp_path):
    arguments = ("controller:=pd", "trajectory:=train_3")
    with Launch(tmp_path / "log", lock_step, *arguments) as launch:
        observer.wait_until(lambda: observer.mode_seen(ControllerState.HOLDING), launch)
        assert observer.states[-1].controller == "pd"
        assert observer.parameter("trajectory_publisher", "trajectory") == "train_3"
        gains = config["/**/inverse_dynamics"]["ros__parameters"]["gains"]
        assert list(observer.parameter("inverse_dynamics", "gains.kp")) == gains["kp"]


def test_the_long_arm_tracks_behind_a_driver_of_its_own(observer, tmp_path):
    shared = get_package_share_path("ilr_dynamics") / "config/drivers/ros2_control.yaml"
    parameters = yaml.safe_load(shared.read_text())
    parameters["/**/wam_simulator"]["ros__parameters"]["lock_step"] = True
    driver = tmp_path / "driver.yaml"
    driver.write_text(yaml.safe_dump(parameters))
    with Launch(tmp_path / "log", "robot:=wam7", f"driver:={driver}") as launch:
        observer.wait_until(lambda: observer.mode_seen(ControllerState.TRACKING), launch)
    joints = parameters["/**/inverse_dynamics"]["ros__parameters"]["joints"]
    assert list(observer.states[-1].joint_names) == joints


def test_what_a_driver_does_not_say_is_the_robots(observer, tmp_path):
    arguments = ("robot:=wam7", "driver:=barrett_ros1", "sim:=false")
    with Launch(tmp_path / "log", *arguments) as launch:
        observer.wait_until(lambda: "visualizer" in observer.node.get_node_names(), launch)
        assert observer.parameter("inverse_dynamics", "state.topic") == "/wam/joint_states"
        assert len(observer.parameter("inverse_dynamics", "gate.std_trusted")) == 7


def test_a_real_arm_is_neither_simulated_nor_moved_unasked(observer, tmp_path):
    with Launch(tmp_path / "log", "sim:=false") as launch:
        observer.wait_until(lambda: "visualizer" in observer.node.get_node_names(), launch)
        observer.wait_until(lambda: observer.life_cycle_state() == "active", launch)
        names = observer.node.get_node_names()
    assert not {"wam_simulator", "trajectory_publisher"} & set(names)


def test_a_deactivated_node_is_left_inactive(observer, tmp_path):
    with Launch(tmp_path / "log", "sim:=false") as launch:
        observer.wait_until(lambda: observer.life_cycle_state() == "active", launch)
        observer.call(
            ChangeState,
            "/inverse_dynamics/change_state",
            transition=Transition(id=Transition.TRANSITION_DEACTIVATE),
        )
        time.sleep(1.0)
        assert observer.life_cycle_state() == "inactive"


@pytest.fixture
def rviz_without_a_screen(tmp_path, monkeypatch):
    """In the place of rviz2, something that runs and shows nothing."""
    index = tmp_path / "prefix/share/ament_index/resource_index/packages"
    executable = tmp_path / "prefix/lib/rviz2/rviz2"
    for folder in (index, executable.parent):
        folder.mkdir(parents=True)
    (index / "rviz2").touch()
    executable.write_text("#!/bin/sh\nexec sleep 1000\n")
    executable.chmod(0o755)
    prefixes = [str(tmp_path / "prefix"), os.environ["AMENT_PREFIX_PATH"]]
    monkeypatch.setenv("AMENT_PREFIX_PATH", os.pathsep.join(prefixes))


@pytest.mark.skipif(
    not WITH_ROBOT_STATE_PUBLISHER, reason="robot_state_publisher is not installed"
)
@pytest.mark.usefixtures("rviz_without_a_screen")
def test_rviz_gets_the_simulated_arm_as_a_robot_model(observer, tmp_path):
    from tf2_msgs.msg import TFMessage

    descriptions, frames = [], []
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    observer.node.create_subscription(String, DESCRIPTION_TOPIC, descriptions.append, latched)
    observer.node.create_subscription(TFMessage, "/tf", frames.append, 10)
    arguments = ("robot:=wam7", "driver:=barrett_ros1", "rviz:=true", "trajectory:=none")
    with Launch(tmp_path / "log", *arguments) as launch:
        observer.wait_until(lambda: descriptions and frames, launch)
        assert observer.parameter("visualizer", "arm_markers") is False
    assert 'name="wam/YawJoint"' in descriptions[-1].data
    assert len(frames[-1].transforms) == 7


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(
            ("rviz:=true",),
            marks=pytest.mark.skipif(
                WITH_ROBOT_STATE_PUBLISHER, reason="robot_state_publisher is installed"
            ),
        ),
        ("rviz:=true", "sim:=false"),
    ],
)
@pytest.mark.usefixtures("rviz_without_a_screen")
def test_rviz_gets_any_other_arm_as_markers(observer, tmp_path, arguments):
    with Launch(tmp_path / "log", *arguments) as launch:
        observer.wait_until(lambda: "visualizer" in observer.node.get_node_names(), launch)
        assert observer.parameter("visualizer", "arm_markers") is True
        assert "robot_state_publisher" not in launch.output


@pytest.mark.skipif("rviz2" in INSTALLED, reason="rviz2 is installed")
def test_a_missing_rviz_is_named_and_leaves_nothing_behind(tmp_path):
    with Launch(tmp_path / "log", "rviz:=true") as launch:
        assert launch.process.wait(TIMEOUT) == 1, launch.output
        assert "'rviz2' is not found" in launch.output
        assert not launch.is_alive(), launch.output


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("robot:=wam9", "wam4"),
        ("params_file:=/nowhere/wam4.yaml", "/nowhere/wam4.yaml: expected an existing"),
        ("driver:=nowhere", "driver is nowhere: expected an existing parameter file"),
        ("controller:=lqr", "'lqr'; expected one of pd, analytic, ilr"),
        ("record:=/proc/nowhere", "/proc/nowhere"),
    ],
)
def test_what_makes_no_sense_ends_the_launch_with_an_error(argument, expected, tmp_path):
    with Launch(tmp_path / "log", argument) as launch:
        assert launch.process.wait(TIMEOUT) == 1, launch.output
        assert expected in launch.output.splitlines()[-1]
        assert "Traceback" not in launch.output
        assert not launch.is_alive()
