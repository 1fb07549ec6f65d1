# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Prior of the parameters of inverse dynamics, from the description of the arm."""

from __future__ import annotations

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.robot.dynamics_terms import (
    N_OF_JOINT,
    N_OF_MOTOR,
    N_PLAIN,
    N_POSITION_TERMS,
)

__all__ = ["parameter_prior"]

# Prior standard deviation of an inertial parameter: this multiple of its value in the description,
INERTIAL_STD = 1.0
# at least this share of the arm's largest one of its kind (mass, first moment, inertia),
INERTIAL_FLOOR = 0.1
# and at least this, kg, kg m and kg m^2, as a description may lack inertial parameters.
INERTIAL_MIN_STD = np.array([0.1, 0.03, 0.01])
# The same of all other parameters, whose mean is zero, in Nm and multiples with rad and s.
OTHER_STD = 2.0
# The same of terms in the position alone. They are almost collinear over a small range: with a
# wider prior they get large values that cancel there and not outside of it.
POSITION_STD = 0.6
# The same of friction by load, Nm per Nm, and by position, Nm, which are small parts of friction.
PART_STD = 0.1


def parameter_prior(inertial: FloatArray) -> tuple[FloatArray, FloatArray]:
    """
    Return a normal prior centred at the bodies of the description and zero friction.

    Parameters
    ----------
    inertial : ndarray of shape (n, 10)
        Inertial parameters of the description, in Pinocchio's order.

    Returns
    -------
    mean, precision : ndarray of shape (P,)
        Mean and precision of each parameter, in the order of `DynamicsRegressor`.
    """
    n = len(inertial)
    kinds = np.array([0, 1, 1, 1, 2, 2, 2, 2, 2, 2])
    largest = np.array([np.max(np.abs(inertial[:, kinds == kind])) for kind in range(3)])
    smallest = np.maximum(INERTIAL_FLOOR * largest, INERTIAL_MIN_STD)
    bodies = INERTIAL_STD * np.maximum(np.abs(inertial), smallest[kinds])
    of_joint = np.full(N_OF_JOINT, PART_STD)
    of_joint[:N_PLAIN] = POSITION_STD
    of_joint[: N_PLAIN - N_POSITION_TERMS] = OTHER_STD
    of_others = np.append(np.full(N_OF_MOTOR * n, OTHER_STD), np.tile(of_joint, n))
    mean = np.append(inertial.ravel(), np.zeros(of_others.size))
    std = np.append(bodies.ravel(), of_others)
    return mean, 1.0 / std**2
