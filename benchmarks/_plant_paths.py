# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Paths on which controllers of the arms that no term describes are judged.

Besides the test trajectories an upright circle that no recording came near, and motions from rest
to rest between drawn postures. Numbers are frozen: they judge.
"""

from __future__ import annotations

import numpy as np
from _closed_loop import TEST_PATHS
from _simulated_motion import Arm

from ilr_dynamics.control import JointPath
from ilr_dynamics.robot.tool_paths import ToolPath, resting_posture, tool_path

__all__ = ["PATHS", "plant_path", "rest_to_rest"]

REST_TO_REST = {"R11": 11, "R12": 12, "R13": 13}
"""Seeds of the postures."""
PATHS = (*TEST_PATHS, "A", *REST_TO_REST)

# Of the circle: its centre in the base frame and its radius, m; period, duration and start, s.
CENTRE, RADIUS = np.array([0.5, 0.2, 0.25]), 0.09
PERIOD, DURATION, START_UP = 2.5, 20.0, 1.5
# Of the postures: their number, and their distance from the resting one, rad.
N_POSTURES, REACH = 8, 0.4
# Of the motions between them: shortest duration, s, top speed, rad/s, and rest in each posture, s.
QUICKEST, TOP_SPEED, REST = 0.8, 1.0, 0.5
# The peak of a quintic from rest to rest, in units of its mean speed.
PEAK_OF_QUINTIC = 15.0 / 8.0


def plant_path(name: str, arm: Arm) -> JointPath:
    """Return the joint motion of one of `PATHS`."""
    if name == "A":
        return arm.joint_path(_circle(arm))
    if name in REST_TO_REST:
        return rest_to_rest(arm.description.n_joints, REST_TO_REST[name])
    return arm.joint_path(tool_path(name))


def _circle(arm: Arm) -> ToolPath:
    home = arm.model.tool_position(resting_posture(arm.description.n_joints))
    return ToolPath(
        period=PERIOD,
        duration=DURATION,
        start_up=START_UP,
        amplitude=np.array([RADIUS, 0.0, RADIUS]),
        harmonic=np.ones(3),
        offset=CENTRE - home,
        phase=np.array([0.0, 0.0, np.pi / 2.0]),
    )


def rest_to_rest(n_joints: int, seed: int) -> JointPath:
    """Quintics between postures drawn around the resting one, where they begin."""
    home = resting_posture(n_joints)
    drawn = np.random.default_rng(seed).uniform(-REACH, REACH, (N_POSTURES, n_joints))
    positions, times = [home], [0.0]
    for posture in home + drawn:
        farthest = float(np.max(np.abs(posture - positions[-1])))
        times.append(times[-1] + max(QUICKEST, PEAK_OF_QUINTIC * farthest / TOP_SPEED))
        times.append(times[-1] + REST)
        positions += [posture, posture]
    still = np.zeros((len(times), n_joints))
    return JointPath(times, positions, still, still)
