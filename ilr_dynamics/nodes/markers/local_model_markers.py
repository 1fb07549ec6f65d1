# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Markers for RViz: number of local models, and reach of those near the present state."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from visualization_msgs.msg import Marker

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.exceptions import SnapshotError
from ilr_dynamics.file_access import resolve_allowed
from ilr_dynamics.nodes.markers import palette
from ilr_dynamics.nodes.markers.panel_place import WIDTH, PanelPlace
from ilr_dynamics.nodes.markers.primitives import colour, marker, pose
from ilr_dynamics.regression import load_snapshot
from ilr_dynamics.regression.mixture_regressor import MixtureRegressor
from ilr_dynamics.robot import identified_dynamics  # noqa: F401  # a snapshot may hold some
from ilr_dynamics.robot.rigid_body import RigidBodyModel

__all__ = ["NUMBER", "N_SHOWN", "REACH", "LocalModelMarkers"]

NUMBER = "local models (number)"
REACH = "local models (reach)"
N_SHOWN = 8
# Semi-axes in standard deviations, and shortest semi-axis, m: a flat ellipsoid would be invisible.
_DEVIATIONS = 1.0
_SHORTEST = 0.006
_FAINTEST, _BOLDEST = 0.35, 0.8
_NUMBER_MIDDLE, _NUMBER_HEIGHT = (0.75 * WIDTH, 0.49), 0.036


class LocalModelMarkers:
    """
    Ellipsoids of the local models nearest to a state, with colour and opacity by their weight.

    The distribution of a component's input positions is mapped to the tool point by the arm's
    kinematics, linearised at the component's centre.

    Parameters
    ----------
    arm : RigidBodyModel
        Model of the arm.
    directories : sequence of str
        Allowed directories of snapshots.
    place : PanelPlace
        Place of the number of local models, and frame of the poses.
    """

    def __init__(self, arm: RigidBodyModel, directories: Sequence[str], place: PanelPlace) -> None:
        self._arm = arm
        self._directories = directories
        self._frame = place.frame
        self._identity = ""
        self._model: MixtureRegressor | None = None
        self._number = place.text(NUMBER, 0, _NUMBER_MIDDLE, _NUMBER_HEIGHT)
        self._number.color = colour(palette.SUBDUED)
        self._region = lru_cache(maxsize=1000)(self._region_of)

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
        self._region.cache_clear()
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
        """Return the number and the ellipsoids for a state [q, qd, qdd] (3 n_joints,)."""
        if self._model is None:
            return []
        weights = self._model.responsibilities(x[None])[0, : len(self._centres)]
        deviations = x - self._centres
        distances = np.einsum("ki,kij,kj->k", deviations, self._precisions, deviations)
        nearest = np.argsort(distances)[:N_SHOWN]
        self._number.text = f"{len(self._centres)} local models"
        # RViz forgets those of another model that are too many.
        return [
            self._number,
            *(self._ellipsoid(k, int(nearest[k]), weights) for k in range(len(nearest))),
        ]

    def _ellipsoid(self, number: int, component: int, weights: FloatArray) -> Marker:
        message = marker(REACH, number, Marker.SPHERE, self._frame)
        transform, lengths = self._region(component)
        message.pose = pose(transform)
        message.scale.x, message.scale.y, message.scale.z = map(float, lengths)
        share = np.sqrt(float(weights[component]))
        rgb = share * np.array(palette.GOOD) + (1.0 - share) * np.array(palette.PLAIN)
        message.color = colour(rgb, _FAINTEST + share * (_BOLDEST - _FAINTEST))
        return message

    def _region_of(self, component: int) -> tuple[FloatArray, FloatArray]:
        """Pose (4, 4) and lengths of the axes (3,), m, of a component's ellipsoid."""
        n_joints = self._arm.n_joints
        q = self._centres[component, :n_joints]
        jacobian = self._arm.tool_jacobian(q)
        covariance = jacobian @ self._covariances[component, :n_joints, :n_joints] @ jacobian.T
        variances, axes = np.linalg.eigh(covariance)
        transform = np.eye(4)
        # Eigenvectors may form a reflection: make it a rotation.
        transform[:3, :3] = axes * [1.0, 1.0, np.linalg.det(axes)]
        transform[:3, 3] = self._arm.tool_position(q)
        lengths = 2.0 * np.maximum(_DEVIATIONS * np.sqrt(np.maximum(variances, 0.0)), _SHORTEST)
        return transform, lengths
