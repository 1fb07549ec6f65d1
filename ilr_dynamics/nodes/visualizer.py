# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Node /visualizer: markers of the arm, its tool point's paths, its torques and its model."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from nav_msgs.msg import Path
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from visualization_msgs.msg import Marker, MarkerArray

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.control import joint_order
from ilr_dynamics.exceptions import IlrDynamicsError, InvalidDataError
from ilr_dynamics.nodes.markers.picture import Picture
from ilr_dynamics.nodes.markers.shown_state import ShownState, shown_state
from ilr_dynamics.nodes.parameter_table import declare, read
from ilr_dynamics.nodes.parameters import VISUALIZER, joints_in_messages
from ilr_dynamics.nodes.shared import qos
from ilr_dynamics.nodes.shared.messages import seconds
from ilr_dynamics.nodes.shared.node_process import StopRequest, limited_end, run_program, spin
from ilr_dynamics.nodes.shared.polled_subscription import PolledSubscription
from ilr_dynamics.nodes.shared.robot_description import PublishedArm
from ilr_dynamics.nodes.shared.robot_model import load_arm
from ilr_dynamics.robot.rigid_body import RigidBodyModel
from ilr_dynamics_msgs.msg import ControllerState, PayloadEstimate

__all__ = ["Visualizer", "main"]

_LOG_PERIOD = 60.0
# Two seconds of controller states at 50 Hz may wait for a picture.
_STATES = QoSProfile(depth=100)
# Shortest time between texts, and between markers that do not change, s.
_TEXT_PERIOD, _FIXED_PERIOD = 0.2, 1.0
# Silence of the controller after which it is said, s.
_SILENCE = 1.0


class Visualizer(Node):
    """
    Node that publishes markers and paths at a steady rate while there are subscribers.

    Without one it neither listens nor computes.
    """

    def __init__(self) -> None:
        super().__init__("visualizer")
        declare(self, VISUALIZER)
        values = PublishedArm(self).with_file(read(self, VISUALIZER))
        self._joints = joints_in_messages(values)
        self._picture = Picture(
            RigidBodyModel(load_arm(values, self.get_logger().warning)),
            self._joints,
            values["prefix"],
            values["prefix"] + values["frame"],
            self.get_namespace().strip("/"),
            values["files.directories"],
        )
        self._state_topic = values["state.topic"] if values["arm_markers"] else ""
        self._joint_states: PolledSubscription | None = None
        self._controller_states: PolledSubscription | None = None
        self._payloads: PolledSubscription | None = None
        self._forget()
        self._markers = self.create_publisher(MarkerArray, "~/markers", qos.STATUS)
        self._paths = {
            name: self.create_publisher(Path, f"~/{name}_path", qos.STATUS)
            for name in self._picture.paths()
        }
        self.create_timer(1.0 / values["rate"], self._show)

    def _show(self) -> None:
        """Publish a picture if somebody looks."""
        if not any(
            publisher.get_subscription_count()
            for publisher in (self._markers, *self._paths.values())
        ):
            self._stop_listening()
            return
        if self._controller_states is None:
            self.listen()
        self._take()
        self._publish()

    def listen(self) -> None:
        """Subscribe to what is shown, as is done when somebody looks."""
        self._controller_states = PolledSubscription(
            self, ControllerState, "inverse_dynamics/controller_state", _STATES
        )
        self._payloads = PolledSubscription(
            self, PayloadEstimate, "inverse_dynamics/payload", qos.LATCHED
        )
        if self._state_topic:
            # Raw: of 500 joint states per second only those that are drawn are deserialised.
            self._joint_states = PolledSubscription(
                self, JointState, self._state_topic, qos.JOINT_STATES, raw=True
            )

    def _stop_listening(self) -> None:
        for subscription in (self._controller_states, self._joint_states, self._payloads):
            if subscription is not None:
                subscription.destroy()
        self._controller_states = self._joint_states = self._payloads = None
        self._forget()

    def _forget(self) -> None:
        """Know nothing of the arm, and have shown nothing."""
        self._joint_state: bytes | None = None
        self._state: ShownState | None = None
        self._mode: int | None = None
        self._heard = self._read_at = self._fixed_at = float("-inf")
        self._n_viewers = 0
        self._picture.payload.estimate = None

    def _take(self) -> None:
        """Take what was received since the last picture."""
        if self._joint_states is not None:
            for data, _ in self._joint_states.take():
                self._joint_state = data
        if self._controller_states is not None:
            for state, _ in self._controller_states.take():
                self._on_controller_state(state)
        if self._payloads is not None:
            for estimate, _ in self._payloads.take():
                self._picture.payload.estimate = estimate
        if self._mode is not None and time.monotonic() - self._heard > _SILENCE:
            self._mode = self._state = None

    def _on_controller_state(self, message: ControllerState) -> None:
        self._heard = time.monotonic()
        self._mode, self._state = message.mode, None
        if message.mode == ControllerState.WAITING:
            return
        try:
            self._state = shown_state(message, self._joints)
        except (InvalidDataError, IndexError) as error:
            self._warn(error)
            return
        history = self.get_parameter("history").value
        spacing = 1.0 / self.get_parameter("point_rate").value
        self._picture.add(seconds(message.header.stamp), self._state, history, spacing)

    def _warn(self, error: Exception) -> None:
        self.get_logger().warning(f"not shown: {error}", throttle_duration_sec=_LOG_PERIOD)

    def _publish(self) -> None:
        if self._markers.get_subscription_count() > 0:
            self._markers.publish(MarkerArray(markers=self._due()))
        paths = self._picture.paths()
        for name, publisher in self._paths.items():
            if publisher.get_subscription_count() > 0:
                publisher.publish(paths[name])

    def _due(self) -> list[Marker]:
        """Return the markers that are to be shown now: what moves always, the rest at times."""
        now = time.monotonic()
        markers = self._posed_arm()
        if self._state is not None:
            markers += self._picture.moving(self._state)
        if now - self._read_at >= _TEXT_PERIOD:
            self._read_at = now
            self._choose_model()
            markers += self._picture.read(self._mode, self._state)
        n_viewers = self._markers.get_subscription_count()
        if now - self._fixed_at >= _FIXED_PERIOD or n_viewers > self._n_viewers:
            self._fixed_at = now
            markers += self._picture.fixed()
        self._n_viewers = n_viewers
        return markers

    def _choose_model(self) -> None:
        """Show the local models of the model in use."""
        state = self._state
        try:
            in_use = state is not None and state.learned
            self._picture.local_models.show_model(state.model if state and in_use else "")
        except IlrDynamicsError as error:
            self.get_logger().warning(f"local models are not shown: {error}")

    def _posed_arm(self) -> list[Marker]:
        """Markers of the arm in its newest posture; none if it is not known."""
        if self._joint_state is None:
            return []
        state = deserialize_message(self._joint_state, JointState)
        position = self._ordered(state.name, state.position)
        return [] if position is None else list(self._picture.arm(position))

    def _ordered(self, names: Sequence[str], values: Sequence[float]) -> FloatArray | None:
        """Return values in the order of the joints; None and a warning if they do not fit."""
        try:
            return np.array(values)[joint_order(names, self._joints, allow_extra=True)]
        except (InvalidDataError, IndexError) as error:
            self._warn(error)
            return None


def main(args: list[str] | None = None) -> int:
    """Show the arm until SIGINT or SIGTERM; 1 if the parameters are no good."""
    return run_program("visualizer", VISUALIZER, args, _show)


def _show(stop: StopRequest) -> int:
    node = Visualizer()
    spin(node, stop)
    with limited_end():
        node.destroy_node()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
