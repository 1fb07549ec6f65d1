# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
What an arm's torques are linear in: rigid bodies, rotors, friction in the motors.

.. math::
    \tau = R(q, \dot q, \ddot q)\,\pi + \sum_k g_k \big( J_k\, g_k^\top \ddot q
    + b_k\, g_k^\top \dot q + \sum_s c_{ks} \tanh(g_k^\top \dot q / v_s) \big)
    + \sum_s C_s \tanh(\dot q / v_s) + P(q)\,w

with Pinocchio's regressor R of the ten inertial parameters of each body, the rows g_k of the
joint-to-motor matrix, scaled to length one, and a few functions P of each joint's own position for
cables and imperfect gravity. Friction acts where the motors turn as well as in the joints: in a
differential two motors share two joints, and friction described joint by joint misses how they
pull at each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pinocchio

from ilr_dynamics.exceptions import InvalidDataError
from ilr_dynamics.robot.arrays import FloatArray

__all__ = ["N_INERTIAL", "DynamicsRegressor", "n_parameters"]

# Speeds at which friction settles, rad/s: from the slip of a bearing to a film of grease.
FRICTION_SPEEDS = (0.01, 0.03, 0.1, 0.3)
N_POSITION_TERMS = 5
N_INERTIAL = 10

_INVERSE_FRICTION_SPEEDS = 1.0 / np.array(FRICTION_SPEEDS)[:, None]


@dataclass(frozen=True, eq=False)
class DynamicsRegressor:
    """
    The columns that parameters of inverse dynamics multiply.

    Parameters
    ----------
    placements : (n, 4, 4)
        Pose of each joint in the frame of the one before, at angle zero.
    axes : (n, 3)
        Axis of each joint in its own frame.
    gravity : (3,)
        In the base frame, m/s^2.
    motors : (n, n)
        Rows of the joint-to-motor matrix, of length one.
    """

    placements: FloatArray
    axes: FloatArray
    gravity: FloatArray
    motors: FloatArray

    @property
    def n_joints(self) -> int:
        """Number n of joints."""
        return len(self.axes)

    @cached_property
    def _model(self) -> pinocchio.Model:
        model = pinocchio.Model()
        model.gravity.linear = self.gravity
        for joint in range(self.n_joints):
            parent = model.addJoint(
                joint,
                pinocchio.JointModelRevoluteUnaligned(self.axes[joint]),
                pinocchio.SE3(self.placements[joint]),
                f"joint{joint + 1}",
            )
            model.appendBodyToJoint(parent, pinocchio.Inertia.Zero(), pinocchio.SE3.Identity())
        return model

    @cached_property
    def _data(self) -> pinocchio.Data:
        return self._model.createData()

    def __call__(self, X: FloatArray) -> FloatArray:
        """
        Columns phi (n_samples, n, P) at X.

        In the order of the parameters: inertial ones of all bodies; for all motors rotor inertia,
        viscous and dry friction; for all joints dry friction and position terms.

        Parameters
        ----------
        X : (n_samples, 3 n)
            [q, qd, qdd], rad, rad/s, rad/s^2.

        Raises
        ------
        InvalidDataError
            If X has not 3 n columns.
        """
        n = self.n_joints
        if X.shape[1] != 3 * n:
            raise InvalidDataError(f"inputs must be [q, qd, qdd] of {n} joints, got {X.shape}")
        q, qd, qdd = X[:, :n], X[:, n : 2 * n], X[:, 2 * n :]
        columns = np.zeros((len(X), n, n_parameters(n)))
        for row, (position, velocity, acceleration) in enumerate(zip(q, qd, qdd, strict=True)):
            columns[row, :, : N_INERTIAL * n] = pinocchio.computeJointTorqueRegressor(
                self._model, self._data, position, velocity, acceleration
            )
        # Few calls with all terms in each: for one query in a control loop they are what it costs.
        speed = qd @ self.motors.T
        of_motors = np.empty((len(X), 2 + len(FRICTION_SPEEDS), n))
        of_motors[:, 0], of_motors[:, 1] = qdd @ self.motors.T, speed
        of_joints = np.empty((len(X), len(FRICTION_SPEEDS) + N_POSITION_TERMS, n))
        for values, velocity in (
            (of_motors[:, 2:], speed),
            (of_joints[:, :-N_POSITION_TERMS], qd),
        ):
            np.tanh(velocity[:, None, :] * _INVERSE_FRICTION_SPEEDS, out=values)
        positions = of_joints[:, -N_POSITION_TERMS:]
        positions[:, 0], positions[:, 1], positions[:, 2] = 1.0, q, q * q
        np.sin(q, out=positions[:, 3])
        np.cos(q, out=positions[:, 4])
        first = N_INERTIAL * n
        last = first + of_motors.shape[1] * n
        columns[:, :, first:last] = (of_motors[:, None] * self.motors.T[:, None]).reshape(
            len(X), n, -1
        )
        own = np.arange(n)
        # A view: each joint has terms of its own alone.
        by_joint = columns[:, :, last:].reshape(len(X), n, -1, n)
        by_joint[:, own, :, own] = of_joints.transpose(2, 0, 1)
        return columns


def n_parameters(n_joints: int) -> int:
    """Return the number P of parameters of an arm."""
    return n_joints * (N_INERTIAL + 2 + 2 * len(FRICTION_SPEEDS) + N_POSITION_TERMS)
