# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Torques of a motion, by the model with its doubt and by the description, within limits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.robot.description import RobotDescription
from ilr_dynamics.robot.identified_dynamics import IdentifiedDynamics
from ilr_dynamics.robot.rigid_body import RigidBodyModel

__all__ = ["TorqueMargin"]

# Doubt of a torque that counts, in standard deviations.
DEVIATIONS = 2.0
# Share of the limits that a motion may need: the rest is for the feedback.
SHARE = 0.8


@dataclass(frozen=True, eq=False)
class TorqueMargin:
    """
    Torques that a motion may need.

    Parameters
    ----------
    dynamics : IdentifiedDynamics
        What is known of the arm.
    description : RobotDescription
        The arm as published, and its torque limits.
    """

    dynamics: IdentifiedDynamics
    description: RobotDescription

    def needed(self, states: FloatArray) -> FloatArray:
        """
        Torques that may be needed.

        Parameters
        ----------
        states : ndarray of shape (m, 3 n_joints)
            [q, qd, qdd], rad, rad/s, rad/s^2.

        Returns
        -------
        ndarray of shape (m, n_joints)
            Magnitudes by the model, with its doubt, or by the description if that has more, Nm.
            What a driver adds for gravity, which the model does not know, is in the second alone.
        """
        dynamics = self.dynamics
        expected, variance = dynamics.regressor.predict(
            states, dynamics.joint_parameters, dynamics.joint_covariances
        )
        by_model = np.abs(expected) + DEVIATIONS * np.sqrt(variance)
        rigid = RigidBodyModel(self.description)
        motion = zip(*np.split(states, 3, axis=1), strict=True)
        described = [rigid.inverse_dynamics(*state) for state in motion]
        return np.maximum(by_model, np.abs(described))

    def holds(self, states: FloatArray) -> bool:
        """Whether all states [q, qd, qdd] (m, 3 n_joints) need at most a share of the limits."""
        return bool(np.all(self.needed(states) <= SHARE * self.description.torque_limit))
