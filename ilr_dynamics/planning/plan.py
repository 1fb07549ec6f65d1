# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Choice of a motion to record, piece by piece: each time the one that tells most.

Of many pieces that are drawn (`motion_law`), those are left out that leave the bounds, need too
much torque or come too close to something; of the others that is taken which tells most a second,
given all before it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.exceptions import InvalidParameterError, TrajectoryError
from ilr_dynamics.planning.information import Knowledge, Region
from ilr_dynamics.planning.motion_law import (
    STEP,
    MotionBounds,
    draw_piece,
    motion_states,
    quintic_way,
)
from ilr_dynamics.planning.problem import CHECKED_PER_STEP, PlanProblem
from ilr_dynamics.robot.identified_dynamics import IdentifiedDynamics

__all__ = ["N_CANDIDATES", "N_REGION", "MotionPlan", "drawn_states", "plan_motion"]

# States of the region in which torques should be known, drawn from the law of the motions.
N_REGION = 200
N_CANDIDATES = 32
"""Pieces that are drawn for each one that is taken."""
# Draws of all pieces before there is said to be none that keeps what it has to.
MOST_ROUNDS = 10


@dataclass(frozen=True, eq=False)
class MotionPlan:
    """
    A motion, and what it would tell.

    Attributes
    ----------
    waypoints : ndarray of shape (m, n_joints)
        Positions `STEP` apart, from rest to rest, rad.
    states : ndarray of shape (k, 3 n_joints)
        States that were checked, rad, rad/s, rad/s^2.
    information : float
        Information gained on the parameters, nats.
    doubt : ndarray of shape (p + 1,)
        Doubt that is left in the region before the motion and after each of its pieces, nats.
    times : ndarray of shape (p + 1,)
        When those pieces end, s.
    """

    waypoints: FloatArray
    states: FloatArray
    information: float
    doubt: FloatArray
    times: FloatArray

    @property
    def waypoint_times(self) -> FloatArray:
        """Times (m,) of the waypoints, s."""
        return np.asarray(STEP * np.arange(len(self.waypoints)))

    @property
    def duration(self) -> float:
        """Duration, s."""
        return float(self.waypoint_times[-1])


def plan_motion(
    dynamics: IdentifiedDynamics,
    problem: PlanProblem,
    duration: float,
    random: np.random.Generator,
    *,
    n_candidates: int = N_CANDIDATES,
    progress: Callable[[float], None] = lambda share: None,
) -> MotionPlan:
    """
    Plan a motion.

    Parameters
    ----------
    dynamics : IdentifiedDynamics
        What is known of the arm.
    problem : PlanProblem
        What the motion has to keep.
    duration : float
        Longest duration, s; it is a few seconds less.
    random : numpy.random.Generator
    n_candidates : int
        Pieces that are drawn for each one that is taken.
    progress : callable
        Called with the share that is done.

    Raises
    ------
    InvalidParameterError
        If less than one piece is to be drawn.
    TrajectoryError
        If no piece is found that keeps what it has to.
    """
    if n_candidates < 1:
        raise InvalidParameterError(f"{n_candidates} candidates, expected at least 1")
    region = Region.of_states(dynamics, drawn_states(problem.bounds, N_REGION, random))
    knowledge = before = Knowledge.of_model(dynamics, region)
    drawn = _Drawn(problem, n_candidates, random)
    waypoints, home = problem.start[None], problem.start[None][:0]
    doubt, n_steps, n_left = [knowledge.doubt()], [0], round(duration / STEP)
    while (found := drawn.best(knowledge, doubt[-1], waypoints, n_left)) is not None:
        piece, home, knowledge = found
        waypoints = np.concatenate([waypoints, piece])
        n_left -= len(piece)
        n_steps.append(n_steps[-1] + len(piece))
        doubt.append(knowledge.doubt())
        progress(STEP * n_steps[-1] / duration)
    if len(waypoints) == 1:
        raise TrajectoryError(
            f"no motion of at most {duration:g} s was found; of {drawn.n_drawn} that were drawn "
            f"{drawn.refusals()}; expected a longer one, a wider reach, or fewer boxes"
        )
    waypoints = np.concatenate([waypoints, home])
    states = motion_states(waypoints, CHECKED_PER_STEP)
    if broken := problem.broken(states):
        raise TrajectoryError(f"the pieces of the motion keep the {broken}, the whole does not")
    return MotionPlan(
        waypoints,
        states,
        knowledge.information() - before.information(),
        np.array(doubt),
        STEP * np.array(n_steps),
    )


def drawn_states(bounds: MotionBounds, n_states: int, random: np.random.Generator) -> FloatArray:
    """States [q, qd, qdd] (n_states, 3 n_joints) at random times of pieces that are drawn."""
    posture, states = random.uniform(bounds.lower, bounds.upper), []
    for _ in range(n_states):
        waypoints = np.concatenate([posture[None], draw_piece(bounds, posture, random)])
        states.append(random.choice(motion_states(waypoints)))
        posture = waypoints[-1]
    return np.array(states)


class _Drawn:
    """Pieces that are drawn, and how many of them were refused by what they do not keep."""

    def __init__(
        self, problem: PlanProblem, n_candidates: int, random: np.random.Generator
    ) -> None:
        self._problem, self._n, self._random = problem, n_candidates, random
        self._refused: Counter[str] = Counter()
        self.n_drawn = 0

    def refusals(self) -> str:
        """Tell what pieces do not keep."""
        return ", ".join(f"{n} do not keep their {name}" for name, n in self._refused.items())

    def best(
        self, knowledge: Knowledge, doubt: float, before: FloatArray, n_left: int
    ) -> tuple[FloatArray, FloatArray, Knowledge] | None:
        """
        Return a piece after the waypoints before it, the way home, and what is known then.

        None if there is none that takes at most so many steps, with the way home.
        """
        for _ in range(MOST_ROUNDS):
            rated: list[tuple[float, int, FloatArray, Knowledge]] = []
            for piece in self._round(before, n_left):
                states = motion_states(np.concatenate([before[-1:], piece]))
                after = knowledge.after(states, self._problem.sample_rate * STEP)
                rated.append(((doubt - after.doubt()) / len(piece), len(rated), piece, after))
            for _, _, piece, after in sorted(rated, reverse=True, key=lambda each: each[:2]):
                home = quintic_way(self._problem.bounds, piece[-1], self._problem.start)
                if len(piece) + len(home) > n_left:
                    self._refused["duration"] += 1
                elif self._kept(np.concatenate([before, piece]), home):
                    return piece, home, after
            if not rated and not self._refused.keys() - {"duration"}:
                return None
        return None

    def _round(self, before: FloatArray, n_left: int) -> list[FloatArray]:
        """Pieces of a draw that keep what they have to."""
        bounds = self._problem.bounds
        pieces = [draw_piece(bounds, before[-1], self._random) for _ in range(self._n)]
        self.n_drawn += self._n
        short = [piece for piece in pieces if len(piece) < n_left]
        self._refused["duration"] += len(pieces) - len(short)
        return [piece for piece in short if self._kept(before, piece)]

    def _kept(self, before: FloatArray, piece: FloatArray) -> bool:
        """Whether a piece keeps what it has to, and so does what is before it still."""
        broken = self._problem.broken_by(before, piece)
        if broken:
            self._refused[broken] += 1
        return not broken
