# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What is known of the parameters of inverse dynamics before any data."""

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

# How far the inertial parameters may be from the description's, in units of themselves, and at
# least this much of the largest of their kind (mass, first moment, moment of inertia) on the arm.
INERTIAL_DOUBT = 1.0
INERTIAL_FLOOR = 0.1
# Nor less than this, kg, kg m and kg m^2: a description may lack inertial parameters.
INERTIAL_LEAST = np.array([0.1, 0.03, 0.01])
# Everything else starts from nothing, give or take this: Nm and multiples with rad, s.
OTHER_DOUBT = 10.0
# Terms in the position alone are nearly the same over a small range: with more doubt they cancel
# there and part beyond it.
POSITION_DOUBT = 3.0
# Of friction by load, Nm for each Nm, and by position, Nm: parts of friction.
PART_DOUBT = 0.1


def parameter_prior(inertial: FloatArray) -> tuple[FloatArray, FloatArray]:
    """
    Bodies that are about the description's, and no friction, give or take some.

    Parameters
    ----------
    inertial : (n, 10)
        Inertial parameters of the description, in Pinocchio's order.

    Returns
    -------
    mean, precision : (P,)
        In the order of `DynamicsRegressor`.
    """
    n = len(inertial)
    kinds = np.array([0, 1, 1, 1, 2, 2, 2, 2, 2, 2])
    largest = np.array([np.max(np.abs(inertial[:, kinds == kind])) for kind in range(3)])
    least = np.maximum(INERTIAL_FLOOR * largest, INERTIAL_LEAST)
    doubt = INERTIAL_DOUBT * np.maximum(np.abs(inertial), least[kinds])
    of_joint = np.full(N_OF_JOINT, PART_DOUBT)
    of_joint[:N_PLAIN] = POSITION_DOUBT
    of_joint[: N_PLAIN - N_POSITION_TERMS] = OTHER_DOUBT
    of_others = np.append(np.full(N_OF_MOTOR * n, OTHER_DOUBT), np.tile(of_joint, n))
    mean = np.append(inertial.ravel(), np.zeros(of_others.size))
    std = np.append(doubt.ravel(), of_others)
    return mean, 1.0 / std**2
