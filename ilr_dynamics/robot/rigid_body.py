# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Rigid-body model of an arm: analytic inverse dynamics and forward kinematics by Pinocchio."""

from __future__ import annotations

import numpy as np
import pinocchio
from numpy.typing import ArrayLike

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.exceptions import RobotDescriptionError
from ilr_dynamics.robot.description import RobotDescription
from ilr_dynamics.robot.pinocchio_model import pinocchio_model

__all__ = ["RigidBodyModel"]


class RigidBodyModel:
    """
    Model of an arm as rigid bodies with the inertials of its URDF, without friction and rotors.

    Joint vectors have shape (n_joints,) in the order of ``description.joint_names``; Cartesian
    vectors are given in the base frame. An object holds scratch memory: use one per thread.

    Parameters
    ----------
    description : RobotDescription
        Description of the arm.

    Raises
    ------
    RobotDescriptionError
        If Pinocchio cannot read the URDF or orders its joints differently.
    """

    def __init__(self, description: RobotDescription) -> None:
        self.description = description
        self._model = pinocchio_model(description)
        names = tuple(self._model.names)[1:]
        if names != description.joint_names:
            raise RobotDescriptionError(
                f"{description.urdf_path}: joints {names}, expected {description.joint_names}"
            )
        self._data = self._model.createData()
        self._tool = self._frame(description.tool_frame)

    @property
    def n_joints(self) -> int:
        """Number of joints."""
        return self.description.n_joints

    def inverse_dynamics(
        self, position: ArrayLike, velocity: ArrayLike, acceleration: ArrayLike
    ) -> FloatArray:
        """
        Return the torque for a motion, by the recursive Newton-Euler algorithm.

        Parameters
        ----------
        position, velocity, acceleration : array_like of shape (n_joints,)
            Joint motion [rad, rad/s, rad/s^2].

        Returns
        -------
        ndarray of shape (n_joints,)
            M(q) qdd + C(q, qd) qd + g(q) [Nm].
        """
        motion = _vector(position), _vector(velocity), _vector(acceleration)
        return np.array(pinocchio.rnea(self._model, self._data, *motion))

    def gravity(self, position: ArrayLike) -> FloatArray:
        """
        Return the torque that holds the arm still.

        Parameters
        ----------
        position : array_like of shape (n_joints,)
            Joint angles [rad].

        Returns
        -------
        ndarray of shape (n_joints,)
            g(q) [Nm].
        """
        return np.array(
            pinocchio.computeGeneralizedGravity(self._model, self._data, _vector(position))
        )

    def gravity_columns(self, position: ArrayLike) -> FloatArray:
        """
        Return the holding torque per unit of gravity along each axis.

        The columns are -m J(q)^T, with the total mass m and the Jacobian J of the centre of mass.

        Parameters
        ----------
        position : array_like of shape (n_joints,)
            Joint angles [rad].

        Returns
        -------
        ndarray of shape (n_joints, 3)
            Torque for a gravity of 1 m/s^2 along each axis of the base frame [kg m].
        """
        jacobian = pinocchio.jacobianCenterOfMass(self._model, self._data, _vector(position))
        return np.array(-self._data.mass[0] * jacobian.T)

    @property
    def last_body_mass(self) -> float:
        """Mass of what moves with the last joint, kg."""
        return float(self._model.inertias[self.n_joints].mass)

    def last_body_columns(
        self, position: ArrayLike, velocity: ArrayLike, acceleration: ArrayLike
    ) -> FloatArray:
        """
        Return the torque per unit of the mass and first moments of a load on the last joint.

        Parameters
        ----------
        position, velocity, acceleration : array_like of shape (n_joints,)
            Joint motion [rad, rad/s, rad/s^2].

        Returns
        -------
        ndarray of shape (n_joints, 4)
            Torque for a mass of 1 kg at the last joint's origin [Nm/kg], and for first moments of
            1 kg m along the axes of its frame [Nm/(kg m)].
        """
        return self.body_columns(position, velocity, acceleration)[:, -10:-6]

    def body_columns(
        self, position: ArrayLike, velocity: ArrayLike, acceleration: ArrayLike
    ) -> FloatArray:
        """
        Return the regressor of the torque in the inertial parameters of all bodies.

        Parameters
        ----------
        position, velocity, acceleration : array_like of shape (n_joints,)
            Joint motion [rad, rad/s, rad/s^2].

        Returns
        -------
        ndarray of shape (n_joints, 10 n_joints)
            Columns for mass, first moments and inertia of each body in Pinocchio's order, for
            parameters in kg, kg m and kg m^2.
        """
        motion = _vector(position), _vector(velocity), _vector(acceleration)
        return np.array(pinocchio.computeJointTorqueRegressor(self._model, self._data, *motion))

    def tool_position(self, position: ArrayLike) -> FloatArray:
        """
        Return the tool point.

        Parameters
        ----------
        position : array_like of shape (n_joints,)
            Joint angles [rad].

        Returns
        -------
        ndarray of shape (3,)
            Origin of the tool frame in the base frame [m].
        """
        pinocchio.forwardKinematics(self._model, self._data, _vector(position))
        return np.array(
            pinocchio.updateFramePlacement(self._model, self._data, self._tool).translation
        )

    def tool_jacobian(self, position: ArrayLike) -> FloatArray:
        """
        Return the derivative of the tool point by the joint angles.

        Parameters
        ----------
        position : array_like of shape (n_joints,)
            Joint angles [rad].

        Returns
        -------
        ndarray of shape (3, n_joints)
            Translational Jacobian in the axes of the base frame [m/rad].
        """
        return self._jacobian(position, pinocchio.ReferenceFrame.LOCAL_WORLD_ALIGNED)[:3]

    def tool_twist_jacobian(self, position: ArrayLike) -> FloatArray:
        """
        Return the linear and angular velocity of the tool for joint velocities.

        Parameters
        ----------
        position : array_like of shape (n_joints,)
            Joint angles [rad].

        Returns
        -------
        ndarray of shape (6, n_joints)
            Jacobian at the tool point, in the axes of the tool frame [m/rad, 1].
        """
        return self._jacobian(position, pinocchio.ReferenceFrame.LOCAL)

    def _jacobian(self, position: ArrayLike, axes: pinocchio.ReferenceFrame) -> FloatArray:
        """Jacobian (6, n_joints) at the tool point."""
        return np.array(
            pinocchio.computeFrameJacobian(
                self._model, self._data, _vector(position), self._tool, axes
            )
        )

    def link_pose(self, position: ArrayLike, link: str) -> FloatArray:
        """
        Return the pose of a link.

        Parameters
        ----------
        position : array_like of shape (n_joints,)
            Joint angles [rad].
        link : str
            Name of a link of the URDF.

        Returns
        -------
        ndarray of shape (4, 4)
            Homogeneous transform from the link to the base frame [m].

        Raises
        ------
        RobotDescriptionError
            If the URDF has no such link.
        """
        frame = self._frame(link)
        pinocchio.forwardKinematics(self._model, self._data, _vector(position))
        return np.array(pinocchio.updateFramePlacement(self._model, self._data, frame).homogeneous)

    def arm_points(self, position: ArrayLike) -> FloatArray:
        """
        Return the origins of the base, the joints and the tool, to draw the arm as a line.

        Parameters
        ----------
        position : array_like of shape (n_joints,)
            Joint angles [rad].

        Returns
        -------
        ndarray of shape (n_joints + 2, 3)
            Points in the base frame [m].
        """
        tool = self.tool_position(position)
        joints = [placement.translation for placement in self._data.oMi]
        return np.array([*joints, tool])

    def _frame(self, link: str) -> int:
        if not self._model.existFrame(link, pinocchio.FrameType.BODY):
            raise RobotDescriptionError(f"{self.description.urdf_path}: no link '{link}'")
        return int(self._model.getFrameId(link, pinocchio.FrameType.BODY))


def _vector(values: ArrayLike) -> FloatArray:
    return np.asarray(values, dtype=np.float64)
