# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Any number of samples of a simulated arm: its own inverse dynamics along random motions."""

from __future__ import annotations

import numpy as np
from _plant_inverse import PlantInverse

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.plant import WamPlant
from ilr_dynamics.robot.plant_config import load_plant_config
from ilr_dynamics.robot.tool_paths import resting_posture

__all__ = ["excitation_samples"]

SAMPLE_RATE = 100.0
# Of each joint: sines whose frequencies, in Hz, and amplitudes, in rad, are drawn from these
# ranges, so that the motion does not repeat itself.
N_SINES, FREQUENCIES, AMPLITUDES = 4, (0.1, 0.5), (0.05, 0.15)


def excitation_samples(
    n_samples: int, seed: int, name: str = "wam4"
) -> tuple[FloatArray, FloatArray]:
    """
    Inputs [q, qd, qdd] and torques along sums of sines about the resting posture.

    Torques are those of the simulated arm, friction and ripple included, that the motion takes:
    no controller and no time steps, a tenth of the time that tracking takes.

    Parameters
    ----------
    n_samples
        100 a second.
    seed
        Of the motion and of the arm.
    name
        "wam4" or "wam7".

    Returns
    -------
    X : (n_samples, 3 n_joints)
    Y : (n_samples, n_joints)
    """
    description = load_description(name)
    inverse = PlantInverse(WamPlant(description, load_plant_config(name), seed=seed))
    generator = np.random.default_rng(seed)
    shape = description.n_joints, N_SINES
    rates = 2.0 * np.pi * generator.uniform(*FREQUENCIES, shape)
    amplitudes, phases = generator.uniform(*AMPLITUDES, shape), generator.uniform(0.0, 7.0, shape)
    angles = np.arange(n_samples)[:, None, None] / SAMPLE_RATE * rates + phases
    position = np.sum(amplitudes * np.sin(angles), axis=2) + resting_posture(shape[0])
    velocity = np.sum(amplitudes * rates * np.cos(angles), axis=2)
    acceleration = np.sum(-amplitudes * rates**2 * np.sin(angles), axis=2)
    rows = zip(position, velocity, acceleration, strict=True)
    torque = np.array([inverse(*row) for row in rows])
    return np.concatenate([position, velocity, acceleration], axis=1), torque
