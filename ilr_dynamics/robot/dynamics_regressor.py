# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
What an arm's torques are linear in: rigid bodies, rotors, friction in motors and joints.

.. math::
    \tau = R(q, \dot q, \ddot q)\,\pi + \sum_k g_k \big( J_k\, g_k^\top \ddot q
    + b_k\, g_k^\top \dot q + \sum_s c_{ks} \tanh(g_k^\top \dot q / v_s) \big)
    + \sum_s C_s \tanh(\dot q / v_s)
    + \tanh(\dot q / v) \big( \mu |\tau_0| + \sum_h (a_h \sin h q + b_h \cos h q) \big)
    + P(q)\,w

with Pinocchio's regressor R of the ten inertial parameters of each body, the rows g_k of the
joint-to-motor matrix, scaled to length one, and a few functions P of each joint's own position for
cables and imperfect gravity. Friction acts where the motors turn as well as in the joints: in a
differential two motors share two joints, and friction described joint by joint misses how they
pull at each other. In the joints it also depends on the load, which is the torque tau_0 of the
published bodies (Hamon, Gautier and Garrec, 2010), and on the position, as bearings, gears and
cables that are not quite round make it: waves of a whole number to the turn.

Each joint has columns of its own for what acts in it alone, and a parameter that a joint's torque
does not depend on has no column there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pinocchio
from numpy.typing import NDArray

from ilr_dynamics.exceptions import InvalidDataError
from ilr_dynamics.robot.arrays import FloatArray

__all__ = [
    "N_INERTIAL",
    "N_OF_JOINT",
    "N_OF_MOTOR",
    "N_PLAIN",
    "N_POSITION_TERMS",
    "SLOWEST",
    "DynamicsRegressor",
    "n_columns",
    "n_parameters",
    "parameter_indices",
]

# Speeds at which friction settles, rad/s: from the slip of a bearing to a film of grease.
FRICTION_SPEEDS = (0.01, 0.03, 0.1, 0.3)
SLOWEST = FRICTION_SPEEDS[0]
# That at which the part that depends on load and position does.
SIGN_SPEED = 0.03
N_POSITION_TERMS = 5
N_WAVES = 12
N_INERTIAL = 10
N_OF_MOTOR = 2 + len(FRICTION_SPEEDS)
# Of a joint: those that depend on speed or position alone, then load and waves.
N_PLAIN = len(FRICTION_SPEEDS) + N_POSITION_TERMS
N_OF_JOINT = N_PLAIN + 1 + 2 * N_WAVES

_INVERSE_FRICTION_SPEEDS = 1.0 / np.array(FRICTION_SPEEDS)[:, None]
_WAVES = np.arange(1.0, N_WAVES + 1.0)[:, None]


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
    inertial : (n, 10)
        Published inertial parameters of each body, in Pinocchio's order, whose torque is the load.
    """

    placements: FloatArray
    axes: FloatArray
    gravity: FloatArray
    motors: FloatArray
    inertial: FloatArray

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
        Columns phi (n_samples, n, C) at X; `parameter_indices` says what they multiply.

        For each joint: inertial parameters of all bodies; for all motors rotor inertia, viscous
        and dry friction; its own dry friction, position terms, friction by load and by position.

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
        columns = np.empty((len(X), n, n_columns(n)))
        bodies = columns[:, :, : N_INERTIAL * n]
        for row, (position, velocity, acceleration) in enumerate(zip(q, qd, qdd, strict=True)):
            bodies[row] = pinocchio.computeJointTorqueRegressor(
                self._model, self._data, position, velocity, acceleration
            )
        of_motors = self._motor_terms(qd, qdd)
        columns[:, :, N_INERTIAL * n : -N_OF_JOINT] = (
            of_motors[:, None] * self.motors.T[:, None]
        ).reshape(len(X), n, -1)
        of_joints = columns[:, :, -N_OF_JOINT:].transpose(0, 2, 1)
        _fill_joint_terms(of_joints, q, qd, load=bodies @ self.inertial.ravel())
        return columns

    def _motor_terms(self, qd: FloatArray, qdd: FloatArray) -> FloatArray:
        """Acceleration, speed and its smooth signs (n_samples, 2 + S, n) of the motors."""
        speed = qd @ self.motors.T
        terms = np.empty((len(qd), N_OF_MOTOR, self.n_joints))
        terms[:, 0], terms[:, 1] = qdd @ self.motors.T, speed
        np.tanh(speed[:, None, :] * _INVERSE_FRICTION_SPEEDS, out=terms[:, 2:])
        return terms


def _fill_joint_terms(terms: FloatArray, q: FloatArray, qd: FloatArray, load: FloatArray) -> None:
    """Write what acts in each joint alone into terms (n_samples, N_OF_JOINT, n).

    Few calls with all terms in each: for one query in a control loop they are what it costs.
    """
    n_speeds = len(FRICTION_SPEEDS)
    terms[:, :n_speeds] = np.tanh(qd[:, None, :] * _INVERSE_FRICTION_SPEEDS)
    positions = terms[:, n_speeds:N_PLAIN]
    positions[:, 0], positions[:, 1], positions[:, 2] = 1.0, q, q * q
    angles = _WAVES * q[:, None, :]
    waves = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
    positions[:, 3], positions[:, 4] = waves[:, 0], waves[:, N_WAVES]
    sign = np.tanh(qd / SIGN_SPEED)
    terms[:, N_PLAIN] = sign * np.abs(load)
    terms[:, N_PLAIN + 1 :] = sign[:, None, :] * waves


def n_columns(n_joints: int) -> int:
    """Return the number C of columns of each joint's torque."""
    return n_joints * (N_INERTIAL + N_OF_MOTOR) + N_OF_JOINT


def n_parameters(n_joints: int) -> int:
    """Return the number P of parameters of an arm."""
    return n_joints * (N_INERTIAL + N_OF_MOTOR + N_OF_JOINT)


def parameter_indices(n_joints: int) -> NDArray[np.intp]:
    """Return which of the parameters each column (n, C) of each joint multiplies."""
    n_common = n_joints * (N_INERTIAL + N_OF_MOTOR)
    own = n_common + np.arange(n_joints * N_OF_JOINT).reshape(n_joints, N_OF_JOINT)
    return np.hstack([np.tile(np.arange(n_common), (n_joints, 1)), own])
