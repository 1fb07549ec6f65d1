# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
Regressor of inverse dynamics: torques are linear in parameters of bodies, rotors and friction.

.. math::
    \tau = R(q, \dot q, \ddot q)\,\pi + \sum_k g_k \big( J_k\, g_k^\top \ddot q
    + b_k\, g_k^\top \dot q + \sum_s c_{ks} \tanh(g_k^\top \dot q / v_s) \big)
    + \sum_s C_s \tanh(\dot q / v_s)
    + \tanh(\dot q / v) \big( \mu |\tau_0| + \sum_h (a_h \sin h q + b_h \cos h q) \big)
    + P(q)\,w + \partial U(q) / \partial q

with the regressor R, as Pinocchio has it, of the ten inertial parameters of each body, the rows
g_k of the joint-to-motor matrix, scaled to length one, and a few functions P of each joint's own
position for cables and errors of the gravity model. U is an unknown potential, as of hoses, if
the arm has one (`unknown_potential`). Friction acts at the motors as well as in the joints: in a
differential two motors drive two joints, and friction per joint cannot describe their coupling. In
the joints it also depends on the load, which is the torque tau_0 of the published bodies (Hamon,
Gautier and Garrec, 2010), and on the position, with a whole number of periods per turn, because of
bearings, gears and cables that are not quite round.

Effects in one joint have columns in that joint's torque only: a parameter has no column where the
torque does not depend on it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.exceptions import InvalidDataError
from ilr_dynamics.robot._dynamics import Dynamics
from ilr_dynamics.robot.dynamics_terms import (
    FRICTION_SPEEDS,
    N_INERTIAL,
    N_OF_JOINT,
    N_OF_MOTOR,
    N_PLAIN,
    N_POSITION_TERMS,
    SIGN_SPEED,
    SLOWEST,
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
    frequencies : ndarray of shape (m, n)
        Of an unknown potential, 1/rad; none of an arm that has none.
    """

    placements: FloatArray
    axes: FloatArray
    gravity: FloatArray
    motors: FloatArray
    inertial: FloatArray
    frequencies: FloatArray

    @property
    def n_joints(self) -> int:
        """Number n of joints."""
        return len(self.axes)

    @property
    def n_columns(self) -> int:
        """Number C of columns of each joint's torque."""
        return n_columns(self.n_joints, len(self.frequencies))

    @property
    def indices(self) -> IndexArray:
        """Index of the parameter of each column (n, C) of each joint."""
        return parameter_indices(self.n_joints, len(self.frequencies))

    @cached_property
    def _compiled(self) -> Dynamics:
        return Dynamics(
            placements=np.ascontiguousarray(self.placements),
            axes=np.ascontiguousarray(self.axes),
            gravity=np.ascontiguousarray(self.gravity),
            motors=np.ascontiguousarray(self.motors),
            inertial=np.ascontiguousarray(self.inertial),
            speeds=np.array([*FRICTION_SPEEDS, SIGN_SPEED]),
            frequencies=np.ascontiguousarray(self.frequencies),
        )

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is made of the rest."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

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
            friction, position terms and friction by load and by position; for the cosines and the
            sines of the potential. `indices` are those of these parameters.

        Raises
        ------
        InvalidDataError
            If X has not 3 n columns.
        """
        columns = np.empty((len(X), self.n_joints, self.n_columns))
        self._compiled.fill(self._checked(X), columns)
        return columns

    def predict(
        self, X: FloatArray, mean: FloatArray, covariance: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """
        Mean phi' chi and variance phi' S phi (n_samples, n) of torques at X (n_samples, 3 n).

        Parameters
        ----------
        mean, covariance : ndarray of shape (n, C) and (n, C, C)
            Of the parameters of each joint's columns.
        """
        torques, variances = np.empty((2, len(X), self.n_joints))
        self._compiled.predict(self._checked(X), mean, covariance, torques, variances)
        return torques, variances

    def expected(self, X: FloatArray, mean: FloatArray) -> FloatArray:
        """Mean torques alone, without the covariances, which are most of what there is to read."""
        torques = np.empty((len(X), self.n_joints))
        self._compiled.predict(self._checked(X), mean, None, torques, None)
        return torques

    def _checked(self, X: FloatArray) -> FloatArray:
        if X.shape[1] != 3 * self.n_joints:
            raise InvalidDataError(
                f"inputs must be [q, qd, qdd] of {self.n_joints} joints, got {X.shape}"
            )
        return np.ascontiguousarray(X)


def n_columns(n_joints: int, n_frequencies: int = 0) -> int:
    """Return the number C of columns of each joint's torque."""
    return n_joints * (N_INERTIAL + N_OF_MOTOR) + N_OF_JOINT + 2 * n_frequencies


def n_parameters(n_joints: int, n_frequencies: int = 0) -> int:
    """Return the number P of parameters of an arm; those of the potential are the last."""
    return n_joints * (N_INERTIAL + N_OF_MOTOR + N_OF_JOINT) + 2 * n_frequencies


def parameter_indices(n_joints: int, n_frequencies: int = 0) -> IndexArray:
    """Return the index of the parameter of each column (n, C) of each joint."""
    n_common, n_of_arm = n_joints * (N_INERTIAL + N_OF_MOTOR), n_parameters(n_joints)
    own = np.arange(n_common, n_of_arm).reshape(n_joints, N_OF_JOINT)
    potential = np.arange(n_of_arm, n_parameters(n_joints, n_frequencies))
    of_all = (np.tile(part, (n_joints, 1)) for part in (np.arange(n_common), potential))
    common, last = of_all
    return np.hstack([common, own, last])
