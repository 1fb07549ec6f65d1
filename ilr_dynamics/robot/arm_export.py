# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Identified arm in the terms of other tools: consistent bodies, rotors and friction."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.exceptions import RobotDescriptionError
from ilr_dynamics.robot.consistent_parameters import consistent_parameters
from ilr_dynamics.robot.description import RobotDescription
from ilr_dynamics.robot.dynamics_regressor import (
    N_INERTIAL,
    N_OF_MOTOR,
    N_PLAIN,
    n_columns,
    n_parameters,
)
from ilr_dynamics.robot.dynamics_terms import N_SPEEDS
from ilr_dynamics.robot.identified_dynamics import IdentifiedDynamics
from ilr_dynamics.robot.pseudo_inertia import MassDistribution

__all__ = ["ArmExport"]

# Largest difference of placements, axes and inertial parameters between two readings of a file.
SAME = 1e-6
# Parts of a motor's direction that are no part of it, relative to the largest.
NO_PART = 1e-9


@dataclass(frozen=True, eq=False)
class ArmExport:
    """
    Identified arm with bodies that can exist.

    `of` makes one.

    Attributes
    ----------
    description : RobotDescription
        The arm as described: names, limits and kinematics.
    dynamics : IdentifiedDynamics
        What was identified.
    parameters : ndarray of shape (P,)
        Consistent parameters in the order of `DynamicsRegressor`.
    """

    description: RobotDescription
    dynamics: IdentifiedDynamics
    parameters: FloatArray

    @classmethod
    def of(cls, dynamics: IdentifiedDynamics, description: RobotDescription) -> ArmExport:
        """
        Find the consistent parameters of identified dynamics.

        Parameters
        ----------
        dynamics : IdentifiedDynamics
            Dynamics of the arm.
        description : RobotDescription
            Description that they started from.

        Raises
        ------
        RobotDescriptionError
            If the description is not that of the dynamics.
        InvalidDataError
            If there are no consistent parameters (`consistent_parameters`).
        """
        check_same_arm(dynamics, description)
        n = dynamics.n_joints
        parameters = consistent_parameters(
            dynamics.parameters,
            dynamics.parameter_precision,
            dynamics.inertial_prior,
            # Rotor inertias and viscous friction follow the bodies.
            np.arange(N_INERTIAL * n, (N_INERTIAL + 2) * n),
        )
        return cls(description, dynamics, parameters)

    @property
    def n_joints(self) -> int:
        """Number n of joints."""
        return self.dynamics.n_joints

    @property
    def std(self) -> FloatArray:
        """Standard deviations (P,) of the parameters as they were identified."""
        return self.dynamics.parameter_std

    def bodies(self, parameters: FloatArray) -> FloatArray:
        """Part (n, 10) of parameters (P,) that belongs to the bodies."""
        n = self.n_joints
        return parameters[: N_INERTIAL * n].reshape(n, N_INERTIAL)

    def motors(self, parameters: FloatArray) -> FloatArray:
        """Part (2 + S, n) of motors: rotor inertia, viscous friction, dry friction by speed."""
        n = self.n_joints
        return parameters[N_INERTIAL * n : (N_INERTIAL + N_OF_MOTOR) * n].reshape(N_OF_MOTOR, n)

    def joints(self, parameters: FloatArray) -> FloatArray:
        """Part (n, `N_OF_JOINT`) of each joint's own effects."""
        n = self.n_joints
        return parameters[(N_INERTIAL + N_OF_MOTOR) * n : n_parameters(n)].reshape(n, -1)

    def potential(self, parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Parts (m,) of the cosines and of the sines of the unknown potential, Nm."""
        cosines, sines = np.split(parameters[n_parameters(self.n_joints) :], 2)
        return cosines, sines

    def potential_torque(self, X: FloatArray) -> FloatArray:
        """Torque (n_samples, n) of the unknown potential at X (n_samples, 3 n), Nm."""
        n = self.n_joints
        weights = self.parameters[n_parameters(n) :]
        return np.asarray(self.dynamics.regressor(X)[:, :, n_columns(n) :] @ weights)

    @cached_property
    def mass_distributions(self) -> list[MassDistribution]:
        """Mass, centre and inertia of the body that moves with each joint."""
        return [MassDistribution.of(body) for body in self.bodies(self.parameters)]

    @property
    def coupled(self) -> list[bool]:
        """Whether each of the n motors moves more than one joint."""
        size = np.abs(self.dynamics.motors)
        return [bool(np.sum(row > NO_PART * row.max()) > 1) for row in size]

    @property
    def rotor_inertia(self) -> FloatArray:
        """Inertia matrix (n, n) of the rotors as the joints feel it, kg m^2."""
        g = self.dynamics.motors
        return np.asarray(g.T @ (self.motors(self.parameters)[0][:, None] * g))

    @property
    def motor_friction(self) -> tuple[FloatArray, FloatArray]:
        """Viscous friction (n,), Nms/rad, and dry friction (n,), Nm, of the motors."""
        _, viscous, *dry = self.motors(self.parameters)
        return viscous, np.maximum(np.sum(dry, axis=0), 0.0)

    @cached_property
    def dry_friction(self) -> FloatArray:
        """
        Dry friction (n,) of the joints alone, Nm: the mean over the states that were learned.

        It depends on load and position, for which the formats of simulators have no place.
        """
        own = self.joints(self.parameters)
        level = np.sum(own[:, :N_SPEEDS], axis=1)
        X = self.dynamics.representatives.X
        if len(X):
            # The columns of friction by load and by position hold the sign of the velocity.
            n = self.n_joints
            last = n_columns(n)
            columns = self.dynamics.regressor(X)[:, :, last - (own.shape[1] - N_PLAIN) : last]
            sign = np.sign(X[:, n : 2 * n])
            level = level + np.mean(np.einsum("mjc,jc->mj", columns, own[:, N_PLAIN:]) * sign, 0)
        return np.maximum(level, 0.0)

    def joint_friction(self) -> tuple[FloatArray, FloatArray]:
        """
        Return what one joint feels of all friction while the others stand still.

        Returns
        -------
        damping : ndarray of shape (n,)
            Viscous friction, Nms/rad.
        friction : ndarray of shape (n,)
            Dry friction, Nm.
        """
        viscous, dry = self.motor_friction
        g = self.dynamics.motors
        return viscous @ g**2, self.dry_friction + dry @ np.abs(g)

    def torque(self, X: FloatArray, parameters: FloatArray | None = None) -> FloatArray:
        """
        Return the torques of the exported parameters, or of others.

        Parameters
        ----------
        X : ndarray of shape (n_samples, 3 n)
            Inputs [q, qd, qdd], rad, rad/s, rad/s^2.
        parameters : ndarray of shape (P,), optional
            Other parameters.

        Returns
        -------
        ndarray of shape (n_samples, n)
            Torques, Nm.
        """
        chosen = self.parameters if parameters is None else parameters
        own = chosen[self.dynamics.regressor.indices]
        return np.einsum("mjc,jc->mj", self.dynamics.regressor(X), own)


def check_same_arm(dynamics: IdentifiedDynamics, description: RobotDescription) -> None:
    """
    Check that dynamics were identified with a description.

    Parameters
    ----------
    dynamics : IdentifiedDynamics
        Dynamics of an arm.
    description : RobotDescription
        Description of an arm.

    Raises
    ------
    RobotDescriptionError
        If joints or bodies of the description are others.
    """
    n = description.n_joints
    if n != dynamics.n_joints:
        raise RobotDescriptionError(
            f"{description.urdf_path}: {n} joints, expected {dynamics.n_joints} as the model has"
        )
    described = IdentifiedDynamics.from_description(description)
    for name in ("placements", "axes", "motors", "inertial_prior"):
        found, expected = getattr(described, name), getattr(dynamics, name)
        if not np.allclose(found, expected, rtol=SAME, atol=SAME):
            off = np.abs(found - expected).reshape(n, -1).max(axis=1)
            raise RobotDescriptionError(
                f"{description.urdf_path}: {name.replace('_', ' ')} of joint "
                f"'{description.joint_names[int(np.argmax(off))]}' differ from the model's by "
                f"{off.max():.3g}; expected the description that the model was learned with"
            )
