# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Motions of three minutes that an arm may record once it has a first model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from _closed_loop import training_paths
from _condition_motion import condition_motion
from _simulated_motion import Arm
from _tracking_experiments import between_postures

from ilr_dynamics.control import JointPath
from ilr_dynamics.planning import PlanProblem, plan_motion
from ilr_dynamics.robot.identified_dynamics import IdentifiedDynamics
from ilr_dynamics.robot.waypoints import Waypoints, read_waypoints, smooth_motion, write_waypoints

__all__ = ["MOTIONS", "SECONDS"]

SECONDS = 180.0
# Knots a second, as docs/what_to_record.md has them played.
RATE = 10.0
Motion = Callable[[Arm, IdentifiedDynamics, int, Path], list[JointPath]]
"""Paths of a recording: of an arm, what is known of it, a seed and a folder for a file."""


def _eights(arm: Arm, dynamics: IdentifiedDynamics, seed: int, folder: Path) -> list[JointPath]:
    """Figure-eights of all speeds, one after the other."""
    paths = training_paths(arm)
    length = paths[0].end - paths[0].start
    return (paths * 2)[: round(SECONDS / length)]


def _random(arm: Arm, dynamics: IdentifiedDynamics, seed: int, folder: Path) -> list[JointPath]:
    """From rest to rest between random postures."""
    return [between_postures(arm, np.random.default_rng([seed, 25]), SECONDS)]


def _condition(arm: Arm, dynamics: IdentifiedDynamics, seed: int, folder: Path) -> list[JointPath]:
    """Fourier series of the smallest condition number of the regressor."""
    problem = PlanProblem.of_arm(dynamics, arm.description)
    return [condition_motion(dynamics, problem, SECONDS, np.random.default_rng([seed, 26]))]


def _planned(arm: Arm, dynamics: IdentifiedDynamics, seed: int, folder: Path) -> list[JointPath]:
    """What `plan` plans, by its file."""
    problem = PlanProblem.of_arm(dynamics, arm.description)
    plan = plan_motion(dynamics, problem, SECONDS, np.random.default_rng(seed))
    file = folder / f"motion_{seed}.csv"
    waypoints = Waypoints(arm.description.joint_names, plan.waypoint_times, plan.waypoints)
    write_waypoints(file, waypoints, "planned by the benchmark")
    return [JointPath(*smooth_motion(read_waypoints(file), RATE))]


MOTIONS: dict[str, Motion] = {
    "eights": _eights,
    "random postures": _random,
    "condition number": _condition,
    "planned": _planned,
}
"""Motions by name."""
