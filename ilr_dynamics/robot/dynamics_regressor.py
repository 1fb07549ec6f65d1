# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
Regressor of inverse dynamics: torques are linear in parameters of bodies, rotors and friction.

.. math::
    \tau = R(q, \dot q, \ddot q)\,\pi + \sum_k g_k \big( J_k\, g_k^\top \ddot q
    + b_k\, g_k^\top \dot q + \sum_s c_{ks} \tanh(g_k^\top \dot q / v_s) \big)
    + \sum_s C_s \tanh(\dot q / v_s)
    + \tanh(\dot q / v) \big( \mu |\tau_0| + \sum_h (a_h \sin h q + b_h \cos h q) \big)
    + P(q)\,w

with Pinocchio's regressor R of the ten inertial parameters of each body, the rows g_k of the
joint-to-motor matrix, scaled to length one, and a few functions P of each joint's own position for
cables and errors of the gravity model. Friction acts at the motors as well as in the joints: in a
differential two motors drive two joints, and friction per joint cannot describe their coupling. In
the joints it also depends on the load, which is the torque tau_0 of the published bodies (Hamon,
Gautier and Garrec, 2010), and on the position, with a whole number of periods per turn, because
of bearings, gears and cables that are not quite round.

Effects in one joint have columns in that joint's torque only: a parameter has no column where the
torque does not depend on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pinocchio
from scipy.linalg import block_diag

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.exceptions import InvalidDataError
from ilr_dynamics.robot.dynamics_terms import (
    FRICTION_SPEEDS,
    N_INERTIAL,
    N_OF_JOINT,
    N_OF_MOTOR,
    N_PLAIN,
    N_POSITION_TERMS,
    N_SPEEDS,
    N_WAVES,
    SIGN_SPEED,
    SLOWEST,
    Terms,
    term_indices,
)

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


@dataclass(frozen=True, eq=False)
class DynamicsRegressor:
    """
    Regressor of an arm's inverse dynamics.

    Parameters
    ----------
    placements : ndarray of shape (n, 4, 4)
        Pose of each joint in the frame of the previous one, at angle zero.
    axes : ndarray of shape (n, 3)
        Axis of each joint in its own frame.
    gravity : ndarray of shape (3,)
        Gravity in the base frame, m/s^2.
    motors : ndarray of shape (n, n)
        Rows of the joint-to-motor matrix, scaled to length one.
    inertial : ndarray of shape (n, 10)
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
        Evaluate the regressor.

        Parameters
        ----------
        X : ndarray of shape (n_samples, 3 n)
            Inputs [q, qd, qdd], rad, rad/s, rad/s^2.

        Returns
        -------
        ndarray of shape (n_samples, n, C)
            Columns phi of each joint's torque: for the inertial parameters of all bodies; for
            rotor inertia, viscous and dry friction of all motors; for the joint's own dry
            friction, position terms and friction by load and by position. `parameter_indices`
            returns the indices of these parameters.

        Raises
        ------
        InvalidDataError
            If X has not 3 n columns.
        """
        n = self.n_joints
        if X.shape[1] != 3 * n:
            raise InvalidDataError(f"inputs must be [q, qd, qdd] of {n} joints, got {X.shape}")
        terms = self._terms_of_one if len(X) == 1 else Terms(len(X), self.motors)
        motion = zip(X[:, :n], X[:, n : 2 * n], X[:, 2 * n :], strict=True)
        for row, (position, velocity, acceleration) in enumerate(motion):
            terms.bodies[row] = pinocchio.computeJointTorqueRegressor(
                self._model, self._data, position, velocity, acceleration
            )
        # Few calls on large arrays: for a single query, in a control loop, calls are the cost.
        terms.linear[:] = X.dot(self._linear)
        np.tanh(terms.signs, out=terms.signs)
        np.sin(terms.angles, out=terms.sines)
        np.cos(terms.angles, out=terms.angles)
        np.multiply(terms.positions, terms.positions, out=terms.squares)
        loads = terms.bodies.reshape(-1, N_INERTIAL * n).dot(self.inertial.ravel())
        np.abs(loads.reshape(-1, n), out=terms.loads)
        first, second = self._factors
        columns = terms.all.take(first, axis=1)
        of_others = columns[:, :, N_INERTIAL * n :]
        of_others *= terms.all.take(second, axis=1)
        return columns

    @cached_property
    def _terms_of_one(self) -> Terms:
        """Scratch memory for single samples, reused; no part of it is returned."""
        return Terms(1, self.motors)

    @cached_property
    def _linear(self) -> FloatArray:
        """Matrix (3 n, L) from [q, qd, qdd] to its linear terms, ordered as in `term_indices`."""
        joints, motors = np.eye(self.n_joints), self.motors.T
        own = np.kron(joints, 1.0 / np.array([*FRICTION_SPEEDS, SIGN_SPEED]))
        speeds = np.hstack([motors, *(motors / speed for speed in FRICTION_SPEEDS), own])
        positions = np.hstack([joints, np.kron(joints, np.arange(1.0, N_WAVES + 1.0))])
        of_reversed = block_diag(motors, speeds, positions)
        blocks = of_reversed.reshape(3, self.n_joints, -1)[::-1]
        return np.ascontiguousarray(blocks.reshape(3 * self.n_joints, -1))

    @cached_property
    def _factors(self) -> tuple[IndexArray, IndexArray]:
        """
        Indices of the two terms whose product each column is.

        The first of shape (n, C); the second, without the columns of bodies, (n, C - 10 n).
        """
        n, at = self.n_joints, term_indices(self.n_joints)
        one, first, second = at["one"], [], []
        for joint in range(n):
            own, sign = np.split(at["signs"][joint], [N_SPEEDS])
            waves = np.append(at["sines"][joint], at["cosines"][joint])
            position = [one, at["positions"][joint], at["squares"][joint], *waves[::N_WAVES]]
            motors = [at["accelerations"], at["speeds"], at["motor_signs"].ravel()]
            load = at["loads"][joint]
            first.append(np.hstack([at["bodies"][joint], *motors, own, *position, load, waves]))
            pulls = np.tile(at["motors"][:, joint], N_OF_MOTOR)
            rough = np.tile(sign, N_OF_JOINT - N_PLAIN)
            second.append(np.hstack([pulls, np.tile(one, N_PLAIN), rough]))
        return np.array(first), np.array(second)


def n_columns(n_joints: int) -> int:
    """Return the number C of columns of each joint's torque."""
    return n_joints * (N_INERTIAL + N_OF_MOTOR) + N_OF_JOINT


def n_parameters(n_joints: int) -> int:
    """Return the number P of parameters of an arm."""
    return n_joints * (N_INERTIAL + N_OF_MOTOR + N_OF_JOINT)


def parameter_indices(n_joints: int) -> IndexArray:
    """Return the index of the parameter of each column (n, C) of each joint."""
    n_common = n_joints * (N_INERTIAL + N_OF_MOTOR)
    own = n_common + np.arange(n_joints * N_OF_JOINT).reshape(n_joints, N_OF_JOINT)
    return np.hstack([np.tile(np.arange(n_common), (n_joints, 1)), own])
