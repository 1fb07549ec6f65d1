# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Motions without contact: drawn ones around the postures that were learned, and test paths."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from _closed_loop import TEST_PATHS, training_paths
from _simulated_motion import KNOT_RATE, Arm

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.control import JointPath
from ilr_dynamics.robot.tool_paths import tool_path
from ilr_dynamics.robot.waypoints import Waypoints, smooth_motion

__all__ = ["free_motions"]

LENGTH_S = 60.0
# Distance of waypoints from postures that were learned, rad, and to the ends of the range.
REACH, MARGIN = 0.15, 0.1
# Fastest joint, rad/s; shortest time between waypoints, s.
SPEEDS, SHORTEST_S = (0.15, 1.2), 0.25
# Share of waypoints at which the arm rests, and for how long, s.
RESTS, REST_S = 0.15, (0.5, 2.0)


def free_motions(arm: Arm, seed: int, *, test_paths: bool) -> Iterator[JointPath]:
    """Motions without end; with the test paths every fourth is one of these."""
    random = np.random.default_rng([seed, 26])
    learned = training_paths(arm)
    tests = [arm.joint_path(tool_path(name)) for name in TEST_PATHS] if test_paths else []
    number = 0
    while True:
        if tests and number % 4 == 3:
            yield tests[number // 4 % len(tests)]
        else:
            yield _drawn(arm, learned, random)
        number += 1


def _drawn(arm: Arm, learned: list[JointPath], random: np.random.Generator) -> JointPath:
    times, postures = [0.0], [_posture(arm, learned, random)]
    while times[-1] < LENGTH_S:
        posture = _posture(arm, learned, random)
        # A cubic between two rests is half as fast again in its middle.
        duration = 1.5 * np.abs(posture - postures[-1]).max() / random.uniform(*SPEEDS)
        times.append(times[-1] + max(duration, SHORTEST_S))
        postures.append(posture)
        if random.uniform() < RESTS:
            times.append(times[-1] + random.uniform(*REST_S))
            postures.append(posture)
    names = arm.description.joint_names
    motion = smooth_motion(Waypoints(names, np.array(times), np.array(postures)), KNOT_RATE)
    return JointPath(*motion)


def _posture(arm: Arm, learned: list[JointPath], random: np.random.Generator) -> FloatArray:
    path = learned[random.integers(len(learned))]
    posture = path.sample(random.uniform(path.start, path.end)).position
    posture = posture + random.uniform(-REACH, REACH, len(posture))
    limits = arm.description
    return np.clip(posture, limits.position_lower + MARGIN, limits.position_upper - MARGIN)
