# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Prior of the parameters of inverse dynamics, from the description of the arm."""

from __future__ import annotations

import numpy as np

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.robot.dynamics_terms import (
    N_OF_JOINT,
    N_OF_MOTOR,
    N_PLAIN,
    N_POSITION_TERMS,
    N_SPEEDS,
)

__all__ = ["n_scales", "parameter_prior", "scale_bounds", "scale_groups"]

# Kinds of a body's inertial parameters, in Pinocchio's order: mass, first moment, inertia.
KINDS = np.array([0, 1, 1, 1, 2, 2, 2, 2, 2, 2])
N_KINDS = 3
# Kinds of parameters of motors and joints that have one scale for all joints.
N_OF_DRIVE = 6
# Scales of a group that is as good as absent, and of one of which nothing is known.
SMALLEST_SCALE, LARGEST_SCALE = 1e-3, 1e3

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
# Deviation of the torque of an unknown potential, Nm.
POTENTIAL_STD = 1.0


def parameter_prior(
    inertial: FloatArray, scales: FloatArray, frequencies: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """
    Return a normal prior centred at the bodies of the description and zero friction.

    Parameters
    ----------
    inertial : ndarray of shape (n, 10)
        Inertial parameters of the description, in Pinocchio's order.
    scales : ndarray of shape (G,)
        Factor on the deviations of each group of parameters (`scale_groups`).
    frequencies : ndarray of shape (m, n)
        Of an unknown potential, 1/rad.

    Returns
    -------
    mean, precision : ndarray of shape (P,)
        Mean and precision of each parameter, in the order of `DynamicsRegressor`.
    """
    n = len(inertial)
    largest = np.array([np.max(np.abs(inertial[:, kind == KINDS])) for kind in range(N_KINDS)])
    smallest = np.maximum(INERTIAL_FLOOR * largest, INERTIAL_MIN_STD)
    bodies = INERTIAL_STD * np.maximum(np.abs(inertial), smallest[KINDS])
    of_joint = np.full(N_OF_JOINT, PART_STD)
    of_joint[:N_PLAIN] = POSITION_STD
    of_joint[: N_PLAIN - N_POSITION_TERMS] = OTHER_STD
    # Each joint's torque has the variance of a parameter times the sum of its squared frequencies.
    slopes = np.sqrt(np.sum(frequencies**2) / n) if len(frequencies) else 1.0
    of_others = np.concatenate(
        [
            np.full(N_OF_MOTOR * n, OTHER_STD),
            np.tile(of_joint, n),
            np.full(2 * len(frequencies), POTENTIAL_STD / slopes),
        ]
    )
    mean = np.append(inertial.ravel(), np.zeros(of_others.size))
    std = np.append(bodies.ravel(), of_others) * scales[scale_groups(n, len(frequencies))]
    return mean, 1.0 / std**2


def n_scales(n_joints: int, n_frequencies: int = 0) -> int:
    """Return the number G of scales of the prior; that of a potential is the last."""
    return N_KINDS + N_OF_DRIVE + n_joints + (n_frequencies > 0)


def scale_bounds(n_joints: int, n_frequencies: int = 0) -> FloatArray:
    """
    Return lower and upper bounds (G, 2) of the scales of the prior.

    A description may be farther off than it seems, but no recording makes it surer: where torques
    depend on each other, small scales take friction and rotors for absent. Friction by load and by
    position is a small part of friction, if it is there at all: large waves imitate, over a small
    range, whatever no term describes, and are far off elsewhere. An unknown potential may have any
    size.
    """
    bounds = np.tile([1.0, LARGEST_SCALE], (n_scales(n_joints, n_frequencies), 1))
    bounds[N_KINDS + N_OF_DRIVE - 2 : N_KINDS + N_OF_DRIVE] = SMALLEST_SCALE, 1.0
    if n_frequencies:
        bounds[-1] = SMALLEST_SCALE, LARGEST_SCALE
    return bounds


def scale_groups(n_joints: int, n_frequencies: int = 0) -> IndexArray:
    """
    Return the index (P,) of the scale of each parameter.

    Parameters of one kind have one scale in all bodies, motors and joints: masses, first moments,
    inertias; rotors, viscous and dry friction of the motors; dry friction of the joints, by load
    and by position. Terms in the position alone have one in each joint: a spring or a cable at one
    joint says nothing of the others.
    """
    rotor, viscous, dry, of_joint, load, waves = range(N_KINDS, N_KINDS + N_OF_DRIVE)
    bodies = np.tile(KINDS, n_joints)
    motors = np.repeat([rotor, viscous, *[dry] * N_SPEEDS], n_joints)
    joints = np.empty((n_joints, N_OF_JOINT), dtype=int)
    joints[:, :N_SPEEDS] = of_joint
    joints[:, N_SPEEDS:N_PLAIN] = N_KINDS + N_OF_DRIVE + np.arange(n_joints)[:, None]
    joints[:, N_PLAIN], joints[:, N_PLAIN + 1 :] = load, waves
    potential = np.full(2 * n_frequencies, n_scales(n_joints))
    return np.concatenate([bodies, motors, joints.ravel(), potential])
