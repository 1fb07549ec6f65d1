# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Operator: ROS client that operates simulator, controller and recorder as a person would."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rcl_interfaces.msg import Log
from rcl_interfaces.srv import SetParameters
from rclpy.client import Client
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile, qos_profile_rosout_default
from rclpy.signals import SignalHandlerOptions
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from ilr_dynamics.cli.tracking_record import TrackingRecord
from ilr_dynamics.exceptions import IlrDynamicsError
from ilr_dynamics.nodes.controller.loop_report import FAULT
from ilr_dynamics.nodes.controller.motion_requests import REFUSAL
from ilr_dynamics.nodes.shared import qos
from ilr_dynamics.nodes.shared.fast_dds import prepare_fast_dds
from ilr_dynamics.nodes.shared.messages import seconds, trajectory_message
from ilr_dynamics.robot.joint_motion import JointMotion
from ilr_dynamics_msgs.msg import ControllerState
from ilr_dynamics_msgs.srv import LoadSnapshot, UpdateModel

__all__ = ["Operator"]

Progress = Callable[[float], None]
"""Callback with the elapsed time of the trajectory, s."""

SERVICE_TIMEOUT = 20.0
# Timeout of learning, s: the learner has a lower priority than other programs.
LEARNING_TIMEOUT = 600.0
MODE_TIMEOUT = 20.0
SILENCE_TIMEOUT = 10.0
SPIN_PERIOD = 0.1
# How long the log line about a fault may come after the report of it, s.
LOG_TIMEOUT = 2.0
# No report may be lost, and many can wait if time runs faster than real time on a busy machine.
ALL_STATES = QoSProfile(depth=5000)
LARGEST_GAP = 5.0


