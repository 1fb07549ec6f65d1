# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
Pseudo-inertia of a rigid body, which is positive definite if and only if a body can have it.

.. math::
    J = \int \begin{pmatrix} x \\ 1 \end{pmatrix} \begin{pmatrix} x \\ 1 \end{pmatrix}^\top dm
    = \begin{pmatrix} \Sigma & h \\ h^\top & m \end{pmatrix}, \qquad
    \Sigma = \tfrac12 \operatorname{tr}(I)\, 1 - I

with mass m, first moment h and inertia I about the frame's origin (Wensing, Kim and Slotine, 2018,
Linear matrix inequalities for physically consistent inertial parameter identification). It is
linear in the ten inertial parameters in Pinocchio's order: m, h_x, h_y, h_z, I_xx, I_xy, I_yy,
I_xz, I_yz, I_zz.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.robot.dynamics_terms import N_INERTIAL

__all__ = ["BASIS", "MassDistribution", "inertial_parameters", "made_definite", "pseudo_inertia"]

# Least principal second moment about the centre of mass: of a body that is this thick, m, and this
# share of the largest one.
LEAST_THICKNESS = 0.002
LEAST_SHARE = 1e-3
# Least mass, kg.
LEAST_MASS = 1e-3
# Rows and columns of the six moments of inertia.
_MOMENTS = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))


def _basis() -> FloatArray:
    basis = np.zeros((N_INERTIAL, 4, 4))
    basis[0, 3, 3] = 1.0
    for axis in range(3):
        basis[1 + axis, axis, 3] = basis[1 + axis, 3, axis] = 1.0
    for index, (row, column) in enumerate(_MOMENTS, start=4):
        tensor = np.zeros((3, 3))
        tensor[row, column] = tensor[column, row] = 1.0
        basis[index, :3, :3] = 0.5 * np.trace(tensor) * np.eye(3) - tensor
    return basis


BASIS = _basis()
"""Pseudo-inertia (10, 4, 4) per unit of each inertial parameter."""


@dataclass(frozen=True, eq=False)
class MassDistribution:
    """
    Mass of a body, its centre and its inertia about that, in the axes of the body's frame.

    Attributes
    ----------
    mass : float
        Mass, kg.
    centre : ndarray of shape (3,)
        Centre of mass, m.
    inertia : ndarray of shape (3, 3)
        Inertia about the centre of mass, kg m^2.
    """

    mass: float
    centre: FloatArray
    inertia: FloatArray

    @classmethod
    def of(cls, parameters: FloatArray) -> MassDistribution:
        """Mass distribution with inertial parameters (10,), whose mass is positive."""
        J = pseudo_inertia(parameters)
        mass, centre = float(J[3, 3]), J[:3, 3] / J[3, 3]
        second = J[:3, :3] - mass * np.outer(centre, centre)
        return cls(mass, centre, np.trace(second) * np.eye(3) - second)


def pseudo_inertia(parameters: FloatArray) -> FloatArray:
    """
    Return pseudo-inertias.

    Parameters
    ----------
    parameters : ndarray of shape (..., 10)
        Inertial parameters, kg, kg m and kg m^2.

    Returns
    -------
    ndarray of shape (..., 4, 4)
        Pseudo-inertia, in units of kg, kg m and kg m^2.
    """
    return np.tensordot(parameters, BASIS, axes=1)


def inertial_parameters(J: FloatArray) -> FloatArray:
    """Return the inertial parameters (..., 10) of pseudo-inertias (..., 4, 4)."""
    second = J[..., :3, :3]
    trace = np.trace(second, axis1=-2, axis2=-1)
    inertia = trace[..., None, None] * np.eye(3) - second
    moments = [inertia[..., row, column] for row, column in _MOMENTS]
    return np.stack([J[..., 3, 3], *(J[..., axis, 3] for axis in range(3)), *moments], axis=-1)


def made_definite(parameters: FloatArray) -> FloatArray:
    """
    Return inertial parameters that a body with volume has, next to given ones.

    Masses below a gram are one, and principal second moments about the centre of mass are at least
    those of a body of a few millimetres: descriptions have plates, points and rounded numbers.

    Parameters
    ----------
    parameters : ndarray of shape (n, 10)
        Inertial parameters of bodies.

    Returns
    -------
    ndarray of shape (n, 10)
        Parameters with positive definite pseudo-inertia.
    """
    made = []
    for J in pseudo_inertia(parameters):
        mass = max(float(J[3, 3]), LEAST_MASS)
        centre = J[:3, 3] / mass
        moments, axes = np.linalg.eigh(J[:3, :3] - mass * np.outer(centre, centre))
        least = max(mass * LEAST_THICKNESS**2, LEAST_SHARE * float(moments[-1]))
        point = np.append(centre, 1.0)
        J = mass * np.outer(point, point)
        J[:3, :3] += axes @ np.diag(np.maximum(moments, least)) @ axes.T
        made.append(inertial_parameters(J))
    return np.array(made)
