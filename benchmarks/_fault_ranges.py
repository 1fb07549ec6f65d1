# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""How strong each kind of fault may be, and why no weaker.

The ranges were written down before anything looked for the faults. The lower end of each changes a
learned torque by 2 % of its rms, or is as weak as the fault can be.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

__all__ = ["DEGREES", "LEAST_CHANGE", "RANGES", "YEAR", "Range"]

# Least change of a learned torque, of its rms.
LEAST_CHANGE = 0.02
YEAR = 365.25 * 86400.0
DEGREES = 180.0 / np.pi


@dataclass(frozen=True)
class Range:
    """How weak and how strong a fault may be, in which unit, and why no weaker."""

    low: float
    high: float
    unit: str
    reason: str

    def draw(self, random: Generator) -> float:
        """Draw a strength, even in its logarithm."""
        return float(np.exp(random.uniform(np.log(self.low), np.log(self.high))))


RANGES = {
    "dropouts": Range(
        0.01,
        0.3,
        "of the states",
        "floor: torques are interpolated between neighbours, so a loss changes none; 1 % is where "
        "a recorder shows that it cannot keep up (a sound recording loses nothing). Bursts of 1 "
        "state to 0.5 s; commands of lost states are lost in half of the recordings",
    ),
    "position_jump": Range(
        0.05,
        2.0 * np.pi,
        "rad",
        "floor: 0.05 rad within a period of 2 ms are 25 rad/s, ten times what these arms do; "
        "states of zeros differ from the arm's by 0.3 rad at least",
    ),
    "clock_set_back": Range(
        0.05,
        2.0,
        "s",
        "floor: below 0.05 s it is as long as a message may be late, and 25 periods at 500 Hz",
    ),
    "wrong_stamp": Range(
        0.2,
        10.0 * YEAR,
        "s",
        "floor: by 0.1 s messages overtake each other on a network; 0.2 s is twice that. One to "
        "five messages",
    ),
    "zero_effort": Range(1, 7, "joints", "floor: one joint; all of its torque is missing"),
    "effort_scale": Range(
        0.01,
        1000.0,
        "times",
        "floor: units are what they are. The nearest to Nm is percent of the limit, which leaves "
        "a joint of 100 Nm as it is and changes at least one joint of each arm by a third",
    ),
    "zero_velocity": Range(
        1, 7, "joints", "floor: one joint; samples take velocities from the positions"
    ),
    "velocity_scale": Range(
        0.5,
        200.0,
        "times",
        "floor: encoders whose edges are counted once, twice or four times are wrong by 2; no two "
        "units are nearer. Samples take velocities from the positions",
    ),
    "permuted_joints": Range(
        LEAST_CHANGE, 1e3, "of the rms", "2 % of the rms of a torque that the swap changes"
    ),
    "wrong_sign": Range(
        2.0, 2.0, "of the rms", "floor: a sign is right or wrong, and changes a torque by 200 %"
    ),
    "degrees": Range(DEGREES, DEGREES, "times", "floor: the unit is what it is"),
    "base_tilted": Range(
        10.0,
        180.0,
        "degrees",
        "an arm at 10 degrees looks tilted; that is 17 % of the weight, sideways, and 2 % of the "
        "rms of a joint's torque at least (drawn again otherwise)",
    ),
    "gravity_twice": Range(
        0.9, 1.1, "of the weight", "the driver's own model may be wrong by a tenth"
    ),
    "gravity_missing": Range(
        0.9, 1.0, "of the weight", "the driver's own model may be wrong by a tenth"
    ),
    "payload": Range(
        LEAST_CHANGE,
        3.0,
        "kg",
        "from the mass at the tool that changes the torque of one joint, of those whose rigid "
        "bodies take a tenth of the most, by 2 % of its rms (some 0.01 to 0.1 kg)",
    ),
    "torque_delay": Range(
        1.0, 20.0, "ms", "floor: 1 ms is half a period at 500 Hz, and the finest that is asked for"
    ),
    "saturation": Range(
        0.01,
        0.2,
        "of the states",
        "floor: the drives give what is recorded, so no torque is wrong; 1 % of the states is "
        "what a controller does that is at its limit at times, not once",
    ),
    "no_excitation": Range(
        5e-4,
        8e-3,
        "rad",
        "strong is small: the learner refuses ranges below 0.01 rad; a third stand still",
    ),
}
"""Ranges of strength, by kind."""
