# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The control loop of /inverse_dynamics: a joint state in, a torque out."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from rclpy.lifecycle import LifecycleNode
from sensor_msgs.msg import JointState

from ilr_dynamics.control import Command, Mode, RigidBodyFeedForward, TrackingController
from ilr_dynamics.control.feedforward import Predictor
from ilr_dynamics.exceptions import InvalidDataError
from ilr_dynamics.nodes import qos
from ilr_dynamics.nodes.control_settings import ControlSettings
from ilr_dynamics.nodes.diagnostics import LoopStatistics
from ilr_dynamics.nodes.garbage import QuietCollector
from ilr_dynamics.nodes.messages import JointStateReader, torque_command
from ilr_dynamics.nodes.motion_requests import MotionRequests
from ilr_dynamics.nodes.state_message import StateMessage
from ilr_dynamics.robot.description import RobotDescription
from ilr_dynamics.robot.rigid_body import RigidBodyModel
from ilr_dynamics_msgs.msg import ControllerState

__all__ = ["ControlLoop"]

# Log lines of one kind are at least this far apart, s.
_LOG_PERIOD = 1.0
# Time from one collection of garbage to the next, s.
_COLLECTION_PERIOD = 0.5


class ControlLoop:
    """Joint states in, torques and controller states out, as long as the node is configured.

    Parameters
    ----------
    node : LifecycleNode
    values : mapping of str to object
        Values of all parameters.
    settings : ControlSettings
        Made from them.
    description : RobotDescription
    """

    def __init__(
        self,
        node: LifecycleNode,
        values: Mapping[str, Any],
        settings: ControlSettings,
        description: RobotDescription,
    ) -> None:
        self.statistics = LoopStatistics()
        self.model = ""
        self._node = node
        self._active = False
        self._settings = settings
        self._decimation = values["controller_state.decimation"]
        self._collector = QuietCollector(round(_COLLECTION_PERIOD * values["rate"]))
        self._cycles = 0
        self._predictor: Predictor | None = None
        self._physics = RigidBodyFeedForward(
            RigidBodyModel(description),
            driver_compensates_gravity=values["driver_compensates_gravity"],
        )
        self._controller = TrackingController(
            settings.limits,
            settings.gains,
            settings.supervision,
            settings.feedforward(self._physics, self._predictor),
            self._physics,
            period=1.0 / values["rate"],
            feedforward_fade=values["feedforward.fade_time"],
            reference_fade=values["trajectory.fade_time"],
        )
        self._mode = self._controller.mode
        joints = settings.limits.joints
        self._reader = JointStateReader(joints)
        self._torque = torque_command(values["command.interface"], joints)
        self._state = StateMessage(joints)
        self._torque_publisher = node.create_lifecycle_publisher(
            type(self._torque.message), values["command.topic"], qos.COMMAND
        )
        self._state_publisher = node.create_lifecycle_publisher(
            ControllerState, "~/controller_state", qos.STATUS
        )
        self.joint_states = node.create_subscription(
            JointState, values["state.topic"], self._on_joint_state, qos.JOINT_STATES
        )
        self._requests = MotionRequests(node, self._controller, values["trajectory.allow_linear"])

    @property
    def mode(self) -> Mode:
        """What the controller is doing."""
        return self._controller.mode

    @property
    def fault(self) -> str:
        """What led to the present fault; empty without one."""
        return self._controller.fault

    @property
    def active(self) -> bool:
        """Whether torque goes out."""
        return self._active

    @property
    def controller(self) -> str:
        """Kind of the controller: pd, analytic or ilr."""
        return self._settings.controller

    def activate(self) -> None:
        """Answer joint states from now on; the publishers are active already."""
        self._controller.reset()
        self._reader.stamp = None
        self.statistics.forget()
        self._collector.start()
        self._active = True

    def deactivate(self) -> None:
        """Send zero torque and answer no more."""
        if not self._active:
            return
        self._active = False
        stamp = self._reader.stamp
        if stamp is not None:
            # A forward_command_controller would go on with its last torque for ever.
            self._torque.fill(stamp, np.zeros(len(self._settings.limits.joints)))
            self._torque_publisher.publish(self._torque.message)
        self._controller.reset()
        self._mode = self._controller.mode
        self._collector.stop()

    def destroy(self) -> None:
        """Give up topics and services."""
        self.deactivate()
        self._requests.destroy()
        self._node.destroy_subscription(self.joint_states)
        self._node.destroy_lifecycle_publisher(self._torque_publisher)
        self._node.destroy_lifecycle_publisher(self._state_publisher)

    def apply(self, settings: ControlSettings, values: Mapping[str, Any]) -> None:
        """Change over to other settings between two cycles."""
        self._settings = settings
        self._decimation = values["controller_state.decimation"]
        self._requests.allow_linear = values["trajectory.allow_linear"]
        self._controller.gains = settings.gains
        self._controller.limits = settings.limits
        self._controller.supervision = settings.supervision
        self._controller.set_feedforward(settings.feedforward(self._physics, self._predictor))

    def set_predictor(self, predictor: Predictor, model: str) -> None:
        """Change over to another learned model between two cycles.

        Parameters
        ----------
        predictor : Predictor
        model : str
            Its identity.
        """
        self._predictor, self.model = predictor, model
        if self._settings.controller == "ilr":
            self._controller.set_feedforward(
                self._settings.feedforward(self._physics, self._predictor)
            )

    def _on_joint_state(self, message: JointState) -> None:
        if not self._active:
            return
        start = time.perf_counter()
        try:
            command = self._controller.step(*self._reader.read(message))
        except InvalidDataError as error:
            self._refuse(str(error))
            return
        if command is None:
            self._refuse("not finite or not newer than the last one")
            return
        self._torque.fill(message.header.stamp, command.torque)
        self._torque_publisher.publish(self._torque.message)
        self._report(message, command, time.perf_counter() - start)

    def _refuse(self, reason: str) -> None:
        self.statistics.unusable += 1
        self._node.get_logger().warning(
            f"joint state not answered: {reason}", throttle_duration_sec=_LOG_PERIOD
        )

    def _report(self, message: JointState, command: Command, loop_time: float) -> None:
        self._cycles += 1
        self.statistics.add(command, loop_time)
        if self._cycles % self._decimation == 0:
            self._state.fill(message.header.stamp, command, self.controller, self.model, loop_time)
            self._state_publisher.publish(self._state.message)
        if command.mode is not self._mode:
            self._log_mode(command.mode)
        self._collector.cycle_done()

    def _log_mode(self, mode: Mode) -> None:
        text = f"{self._mode.name.lower()} -> {mode.name.lower()}"
        self._mode = mode
        if mode is Mode.FAULT:
            self._node.get_logger().error(f"{text}: {self.fault}")
        else:
            self._node.get_logger().info(text)
