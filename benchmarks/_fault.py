# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""A recording with a fault, and what all kinds of faults are drawn with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from _fault_arms import Arm
from _fault_recordings import Recorded, Setup, draw_setup
from numpy.random import Generator

from ilr_dynamics.arrays import FloatArray

__all__ = [
    "FULL",
    "SIMULATED",
    "TRIES",
    "Fault",
    "relative_change",
    "draw_moving",
    "fits",
    "names",
    "rms",
]

# Motions in which every joint moves, as where an arm is identified: faults of what the arm weighs
# are told by it.
FULL = ("multisine", "eight", "points")
# Of recordings whose fault is that of messages, not of torques, the share that the plant makes.
SIMULATED = 0.1
# Of the torque limits, with a fault that adds to the torque.
OF_TORQUE_LIMIT = 0.95
TRIES = 50


@dataclass(frozen=True)
class Fault:
    """
    A recording with a fault.

    Attributes
    ----------
    kind : str
    variant : str
        How it shows.
    strength : float
        In the unit of its range.
    recorded : Recorded
    joints : tuple of str
        That have to be named; empty for faults of the whole arm.
    """

    kind: str
    variant: str
    strength: float
    recorded: Recorded
    joints: tuple[str, ...] = ()


def names(setup: Setup, *joints: int) -> tuple[str, ...]:
    return tuple(setup.arm.description.joint_names[joint] for joint in joints)


def draw_moving(
    random: Generator, arm: Arm, storage: str, number: int = 1, **options: object
) -> tuple[Setup, list[int]]:
    """Draw a recording, and joints that move in it."""
    for _ in range(TRIES):
        setup = draw_setup(random, arm, storage, **options)
        moving = setup.moving()
        if len(moving) >= number:
            return setup, random.permutation(moving)[:number].tolist()
    raise RuntimeError(f"no motion found in which {number} joints move")


def rms(values: FloatArray) -> FloatArray:
    return np.asarray(np.sqrt(np.mean(values**2, axis=0)))


def relative_change(true: FloatArray, wrong: FloatArray) -> FloatArray:
    return rms(wrong - true) / rms(true)


def fits(arm: Arm, torque: FloatArray) -> bool:
    return bool((np.abs(torque) < OF_TORQUE_LIMIT * arm.description.torque_limit).all())
