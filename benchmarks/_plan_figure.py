# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Picture of a planned motion, and of the doubt that it and other motions leave."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from _hard_plants import hard_arm
from _plan_motions import SECONDS
from _plan_runs import EVERY, first_model, recorded_file
from _simulated_motion import Arm
from matplotlib.figure import Figure

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.planning import Knowledge, PlanProblem, Region
from ilr_dynamics.planning.plan import N_REGION, drawn_states
from ilr_dynamics.robot.identified_dynamics import IdentifiedDynamics

__all__ = ["draw_plan", "doubt_over_time"]

# One recorded state in so many is drawn and counted, and the time between two doubts, s.
THINNED, EACH_S = 10, 9.0
# Of the region, another one than the planner's.
SEED = 1


def draw_plan(path: Path, plant: str, seed: int, motions: tuple[str, ...], folder: Path) -> None:
    """
    Draw where the tool went, and the doubt over the time of each motion.

    Parameters
    ----------
    path
        File of the picture.
    plant, seed
        The arm.
    motions
        Names of `MOTIONS`; the last one is the planned one. Those that ended in a fault are left
        out.
    folder
        Where `run` kept first model and recordings.
    """
    arm = hard_arm(plant, seed)
    dynamics = first_model(arm, plant, seed, folder).global_model_
    assert isinstance(dynamics, IdentifiedDynamics)
    bounds = PlanProblem.of_arm(dynamics, arm.description).bounds
    states = drawn_states(bounds, N_REGION, np.random.default_rng(SEED))
    before = Knowledge.of_model(dynamics, Region.of_states(dynamics, states))
    figure = Figure(figsize=(8.5, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    for number, motion in enumerate(motions):
        file = recorded_file(plant, seed, motion, folder)
        if not file.exists():
            continue
        X = np.load(file)[::THINNED]
        times, doubts = doubt_over_time(before, X, 0.002 * EVERY * THINNED)
        right.plot(times, doubts, color=f"C{number}", label=motion)
        if motion == motions[-1]:
            tool = _tool_points(arm, X)
            left.plot(tool[:, 1], tool[:, 2], color=f"C{number}", lw=0.6, label="planned")
    tool = _tool_points(arm, dynamics.representatives.X)
    left.plot(tool[:, 1], tool[:, 2], color="black", lw=2.0, label="recorded before")
    left.set(xlabel="y [m]", ylabel="z [m]", aspect="equal", title="Where the tool goes")
    left.legend(loc="upper right", fontsize="small")
    right.set(
        xlabel="recorded [s]",
        ylabel="doubt of torques in reach [nats]",
        title="What is left to learn",
        xlim=(0.0, SECONDS),
    )
    right.legend(fontsize="small")
    figure.savefig(path, dpi=110)


def _tool_points(arm: Arm, X: FloatArray) -> FloatArray:
    postures = X[:, : arm.description.n_joints]
    return np.array([arm.model.tool_position(posture) for posture in postures])


def doubt_over_time(
    before: Knowledge, X: FloatArray, spacing: float
) -> tuple[FloatArray, FloatArray]:
    """
    Doubt that is left after more and more of a recording.

    Parameters
    ----------
    before
        What is known without it.
    X : (m, 3 n_joints)
        Its states, `spacing` seconds apart; each stands for the samples of that time.
    """
    knowledge, each = before, round(EACH_S / spacing)
    doubts = [before.doubt()]
    for start in range(0, len(X) - each + 1, each):
        knowledge = knowledge.after(X[start : start + each], float(100.0 * spacing))
        doubts.append(knowledge.doubt())
    return EACH_S * np.arange(len(doubts)), np.array(doubts)
