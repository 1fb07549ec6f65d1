# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Everything that RViz is shown of an arm and its controller."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np
from nav_msgs.msg import Path
from visualization_msgs.msg import Marker

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.nodes.markers.arm_markers import DesiredPoint, arm_markers
from ilr_dynamics.nodes.markers.legend import legend_markers
from ilr_dynamics.nodes.markers.local_model_markers import LocalModelMarkers
from ilr_dynamics.nodes.markers.panel_place import PanelPlace
from ilr_dynamics.nodes.markers.payload_marker import PayloadMarker
from ilr_dynamics.nodes.markers.primitives import lasting, pose
from ilr_dynamics.nodes.markers.shown_state import ShownState
from ilr_dynamics.nodes.markers.status_panel import StatusPanel
from ilr_dynamics.nodes.markers.torque_panel import TorquePanel, joint_labels
from ilr_dynamics.nodes.markers.trails import desired_trail, measured_trail
from ilr_dynamics.nodes.markers.uncertainty import Uncertainty
from ilr_dynamics.robot.rigid_body import RigidBodyModel
from ilr_dynamics.robot.visual_shapes import visual_shapes

__all__ = ["Picture"]

# Time whose errors are averaged, s: a number that changes fifteen times a second is not read.
_ERROR_TIME = 1.0


class Picture:
    """
    Markers of an arm and its controller.

    RViz keeps what it was sent for some seconds, so that not everything is in each picture.

    Parameters
    ----------
    model : RigidBodyModel
        Model of the arm.
    joints : sequence of str
        Names of the joints in messages, from base to tool.
    prefix : str
        What these begin with.
    frame : str
        Frame of all markers.
    name : str
        What tells the arm apart, such as its namespace; may be empty.
    directories : sequence of str
        Allowed directories of snapshots.
    """

    def __init__(
        self,
        model: RigidBodyModel,
        joints: Sequence[str],
        prefix: str,
        frame: str,
        name: str,
        directories: Sequence[str],
    ) -> None:
        self._model = model
        links = np.diff(model.arm_points(np.zeros(model.n_joints)), axis=0)
        place = PanelPlace(frame, float(np.linalg.norm(links, axis=1).sum()))
        labels, limits = joint_labels(joints, prefix), model.description.torque_limit
        self._shapes = visual_shapes(model.description)
        self._arm = arm_markers(self._shapes, frame)
        self._trails = {"desired": desired_trail(frame), "measured": measured_trail(frame)}
        self._uncertainty = Uncertainty(place, labels, limits)
        self._desired_point = DesiredPoint(frame)
        self._status = StatusPanel(place, name)
        self._torques = TorquePanel(place, labels, limits)
        legend = legend_markers(place, self._torques.foot)
        self._fixed = list(lasting([*self._torques.fixed(), *legend]))
        self.local_models = LocalModelMarkers(model, directories, place)
        self.payload = PayloadMarker(model, frame)
        self._errors: deque[tuple[float, float]] = deque()

    def paths(self) -> dict[str, Path]:
        """Return the desired and the measured path of the tool point, by these names."""
        return {name: trail.path for name, trail in self._trails.items()}

    def add(self, time: float, state: ShownState, history: float, spacing: float) -> None:
        """
        Add a state to the paths.

        Parameters
        ----------
        time : float
            Time of the state, s.
        state : ShownState
        history, spacing : float
            Time for which the paths are shown, and shortest time between their points, s.
        """
        desired = self._model.tool_position(state.desired)
        measured = self._model.tool_position(state.measured)
        self._trails["desired"].add(time, desired, history, spacing)
        self._trails["measured"].add(time, measured, history, spacing)
        self._uncertainty.add(time, state, desired, history, spacing)
        if self._errors and time < self._errors[-1][0]:
            self._errors.clear()
        self._errors.append((time, float(np.sum((desired - measured) ** 2))))
        while self._errors[0][0] < time - _ERROR_TIME:
            self._errors.popleft()

    @property
    def error(self) -> float:
        """Root mean square of the tool point's error in the last second, m."""
        return float(np.sqrt(np.mean([square for _, square in self._errors] or [0.0])))

    def arm(self, position: FloatArray) -> list[Marker]:
        """Return the arm in a posture (n_joints,), rad."""
        for marker, shape in zip(self._arm, self._shapes, strict=True):
            marker.pose = pose(self._model.link_pose(position, shape.link) @ shape.pose)
        return self._arm

    def moving(self, state: ShownState) -> list[Marker]:
        """Return what moves with a state, which is to be shown in each picture."""
        tool = self._model.tool_position(state.desired)
        return [
            *(trail.fill_marker() for trail in self._trails.values()),
            *self._torques.bars(state),
            self._desired_point.fill(state, tool),
            *self.payload.markers(state),
        ]

    def read(self, mode: int | None, state: ShownState | None) -> list[Marker]:
        """
        Return what is read, and what changes slowly: enough some times a second.

        Parameters
        ----------
        mode : int or None
            Mode of the controller; None: it does not report.
        state : ShownState or None
            Its last state, if it is of use.
        """
        status = self._status.markers(mode, state, self.error)
        if state is None:
            return status
        x = np.concatenate([state.desired, state.velocity, state.acceleration])
        return [
            *status,
            *self._torques.numbers(state),
            *self._uncertainty.markers(state),
            *self.local_models.markers(x),
        ]

    def fixed(self) -> list[Marker]:
        """Return what does not change: enough once a second, for those who look later."""
        return self._fixed
