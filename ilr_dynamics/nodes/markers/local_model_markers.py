# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Markers for RViz: local models near the present state, as ellipsoids in the workspace."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from visualization_msgs.msg import Marker

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.exceptions import SnapshotError
from ilr_dynamics.file_access import resolve_allowed
from ilr_dynamics.nodes.markers.state_markers import colour, pose
from ilr_dynamics.regression import load_snapshot
from ilr_dynamics.regression.mixture_regressor import MixtureRegressor
from ilr_dynamics.robot import identified_dynamics  # noqa: F401  # a snapshot may hold some
from ilr_dynamics.robot.rigid_body import RigidBodyModel

__all__ = ["LocalModelMarkers"]

N_SHOWN = 8
# Semi-axes in standard deviations, and shortest semi-axis, m: a flat ellipsoid would be invisible.
_DEVIATIONS = 1.0
_SHORTEST = 0.004
_ACTIVE, _NEAR = (0.2, 0.8, 0.5), (0.6, 0.6, 0.7)
_FAINTEST, _BOLDEST = 0.12, 0.6


class LocalModelMarkers:
    """
    Ellipsoids of the local models nearest to a state, with opacity by their weight.

    The distribution of a component's input positions is mapped to the tool point by the arm's
    kinematics, linearised at the component's centre.

    Parameters
    ----------
    arm : RigidBodyModel
        Model of the arm.
    directories : sequence of str
        Allowed directories of snapshots.
    frame : str
        Frame of the poses.
    """

    def __init__(self, arm: RigidBodyModel, directories: Sequence[str], frame: str) -> None:
        self._arm = arm
        self._directories = directories
        self._frame = frame
        self._identity = ""
        self._model: MixtureRegressor | None = None

    def show_model(self, identity: str) -> None:
        """
        Select the snapshot whose local models are shown.

        Parameters
        ----------
        identity : str
            The controller's identity of its model, which is the path of the snapshot. Empty: no
            model. The snapshot is read again only when this changes.

        Raises
        ------
        IlrDynamicsError
            If the snapshot cannot be read here or belongs to another arm; nothing is shown then.
        """
        if identity == self._identity:
            return
        self._identity, self._model = identity, None
        if not identity:
            return
        model = load_snapshot(resolve_allowed(identity, self._directories))
        n_joints = self._arm.n_joints
        if model.n_features_in_ != 3 * n_joints:
            raise SnapshotError(
                f"the snapshot {identity} has {model.n_features_in_} inputs; expected "
                f"{3 * n_joints}, positions, velocities and accelerations of {n_joints} joints"
            )
        self._model = model
        self._centres, self._covariances = model.input_regions()
        self._precisions = np.linalg.inv(self._covariances)

    def markers(self, x: FloatArray) -> list[Marker]:
        """Return the ellipsoids for a state [q, qd, qdd] (3 n_joints,)."""
        markers = [self._removal()]
        if self._model is None:
            return markers
        weights = self._model.responsibilities(x[None])[0, : len(self._centres)]
        deviations = x - self._centres
        distances = np.einsum("ki,kij,kj->k", deviations, self._precisions, deviations)
        for component in np.argsort(distances)[:N_SHOWN]:
            markers.append(self._ellipsoid(int(component), float(weights[component])))
        return markers

    def _removal(self) -> Marker:
        """Marker that deletes the ellipsoids of the previous state."""
        marker = Marker(ns="local models", action=Marker.DELETEALL)
        marker.header.frame_id = self._frame
        return marker

    def _ellipsoid(self, component: int, weight: float) -> Marker:
        n_joints = self._arm.n_joints
        q = self._centres[component, :n_joints]
        jacobian = self._arm.tool_jacobian(q)
        covariance = jacobian @ self._covariances[component, :n_joints, :n_joints] @ jacobian.T
        variances, axes = np.linalg.eigh(covariance)
        transform = np.eye(4)
        # Eigenvectors may form a reflection: make it a rotation.
        transform[:3, :3] = axes * [1.0, 1.0, np.linalg.det(axes)]
        transform[:3, 3] = self._arm.tool_position(q)
        marker = Marker(ns="local models", id=component, type=Marker.SPHERE, pose=pose(transform))
        marker.header.frame_id = self._frame
        lengths = 2.0 * np.maximum(_DEVIATIONS * np.sqrt(np.maximum(variances, 0.0)), _SHORTEST)
        marker.scale.x, marker.scale.y, marker.scale.z = map(float, lengths)
        share = np.sqrt(weight)
        rgb = share * np.array(_ACTIVE) + (1.0 - share) * np.array(_NEAR)
        marker.color = colour((*rgb, _FAINTEST + share * (_BOLDEST - _FAINTEST)))
        return marker
