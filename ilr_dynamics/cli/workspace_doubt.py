# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Where in the workspace a model is sure: its doubt at postures drawn from the joint limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.regression.mixture_regressor import MixtureRegressor
from ilr_dynamics.robot.description import RobotDescription
from ilr_dynamics.robot.rigid_body import RigidBodyModel

__all__ = ["SURE", "UNSURE", "WorkspaceDoubt", "drawn_postures", "workspace_doubt"]

# Doubts, as shares of the torque limit, up to which a model is sure and from which it is not.
SURE, UNSURE = 0.01, 0.1
# Postures, a power of two as for Sobol's sequence: one in each of 64 by 64 fields of a view.
N_POSTURES = 4096
SEED = 0


@dataclass(frozen=True, eq=False)
class WorkspaceDoubt:
    """
    Doubt of a model at m postures at rest of n joints.

    Attributes
    ----------
    posture : ndarray of shape (m, n)
        Joint angles, rad.
    tool : ndarray of shape (m, 3)
        Tool points in the base's frame, m.
    doubt : ndarray of shape (m, n)
        Standard deviations of the expected torques, without noise, Nm.
    limit : ndarray of shape (n,)
        Torque limits, Nm.
    """

    posture: FloatArray
    tool: FloatArray
    doubt: FloatArray
    limit: FloatArray

    @property
    def relative(self) -> FloatArray:
        """Doubt (m,) of the worst joint, as a share of its torque limit."""
        return np.asarray(np.max(self.doubt / self.limit, axis=1))


def workspace_doubt(
    model: MixtureRegressor,
    description: RobotDescription,
    postures: FloatArray,
    progress: Callable[[float], None] = lambda share: None,
) -> WorkspaceDoubt:
    """
    Ask a model for its doubt at rest.

    Parameters
    ----------
    model : MixtureRegressor
        Model over inputs [q, qd, qdd].
    description : RobotDescription
        Torque limits and kinematics of the arm.
    postures : ndarray of shape (m, n)
        Joint angles, rad.
    progress : callable
        Called with the share that is done.
    """
    rigid, predictor = RigidBodyModel(description), model.predictor()
    doubt, tool = np.empty_like(postures), np.empty((len(postures), 3))
    at_rest = np.zeros(2 * description.n_joints)
    for row, posture in enumerate(postures):
        doubt[row] = predictor.query(np.append(posture, at_rest)).doubt
        tool[row] = rigid.tool_position(posture)
        progress((row + 1) / len(postures))
    return WorkspaceDoubt(postures, tool, doubt, description.torque_limit)


def drawn_postures(description: RobotDescription, n_postures: int = N_POSTURES) -> FloatArray:
    """
    Draw postures (n_postures, n) that fill the joint limits evenly (Sobol's sequence), rad.

    Joints without limits turn once. `n_postures` is a power of two.
    """
    lower = np.where(np.isfinite(description.position_lower), description.position_lower, -np.pi)
    upper = np.where(np.isfinite(description.position_upper), description.position_upper, np.pi)
    sequence = scipy.stats.qmc.Sobol(description.n_joints, seed=SEED)
    return np.asarray(lower + sequence.random(n_postures) * (upper - lower))