class Operator:
    """
    ROS client of /inverse_dynamics, /wam_simulator and /recorder.

    Parameters
    ----------
    joints : tuple of str
        Names of the joints, from base to tool.
    check : callable
        Called while waiting; raises if waiting is useless.
    """

    def __init__(self, joints: tuple[str, ...], check: Callable[[], None]) -> None:
        prepare_fast_dds()
        # Without rclpy's handlers Ctrl-C raises KeyboardInterrupt, and the nodes are then stopped.
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
        self._joints = joints
        self._check = check
        self._node = Node("operator")
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self._node)
        self._trajectories = self._node.create_publisher(
            JointTrajectory, "inverse_dynamics/joint_trajectory", qos.REQUEST
        )
        self._node.create_subscription(
            ControllerState, "inverse_dynamics/controller_state", self._on_state, ALL_STATES
        )
        self._states: list[ControllerState] = []
        self._node.create_subscription(Log, "/rosout", self._on_log, qos_profile_rosout_default)
        self._refusal = self._fault = ""

    def close(self) -> None:
        """Destroy the ROS node of this client."""
        self._executor.shutdown()
        self._node.destroy_node()
        rclpy.shutdown()

    def change_state(self, transition: int) -> None:
        """Trigger a transition of /inverse_dynamics, a constant of lifecycle_msgs/Transition."""
        answer = self._call(
            ChangeState, "inverse_dynamics/change_state", transition=Transition(id=transition)
        )
        if not answer.success:
            raise IlrDynamicsError(f"/inverse_dynamics refused the transition {transition}")

    def set_parameters(self, node: str, **values: Any) -> None:
        """Set parameters of a node; a double underscore in a name stands for a dot."""
        parameters = [
            Parameter(name.replace("__", "."), value=value).to_parameter_msg()
            for name, value in values.items()
        ]
        answer = self._call(SetParameters, f"{node}/set_parameters", parameters=parameters)
        for result in answer.results:
            if not result.successful:
                raise IlrDynamicsError(f"/{node} refused {values}: {result.reason}")

    def start_recording(self, uri: Path) -> None:
        """Start a recording."""
        self.set_parameters("recorder", uri=str(uri))
        self._succeed(self._call(Trigger, "recorder/start"))

    def stop_recording(self) -> None:
        """Finish the recording."""
        self._succeed(self._call(Trigger, "recorder/stop"))

    def update_model(
        self, bag: Path, snapshot: Path, waiting: Progress, *, accept_worse: bool = False
    ) -> UpdateModel.Response:
        """Update the model from a bag; the arm stays under control."""
        answer = self.try_update(bag, snapshot, waiting, accept_worse=accept_worse)
        self._succeed(answer)
        return answer

    def try_update(
        self, bag: Path, snapshot: Path, waiting: Progress, *, accept_worse: bool = False
    ) -> UpdateModel.Response:
        """Update the model as `update_model` does, but return a failure as the response."""
        return self._call(
            UpdateModel,
            "inverse_dynamics/update_model",
            timeout=LEARNING_TIMEOUT,
            waiting=waiting,
            bag_uri=str(bag),
            snapshot_uri=str(snapshot),
            accept_worse=accept_worse,
        )

    def load_snapshot(self, snapshot: Path) -> None:
        """Replace the model in use by a saved one."""
        self._succeed(
            self._call(
                LoadSnapshot,
                "inverse_dynamics/load_snapshot",
                timeout=LEARNING_TIMEOUT,
                snapshot_uri=str(snapshot),
            )
        )

    def activate(self) -> None:
        """Reset the arm to its start posture and activate the controller."""
        self._succeed(self._call(Trigger, "wam_simulator/reset"))
        self._states.clear()
        self._fault = ""
        self.change_state(Transition.TRANSITION_ACTIVATE)
        self._await_mode(ControllerState.HOLDING)

    def guide(self) -> None:
        """Have the arm guided by hand."""
        self._succeed(self._call(Trigger, "inverse_dynamics/guide"))
        self._await_mode(ControllerState.GUIDING)

    def deactivate(self) -> None:
        """Deactivate the controller, which then sends no torque."""
        self.change_state(Transition.TRANSITION_DEACTIVATE)

    def answered_states(self) -> TrackingRecord:
        """Return the controller's reports since the last activation or trajectory."""
        return TrackingRecord.from_states(self._states)

    def clear_states(self) -> None:
        """Delete the reports so far."""
        self._states.clear()

    def listen(self, kind: Any, topic: str, callback: Callable[[Any], None]) -> None:
        """Subscribe to a topic; the callback is called only while this object waits."""
        self._node.create_subscription(kind, topic, callback, qos.STATUS)

    def watch(self, duration: float, waiting: Progress) -> None:
        """
        Wait while the controller runs.

        Parameters
        ----------
        duration : float
            Time to wait, s.
        waiting : callable
            Callback with the elapsed time, s.

        Raises
        ------
        IlrDynamicsError
            If the controller enters a fault or stops reporting.
        """
        start = time.monotonic()

        def over() -> bool:
            self._mode()
            waiting(time.monotonic() - start)
            return time.monotonic() - start >= duration

        self._await(over)

    def follow(self, motion: JointMotion, progress: Progress) -> TrackingRecord:
        """
        Track a trajectory from the start posture.

        Parameters
        ----------
        motion : JointMotion
            Knots of the trajectory, sent as positions, velocities and accelerations.
        progress : callable
            Callback with the elapsed time, s.

        Returns
        -------
        TrackingRecord
            Reports of the controller from the first to the last point.

        Raises
        ------
        IlrDynamicsError
            If the controller enters a fault, refuses the trajectory, stops reporting, or reports
            were lost.
        """
        self.activate()
        self._states.clear()
        self._refusal = ""
        self._trajectories.publish(trajectory_message(self._joints, motion))
        duration = float(motion.times[-1])
        self._await_mode(ControllerState.TRACKING)
        start = seconds(self._states[-1].header.stamp)

        def ended() -> bool:
            progress(min(duration, seconds(self._states[-1].header.stamp) - start))
            return self._mode() != ControllerState.TRACKING

        self._await(ended)
        tracked = [state for state in self._states if state.mode == ControllerState.TRACKING]
        self.deactivate()
        record = TrackingRecord.from_states(tracked)
        steps = np.diff(record.time)
        if np.max(steps) > LARGEST_GAP * np.median(steps):
            raise IlrDynamicsError(
                f"reports of the controller are {np.max(steps):.3f} s apart; expected them every "
                f"{np.median(steps):.3f} s: the figures would be means over what arrived"
            )
        return record

    def _on_state(self, state: ControllerState) -> None:
        self._states.append(state)

    def _on_log(self, line: Log) -> None:
        if line.name != "inverse_dynamics":
            return
        if line.msg.startswith(REFUSAL):
            self._refusal = line.msg
        _, found, reason = line.msg.partition(FAULT)
        if found:
            self._fault = reason

    def _await_mode(self, mode: int) -> None:
        """Spin until the controller is in a mode; raise if it cannot get there."""
        deadline = time.monotonic() + MODE_TIMEOUT

        def reached() -> bool:
            if self._refusal:
                raise IlrDynamicsError(f"/inverse_dynamics: {self._refusal}")
            found = self._mode()
            if found != mode and time.monotonic() > deadline:
                raise IlrDynamicsError(
                    f"/inverse_dynamics is in mode {found} after {MODE_TIMEOUT:g} s; expected "
                    f"{mode} (ilr_dynamics_msgs/msg/ControllerState); its log says why"
                )
            return found == mode

        self._await(reached)

    def _mode(self) -> int | None:
        if not self._states:
            return None
        mode = self._states[-1].mode
        if mode == ControllerState.FAULT:
            raise IlrDynamicsError(f"/inverse_dynamics went to fault: {self._reason()}")
        return int(mode)

    def _reason(self) -> str:
        """Why the controller is in a fault, as its log says soon after the report."""
        deadline = time.monotonic() + LOG_TIMEOUT
        while not self._fault and time.monotonic() < deadline:
            self._executor.spin_once(timeout_sec=SPIN_PERIOD)
        return self._fault or "its log says why"

    def _await(self, condition: Callable[[], bool]) -> None:
        """Spin until the condition holds; raise if the controller stops reporting."""
        seen, deadline = len(self._states), time.monotonic() + SILENCE_TIMEOUT
        while not condition():
            self._executor.spin_once(timeout_sec=SPIN_PERIOD)
            self._check()
            if len(self._states) != seen:
                seen, deadline = len(self._states), time.monotonic() + SILENCE_TIMEOUT
            if time.monotonic() > deadline:
                raise IlrDynamicsError(
                    f"/inverse_dynamics has reported nothing for {SILENCE_TIMEOUT:g} s"
                )

    def _call(
        self,
        kind: Any,
        name: str,
        *,
        timeout: float = SERVICE_TIMEOUT,
        waiting: Progress = lambda elapsed: None,
        **fields: object,
    ) -> Any:
        client: Client[Any, Any] = self._node.create_client(kind, name)
        start = time.monotonic()
        try:
            while not client.wait_for_service(timeout_sec=SPIN_PERIOD):
                self._check()
                if time.monotonic() - start > timeout:
                    raise IlrDynamicsError(f"there is no service /{name} after {timeout:g} s")
            future = client.call_async(kind.Request(**fields))
            while not future.done():
                self._executor.spin_once(timeout_sec=SPIN_PERIOD)
                self._check()
                waiting(time.monotonic() - start)
                if time.monotonic() - start > timeout:
                    raise IlrDynamicsError(f"/{name} has not answered within {timeout:g} s")
            return future.result()
        finally:
            self._node.destroy_client(client)

    @staticmethod
    def _succeed(answer: Any) -> None:
        if not answer.success:
            raise IlrDynamicsError(answer.message)
