# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""An arm in lock-step with the node, which runs as a process and is asked over DDS."""

import contextlib
import re
import sys
import time
from array import array
from pathlib import Path

import numpy as np
from builtin_interfaces.msg import Duration, Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.srv import GetParameters, ListParameters, SetParameters
from rclpy.client import Client
from rclpy.executors import Executor, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from ilr_dynamics.control import JointPath, Mode
from ilr_dynamics.nodes.controller.diagnostic_groups import LOOP
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.plant import WamPlant
from ilr_dynamics.robot.plant_config import load_plant_config
from ilr_dynamics.robot.rigid_body import RigidBodyModel
from ilr_dynamics.robot.tool_paths import figure_eight, joint_path
from ilr_dynamics_msgs.msg import ControllerState

try:
    # Takes half of the processor time of the other: the arm makes some ten thousand cycles.
    from rclpy.experimental import EventsExecutor as FastExecutor
except ImportError:  # Not in ROS 2 Jazzy.
    FastExecutor = SingleThreadedExecutor

MODES = {mode.name.lower() for mode in Mode}
CLOCK_WARNING = re.compile(r", joint states stamped [^,]* the node's clock")
CYCLE = 0.002
RATE_LIMIT = np.array([385.0, 800.0, 400.0, 200.0])
NAME = "/inverse_dynamics"
CONFIG = Path(__file__).parents[3] / "config" / "wam4.yaml"
COMMAND = [sys.executable, "-m", "ilr_dynamics.nodes.inverse_dynamics_node", "--ros-args"]
PARAMETERS = [
    *("--params-file", str(CONFIG)),
    *("-p", "controller_state.decimation:=1"),
    *("-p", "diagnostics.period:=0.2"),
    # Time stands still here while something else is looked at.
    *("-p", "supervision.silence_timeout:=60.0"),
]


