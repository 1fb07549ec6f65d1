# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Simulated arm with a force at its tool, as of a hand or an obstacle."""

from __future__ import annotations

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.robot.plant import WamPlant
from ilr_dynamics.robot.plant_config import PlantConfig
from ilr_dynamics.robot.rigid_body import RigidBodyModel

__all__ = ["PushedPlant"]


class PushedPlant(WamPlant):
    """
    Plant with a force at the tool point.

    Parameters
    ----------
    model
        Kinematics of the arm.
    config, seed
        Those of `WamPlant`.

    Attributes
    ----------
    force : (3,)
        Force at the tool point in the base frame, N.
    push : (n_joints,)
        Further torque on the joints, Nm.
    """

    def __init__(self, model: RigidBodyModel, config: PlantConfig, seed: int) -> None:
        self._kinematics = model
        self.force = np.zeros(3)
        self.push = np.zeros(model.n_joints)
        super().__init__(model.description, config, seed)

    def tool(self) -> FloatArray:
        """Tool point (3,), m."""
        return self._kinematics.tool_position(self.position)

    def _passive_torque(self) -> FloatArray:
        return self._kinematics.tool_jacobian(self._data.qpos).T @ self.force + self.push
