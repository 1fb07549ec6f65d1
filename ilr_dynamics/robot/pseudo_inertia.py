# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
Pseudo-inertia of a body: the symmetric matrix that is positive definite for all real bodies.

.. math::
    P(\pi) = \int \begin{pmatrix} x \\ 1 \end{pmatrix}
    \begin{pmatrix} x \\ 1 \end{pmatrix}^\top dm
    = \begin{pmatrix} \tfrac12 \mathrm{tr}(I)\,1 - I & h \\ h^\top & m \end{pmatrix}

with mass m, first moments h = m c and the inertia tensor I about the origin. It is linear in the
ten inertial parameters, and positive definite exactly if some distribution of positive mass has
them (Wensing, Kim and Slotine, 2018).
"""

from __future__ import annotations

import numpy as np

from ilr_dynamics.arrays import FloatArray, read_only

__all__ = ["BASIS", "MOMENTS", "N_INERTIAL", "inertial_parameters", "moved", "pseudo_inertia"]

N_INERTIAL = 10
# Rows and columns of the moments in the order of the parameters, which is Pinocchio's.
MOMENTS = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))


def inertial_parameters(matrix: FloatArray) -> FloatArray:
    """
    Return the inertial parameters of a pseudo-inertia.

    Parameters
    ----------
    matrix : ndarray of shape (4, 4)
        Pseudo-inertia, kg m^2, kg m and kg.

    Returns
    -------
    ndarray of shape (10,)
        m, h_x, h_y, h_z, I_xx, I_xy, I_yy, I_xz, I_yz, I_zz in Pinocchio's order, the moments of
        inertia about the origin, kg, kg m and kg m^2.
    """
    second, first, mass = matrix[:3, :3], matrix[:3, 3], matrix[3, 3]
    tensor = np.trace(second) * np.eye(3) - second
    return np.array([mass, *first, *(tensor[row, column] for row, column in MOMENTS)])


def pseudo_inertia(parameters: FloatArray) -> FloatArray:
    """Return the pseudo-inertia (4, 4) of inertial parameters (10,); see `inertial_parameters`."""
    return np.asarray((parameters @ _FLAT).reshape(4, 4))


def moved(pose: FloatArray) -> FloatArray:
    """
    Return the matrix (10, 10) that maps inertial parameters from one frame to another.

    Parameters
    ----------
    pose : ndarray of shape (4, 4)
        Homogeneous transform from the frame that they are given in to the other one, m.
    """
    return np.column_stack([inertial_parameters(pose @ basis @ pose.T) for basis in BASIS])


def _basis() -> FloatArray:
    matrices = np.zeros((N_INERTIAL, 4, 4))
    matrices[0, 3, 3] = 1.0
    for axis in range(3):
        matrices[1 + axis, axis, 3] = matrices[1 + axis, 3, axis] = 1.0
    for place, (row, column) in enumerate(MOMENTS):
        tensor = np.zeros((3, 3))
        tensor[row, column] = tensor[column, row] = 1.0
        matrices[4 + place, :3, :3] = 0.5 * np.trace(tensor) * np.eye(3) - tensor
    return matrices


BASIS = read_only(_basis())
"""Pseudo-inertia (10, 4, 4) of each inertial parameter."""
_FLAT = BASIS.reshape(N_INERTIAL, 16)