class Bench:
    """An arm and its driver, at work while anything else is asked of the node."""

    def __init__(self, node: Node, executor: Executor, process) -> None:
        self.node, self.executor, self.process = node, executor, process
        description = load_description("wam4")
        self.joints = list(description.joint_names)
        self.plant = WamPlant(description, load_plant_config("wam4"), seed=0)
        motion = joint_path(figure_eight(3.4), RigidBodyModel(description), rate=50.0)
        self.eight = JointPath(*(field[:101] for field in motion))
        self.measured = self.plant.reset(self.eight.positions[0])
        self.time = 1000.0
        self.torques: list[JointState] = []
        self.states: list[ControllerState] = []
        # Those of all groups, the loop's first, whenever a round has ended.
        self.diagnostics: list[DiagnosticArray] = []
        self._statuses: dict[str, DiagnosticStatus] = {}
        self._changed: set[str] = set()
        self._clients: dict[str, Client] = {}
        self.restore_driver()
        node.create_subscription(JointState, "joint_torque_command", self.torques.append, 10)
        node.create_subscription(
            ControllerState, f"{NAME}/controller_state", self.states.append, 10
        )
        node.create_subscription(DiagnosticArray, "/diagnostics", self._note_diagnostics, 10)
        self.publisher = node.create_publisher(JointState, "joint_states", qos_profile_sensor_data)
        self.trajectories = node.create_publisher(JointTrajectory, f"{NAME}/joint_trajectory", 10)
        self._own_publishers = set(node.publishers)
        names = self.ask(ListParameters, "list_parameters", moving=False).result.names
        values = self.ask(GetParameters, "get_parameters", moving=False, names=names).values
        self._usual = dict(zip(names, values, strict=True))

    def _note_diagnostics(self, message: DiagnosticArray) -> None:
        self._statuses |= {status.name: status for status in message.status}
        (last,) = message.status
        if last.name.endswith(LOOP):
            others = [status for status in self._statuses.values() if status is not last]
            self.diagnostics.append(DiagnosticArray(header=message.header, status=[last, *others]))
            self._statuses.clear()

    def restore_driver(self) -> None:
        self.change_velocity = lambda velocity: velocity
        self.change_effort = lambda effort: effort

    def restore(self) -> None:
        """Lead everything back to where it was before the test: the node is configured anew."""
        self.restore_driver()
        for publisher in set(self.node.publishers) - self._own_publishers:
            self.node.destroy_publisher(publisher)
        # In whatever state, as one of these must succeed.
        self.change_state(Transition.TRANSITION_DEACTIVATE)
        self.change_state(Transition.TRANSITION_CLEANUP)
        self.restore_parameters(moving=False)
        assert self.change_state(Transition.TRANSITION_CONFIGURE)

    def restore_parameters(self, *, moving: bool = True) -> None:
        """Set parameters that a test has changed to what they were."""
        usual = [ParameterMessage(name=n, value=self._usual[n]) for n in self._changed]
        answer = self.ask(SetParameters, "set_parameters", moving=moving, parameters=usual)
        assert all(result.successful for result in answer.results), answer
        self._changed.clear()

    def joint_state(self) -> JointState:
        message = JointState(
            name=list(self.joints),
            position=array("d", self.measured.position),
            velocity=array("d", self.change_velocity(self.measured.velocity)),
            effort=array("d", self.change_effort(self.measured.torque)),
        )
        message.header.stamp = stamp(self.time)
        return message

    def answer_to(self, message: JointState, timeout: float = 30.0) -> JointState | None:
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
        deadline = time.monotonic() + 30.0
        while not self.torques and time.monotonic() < deadline:
            self.executor.spin_once(timeout_sec=0.05)
        return self.torques[-1]

    def is_unanswered(self, message: JointState) -> bool:
        """Whether no torque comes for a joint state."""
        self.torques.clear()
        self.publisher.publish(message)
        # The node takes joint states before anything else that waits.
        self.ask(GetState, "get_state", moving=False)
        self.spin(0.01)
        return not self.torques

    def spin(self, duration: float) -> None:
        """Let real time pass, in which the arm's stands still."""
        deadline = time.monotonic() + duration
        while time.monotonic() < deadline:
            self.executor.spin_once(timeout_sec=0.05)

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
        deadline = time.monotonic() + 120.0
        pause = 0.001
        while not future.done():
            assert time.monotonic() < deadline, "no answer within 120 s"
            self.cycle()
            # For the learner, which gives way to arm and node; the longer, the more it has to do.
            time.sleep(pause)
            pause = min(1.1 * pause, 0.03)
        return future.result()

    def ask(self, kind, name, *, moving=True, **fields):
        # Kept: to be found by the node takes a new one longer than to be answered.
        if name not in self._clients:
            self._clients[name] = self.node.create_client(kind, f"{NAME}/{name}")
        client = self._clients[name]
        assert client.wait_for_service(timeout_sec=60.0), f"no service {name}"
        future = client.call_async(kind.Request(**fields))
        if moving:
            answer = self.wait(future)
        else:
            self.executor.spin_until_future_complete(future, timeout_sec=120.0)
            answer = future.result()
        return answer

    def change_state(self, transition: int) -> bool:
        request = {"transition": Transition(id=transition)}
        return self.ask(ChangeState, "change_state", moving=False, **request).success

    def set_parameters(self, *, moving=True, **values):
        named = {name.replace("__", "."): value for name, value in values.items()}
        parameters: list[ParameterMessage] = [
            Parameter(name, value=value).to_parameter_msg() for name, value in named.items()
        ]
        answer = self.ask(SetParameters, "set_parameters", moving=moving, parameters=parameters)
        self._changed |= {
            name for name, of in zip(named, answer.results, strict=True) if of.successful
        }
        return answer.results[0]

    def learner(self) -> int:
        """Process id of the learner, once it runs; the arm moves on until then."""
        parent = self.process.pid
        children = Path(f"/proc/{parent}/task/{parent}/children")
        # Until its program is loaded the node waits for it: stopped by then, it would for ever.
        while not (learners := children.read_text().split()) or _program(learners[0]) == _program(
            parent
        ):
            self.cycle()
        return int(learners[0])

    def diagnosis(self, moving=True):
        """Level, text and values of a whole period from now on."""
        for _ in range(10):
            statuses = self._next_statuses(moving)
            status = statuses[0]
            # Beside a busy program the arm may come to no cycle of its own for a whole period.
            if not (moving and "no joint states" in status.message):
                break
        # Time here is not that of the node's clock.
        message = CLOCK_WARNING.sub("", status.message)
        level = DiagnosticStatus.OK if message in MODES else status.level
        return level, message, {item.key: item.value for of in statuses for item in of.values}

    def _next_statuses(self, moving):
        # Those of before may still be on their way; all carry a simulated time that stands still.
        now = 0.0 if "use_sim_time" in self._changed else time.time()
        self.diagnostics.clear()
        while sum(seconds(told.header.stamp) >= now for told in self.diagnostics) < 2:
            if moving:
                self.cycle()
            else:
                self.spin(0.05)
        return self.diagnostics[-1].status

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
        # Five turns of what the node does beside answering.
        self.run(0.05)


def stamp(seconds: float) -> Time:
    sec, nanosec = divmod(round(1e9 * seconds), 1_000_000_000)
    return Time(sec=sec, nanosec=nanosec)


def seconds(stamp: Time) -> float:
    return stamp.sec + 1e-9 * stamp.nanosec


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


def _program(pid):
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""
