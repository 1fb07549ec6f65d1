# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Node /visualizer: markers of the arm, its tool point's paths, its torques and its model."""

from __future__ import annotations

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
from ilr_dynamics.nodes.markers.local_model_markers import LocalModelMarkers
from ilr_dynamics.nodes.markers.state_markers import (
    TorqueBars,
    Trail,
    arm_markers,
    confidence_markers,
    pose,
)
from ilr_dynamics.nodes.parameter_table import declare, read
from ilr_dynamics.nodes.parameters import VISUALIZER, joints_in_messages
from ilr_dynamics.nodes.shared import qos
from ilr_dynamics.nodes.shared.messages import seconds
from ilr_dynamics.nodes.shared.node_process import StopRequest, limited_end, run_program, spin
from ilr_dynamics.nodes.shared.polled_subscription import PolledSubscription
from ilr_dynamics.nodes.shared.robot_description import PublishedArm
from ilr_dynamics.nodes.shared.robot_model import load_arm
from ilr_dynamics.robot.rigid_body import RigidBodyModel
from ilr_dynamics.robot.visual_shapes import visual_shapes
from ilr_dynamics_msgs.msg import ControllerState

__all__ = ["Visualizer", "main"]

_COLOURS = {"desired": (0.1, 0.4, 0.9), "measured": (0.9, 0.3, 0.1)}
_MODES = ("waiting", "holding", "tracking", "stopping", "fault")
_LOG_PERIOD = 60.0
# Two seconds of controller states at 50 Hz may wait for a picture.
_STATES = QoSProfile(depth=100)


class Visualizer(Node):
    """
    Node that publishes markers and paths at a steady rate while there are subscribers.

    Without one it neither listens nor computes.
    """

    def __init__(self) -> None:
        super().__init__("visualizer")
        declare(self, VISUALIZER)
        values = PublishedArm(self).with_file(read(self, VISUALIZER))
        description = load_arm(values, self.get_logger().warning)
        self._joints = joints_in_messages(values)
        self._model = RigidBodyModel(description)
        self._shapes = visual_shapes(description)
        self._frame = values["prefix"] + values["frame"]
        self._arm = arm_markers(self._shapes, self._frame)
        self._trails = {
            name: Trail(name, self._frame, colour) for name, colour in _COLOURS.items()
        }
        self._bars = TorqueBars(self._joints, description.torque_limit, self._frame)
        self._local_models = LocalModelMarkers(
            self._model, values["files.directories"], self._frame
        )
        self._state_topic = values["state.topic"] if values["arm_markers"] else ""
        self._joint_states: PolledSubscription | None = None
        self._controller_states: PolledSubscription | None = None
        self._joint_state: bytes | None = None
        self._state: ControllerState | None = None
        self._markers = self.create_publisher(MarkerArray, "~/markers", qos.STATUS)
        self._paths = {
            name: self.create_publisher(Path, f"~/{name}_path", qos.STATUS) for name in _COLOURS
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
        if self._state_topic:
            # Raw: of 500 joint states per second only those that are drawn are deserialised.
            self._joint_states = PolledSubscription(
                self, JointState, self._state_topic, qos.JOINT_STATES, raw=True
            )

    def _stop_listening(self) -> None:
        for subscription in (self._controller_states, self._joint_states):
            if subscription is not None:
                subscription.destroy()
        self._controller_states = self._joint_states = None
        self._state = self._joint_state = None

    def _take(self) -> None:
        """Take what was received since the last picture."""
        if self._joint_states is not None:
            for data, _ in self._joint_states.take():
                self._joint_state = data
        if self._controller_states is not None:
            for state, _ in self._controller_states.take():
                self._on_controller_state(state)

    def _on_controller_state(self, state: ControllerState) -> None:
        self._state = state
        if state.mode == ControllerState.WAITING:
            return
        history, spacing = self._history()
        positions = {"desired": state.desired_position, "measured": state.measured_position}
        for name, position in positions.items():
            ordered = self._ordered(state.joint_names, position)
            if ordered is not None:
                tool = self._model.tool_position(ordered)
                self._trails[name].add(seconds(state.header.stamp), tool, history, spacing)

    def _history(self) -> tuple[float, float]:
        """Length of the trails and spacing of their points, s."""
        history = self.get_parameter("history").value
        return history, 1.0 / self.get_parameter("point_rate").value

    def _ordered(self, names: Sequence[str], values: Sequence[float]) -> FloatArray | None:
        """Return values in the order of the joints; None and a warning if they do not fit."""
        try:
            return np.array(values)[joint_order(names, self._joints, allow_extra=True)]
        except (InvalidDataError, IndexError) as error:
            self.get_logger().warning(f"not shown: {error}", throttle_duration_sec=_LOG_PERIOD)
            return None

    def _publish(self) -> None:
        if self._markers.get_subscription_count() > 0:
            trails = [trail.fill_marker() for trail in self._trails.values()]
            markers = [*self._posed_arm(), *trails, *self._state_markers()]
            self._markers.publish(MarkerArray(markers=markers))
        for name, publisher in self._paths.items():
            if publisher.get_subscription_count() > 0:
                publisher.publish(self._trails[name].path)

    def _state_markers(self) -> list[Marker]:
        """Markers of torques, confidence and local models in the last controller state."""
        state = self._state
        if state is None or state.mode == ControllerState.WAITING:
            return []
        vectors = [
            self._ordered(state.joint_names, values)
            for values in (
                state.desired_position,
                state.desired_velocity,
                state.desired_acceleration,
                state.feedforward_torque,
                state.pd_torque,
            )
        ]
        known = [vector for vector in vectors if vector is not None]
        if len(known) < len(vectors):
            return []
        position, velocity, acceleration, feedforward, pd = known
        learned = bool(state.model) and state.controller == "ilr"
        text = f"{_MODES[state.mode]}, {state.controller}"
        if learned:
            text += f": {100.0 * state.gate:.0f} % of the learned torque"
        try:
            self._local_models.show_model(state.model if learned else "")
        except IlrDynamicsError as error:
            self.get_logger().warning(f"local models are not shown: {error}")
        return [
            *self._bars.fill(feedforward, pd),
            *confidence_markers(
                self._frame,
                self._model.tool_position(position),
                state.gate,
                learned=learned,
                text=text,
            ),
            *self._local_models.markers(np.concatenate([position, velocity, acceleration])),
        ]

    def _posed_arm(self) -> list[Marker]:
        """Markers of the arm in its newest posture; none if it is not known."""
        if self._joint_state is None:
            return []
        state = deserialize_message(self._joint_state, JointState)
        position = self._ordered(state.name, state.position)
        if position is None:
            return []
        for marker, shape in zip(self._arm, self._shapes, strict=True):
            marker.pose = pose(self._model.link_pose(position, shape.link) @ shape.pose)
        return self._arm


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
