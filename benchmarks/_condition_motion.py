# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Excitation by the condition number of the regressor, as identification tools choose it.

A Fourier series of five terms for each joint (Swevers et al., 1997), whose coefficients are
searched for the smallest condition number of the base regressor over a period, within the same
bounds as ours; then it is repeated. The base parameters are those that any motion in the bounds
can tell: bodies, rotors, viscous and dry friction (Gautier and Khalil, 1990). FloBaRoID does so
with another search.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import qr

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.control import JointPath
from ilr_dynamics.exceptions import TrajectoryError
from ilr_dynamics.planning import STEP, PlanProblem
from ilr_dynamics.planning.motion_law import motion_states, quintic_way
from ilr_dynamics.planning.plan import drawn_states
from ilr_dynamics.robot.dynamics_regressor import N_INERTIAL, DynamicsRegressor
from ilr_dynamics.robot.identified_dynamics import IdentifiedDynamics
from ilr_dynamics.robot.joint_motion import JointMotion
from ilr_dynamics.robot.waypoints import Waypoints, smooth_motion

__all__ = ["base_columns", "condition_motion", "condition_number"]

PERIOD, N_TERMS = 10.0, 5
# Random series, and steps of the search from the best of them, which are as large at first and end
# at this share.
N_DRAWN, N_STEPS, LAST_STEP = 100, 300, 0.02
# Time in which the series begins and ends, s.
FADE = 5.0
# States by which base parameters are found, and what counts as nothing.
N_STATES, NOTHING = 300, 1e-6
# Speed of the one dry friction of each motor, among those of the regressor.
DRY = 1
FILL = 0.95


def condition_motion(
    dynamics: IdentifiedDynamics,
    problem: PlanProblem,
    seconds: float,
    random: np.random.Generator,
) -> JointPath:
    """
    Return the motion of about this duration.

    Raises
    ------
    TrajectoryError
        If no series that was drawn keeps what the motion has to.
    """
    regressor = dynamics.regressor
    base = base_columns(regressor, drawn_states(problem.bounds, N_STATES, random))
    shape = (2, N_TERMS, len(problem.start))

    def judged(series: FloatArray) -> tuple[float, FloatArray]:
        waypoints = _waypoints(series, problem, seconds)
        period = round(PERIOD / STEP)
        middle = len(waypoints) // 2
        states = motion_states(waypoints)
        if problem.broken(states):
            return np.inf, waypoints
        return condition_number(regressor, base, states[middle : middle + period]), waypoints

    best, found, series = np.inf, np.zeros(0), np.zeros(shape)
    for step in range(N_DRAWN + N_STEPS):
        size = LAST_STEP ** (max(step - N_DRAWN, 0) / N_STEPS)
        tried = random.normal(size=shape)
        if step >= N_DRAWN:
            tried = series + size * tried
        number, waypoints = judged(tried)
        if number < best:
            best, found, series = number, waypoints, tried
    if not np.isfinite(best):
        raise TrajectoryError(f"none of {N_DRAWN} series keeps bounds, torques and clearance")
    times = STEP * np.arange(len(found))
    joints = tuple(map(str, range(shape[2])))
    motion: JointMotion = smooth_motion(Waypoints(joints, times, found), 1.0 / STEP)
    return JointPath(*motion)


def condition_number(regressor: DynamicsRegressor, base: IndexArray, states: FloatArray) -> float:
    """Condition number of the base regressor at states (m, 3 n_joints)."""
    singular = np.linalg.svd(_columns(regressor, states)[:, base], compute_uv=False)
    return float(singular[0] / max(singular[-1], np.finfo(float).tiny))


def base_columns(regressor: DynamicsRegressor, states: FloatArray) -> IndexArray:
    """Columns that are independent at states (m, 3 n_joints) all over the bounds."""
    columns = _columns(regressor, states)
    _, triangle, order = qr(columns, mode="economic", pivoting=True)
    size = np.abs(np.diagonal(triangle))
    return np.sort(order[size > NOTHING * size[0]])


def _columns(regressor: DynamicsRegressor, states: FloatArray) -> FloatArray:
    """Columns of bodies, rotors, viscous and dry friction, (m n_joints, 13 n_joints)."""
    n = regressor.n_joints
    first = N_INERTIAL * n
    dry = first + (2 + DRY) * n
    used = np.r_[: first + 2 * n, dry : dry + n]
    return regressor(states)[:, :, used].reshape(-1, len(used))


def _waypoints(series: FloatArray, problem: PlanProblem, seconds: float) -> FloatArray:
    """Series (2, N_TERMS, n) as large as the bounds allow, with the ways there and back."""
    bounds, start = problem.bounds, problem.start
    centre = 0.5 * (bounds.lower + bounds.upper)
    there = np.concatenate([start[None], quintic_way(bounds, start, centre)])
    back = quintic_way(bounds, centre, start)
    times = STEP * np.arange(round(seconds / STEP) - len(there) - len(back) + 2)
    orders = np.arange(1, N_TERMS + 1)
    angles = 2.0 * np.pi / PERIOD * orders * times[:, None]
    waves = np.sin(angles) @ (series[0] / orders[:, None])
    waves += np.cos(angles) @ (series[1] / orders[:, None])
    fade = np.clip(np.minimum(times, times[-1] - times) / FADE, 0.0, 1.0)
    waves *= (fade**3 * (10.0 - 15.0 * fade + 6.0 * fade**2))[:, None]
    peaks = np.split(np.max(np.abs(motion_states(waves)), axis=0), 3)
    limits = (0.5 * (bounds.upper - bounds.lower), bounds.velocity, bounds.acceleration)
    size = FILL * np.min([most / peak for most, peak in zip(limits, peaks, strict=True)], axis=0)
    return np.concatenate([there, centre + size * waves[1:], back])
