# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Torques of a payload at the tool: linear in its ten inertial parameters."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pinocchio

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.exceptions import RobotDescriptionError
from ilr_dynamics.robot.description import RobotDescription
from ilr_dynamics.robot.dynamics_terms import N_INERTIAL
from ilr_dynamics.robot.payload import Payload
from ilr_dynamics.robot.pinocchio_model import pinocchio_model
from ilr_dynamics.robot.pseudo_inertia import moved

__all__ = ["PayloadDynamics", "PayloadTorque"]

PayloadTorque = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
"""From position, velocity and acceleration to torques, Nm, all (n_joints,) or rows of these."""


class PayloadDynamics:
    """
    Inverse dynamics of a body that is fixed to the tool frame, without the arm's own bodies.

    An object holds scratch memory: use one per thread.

    Parameters
    ----------
    description : RobotDescription
        Description of the arm.

    Raises
    ------
    RobotDescriptionError
        If the URDF has no link of the tool frame's name.
    """

    def __init__(self, description: RobotDescription) -> None:
        self._model = pinocchio_model(description)
        name = description.tool_frame
        if not self._model.existFrame(name, pinocchio.FrameType.BODY):
            raise RobotDescriptionError(f"{description.urdf_path}: no link '{name}'")
        frame = self._model.frames[self._model.getFrameId(name, pinocchio.FrameType.BODY)]
        self._joint = int(frame.parentJoint)
        for joint in range(1, self._model.njoints):
            self._model.inertias[joint] = pinocchio.Inertia.Zero()
        self._data = self._model.createData()
        # From parameters in the axes of the tool frame to those in the axes of its joint.
        self._to_joint = moved(np.array(frame.placement.homogeneous))

    def columns(
        self, position: FloatArray, velocity: FloatArray, acceleration: FloatArray
    ) -> FloatArray:
        """
        Return the torque per unit of each inertial parameter of the payload.

        Parameters
        ----------
        position, velocity, acceleration : ndarray of shape (n_joints,)
            Joint motion, rad, rad/s, rad/s^2.

        Returns
        -------
        ndarray of shape (n_joints, 10)
            Columns for the parameters about the tool point, see `inertial_parameters`.
        """
        of_bodies = pinocchio.computeJointTorqueRegressor(
            self._model, self._data, position, velocity, acceleration
        )
        end = N_INERTIAL * self._joint
        return np.asarray(of_bodies[:, end - N_INERTIAL : end] @ self._to_joint)

    def torque_of(self, payload: Payload) -> PayloadTorque:
        """
        Return the function from a motion to the torques of a payload.

        It has scratch memory of its own.
        """
        model = pinocchio.Model(self._model)
        parameters = self._to_joint @ payload.parameters
        model.inertias[self._joint] = pinocchio.Inertia.FromDynamicParameters(parameters)
        data = model.createData()

        def torque(
            position: FloatArray, velocity: FloatArray, acceleration: FloatArray
        ) -> FloatArray:
            if position.ndim == 1:
                return np.array(pinocchio.rnea(model, data, position, velocity, acceleration))
            states = zip(position, velocity, acceleration, strict=True)
            return np.array([pinocchio.rnea(model, data, *state) for state in states])

        return torque
