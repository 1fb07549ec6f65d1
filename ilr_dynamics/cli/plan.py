# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Program `plan MODEL --minutes M -o FILE`: a motion from which a model would learn most."""

from __future__ import annotations

import argparse
import csv
import io
import math
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ilr_dynamics.atomic_file import atomic_writer
from ilr_dynamics.cli.described_arm import add_arm_options, described_arm, identified_dynamics
from ilr_dynamics.cli.output_file import check_output_path
from ilr_dynamics.cli.program import run_program
from ilr_dynamics.cli.progress_bar import ProgressBar
from ilr_dynamics.cli.table import format_table
from ilr_dynamics.exceptions import FileAccessError, InvalidParameterError
from ilr_dynamics.planning import (
    STEP,
    Clearance,
    KeepOutBox,
    MotionBounds,
    MotionPlan,
    PlanProblem,
    TorqueMargin,
    plan_motion,
)
from ilr_dynamics.regression import load_snapshot
from ilr_dynamics.robot.description import STANDING, RobotDescription
from ilr_dynamics.robot.identified_dynamics import IdentifiedDynamics

__all__ = ["PlanOptions", "main", "plan_problem", "write_motion"]

# By it a file is known that may be replaced.
MARK = "motion planned by ilr_dynamics"
# Known postures by which shapes are told apart that touch anyway.
N_KNOWN = 50
LONGEST_MINUTES = 60.0


@dataclass(frozen=True)
class PlanOptions:
    """
    Values of the options of `plan`.

    Parameters
    ----------
    reach : float
        How far each joint may leave the range in which it was recorded, rad.
    speed : float
        Share of the velocity limits.
    acceleration : float
        Largest acceleration of each joint, rad/s^2.
    position_margin : float
        Distance to the ends of the joint range, rad.
    boxes : tuple of KeepOutBox
    clearance : float
        Smallest distance of the arm from these and from itself, m.
    rate : float
        Samples a second that will be learned, Hz.
    candidates : int
        Pieces of motion that are drawn for each one that is taken.

    Raises
    ------
    InvalidParameterError
        If a value is out of range.
    """

    reach: float = 0.5
    speed: float = 0.6
    acceleration: float = 5.0
    position_margin: float = 0.05
    boxes: tuple[KeepOutBox, ...] = ()
    clearance: float = 0.05
    rate: float = 100.0
    candidates: int = 32

    def __post_init__(self) -> None:
        """Check ranges."""
        _check("--reach", self.reach, 0.0, math.pi, "rad")
        _check("--speed", self.speed, 0.01, 1.0, "of the velocity limits")
        _check("--acceleration", self.acceleration, 0.1, 100.0, "rad/s^2")
        _check("--position-margin", self.position_margin, 0.0, 1.0, "rad")
        _check("--clearance", self.clearance, 0.0, 1.0, "m")
        _check("--rate", self.rate, 1.0, 10_000.0, "Hz")
        _check("--candidates", self.candidates, 1, 10_000, "pieces")


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Plan a motion to record, and write it as waypoints.

    Parameters
    ----------
    arguments : sequence of str, optional
        Command line without the program's name; by default that of the process.

    Returns
    -------
    int
        Exit code: 0, 1 after a message on stderr, or 130 if a person interrupted it. In both of
        these cases nothing is written.
    """
    return run_program("plan", _plan, arguments)


def _parser() -> argparse.ArgumentParser:
    defaults = PlanOptions()
    parser = argparse.ArgumentParser(
        prog="plan",
        description="Plan a motion from which a model would learn most, for trajectory_publisher.",
    )

    def number(option: str, default: float, metavar: str, text: str) -> None:
        parser.add_argument(
            option,
            type=type(default),
            default=default,
            metavar=metavar,
            help=f"{text} (%(default)s)",
        )

    parser.add_argument("snapshot", metavar="MODEL", help="model, as .npz file")
    parser.add_argument(
        "-o", "--output", required=True, metavar="FILE", help="waypoints to write, as .csv"
    )
    number("--minutes", 3.0, "MINUTES", "longest duration")
    number("--reach", defaults.reach, "RAD", "how far joints may leave their recorded range")
    number("--speed", defaults.speed, "SHARE", "share of the velocity limits")
    number("--acceleration", defaults.acceleration, "RAD/S2", "largest acceleration of a joint")
    number(
        "--position-margin", defaults.position_margin, "RAD", "distance to the ends of the range"
    )
    parser.add_argument(
        "--keep-out",
        nargs=6,
        type=float,
        action="append",
        default=[],
        metavar=("X", "Y", "Z", "X2", "Y2", "Z2"),
        help="two opposite corners of a box in the base's frame, m, that no part of the arm may "
        "enter; again for each further box",
    )
    number(
        "--clearance", defaults.clearance, "M", "smallest distance from these and the arm itself"
    )
    number("--rate", defaults.rate, "HZ", "samples a second that will be learned")
    number("--candidates", defaults.candidates, "N", "pieces drawn for each one that is taken")
    number("--seed", 0, "N", "of the random numbers")
    add_arm_options(parser)
    return parser


def _plan(arguments: Sequence[str] | None) -> None:
    options = _parser().parse_args(arguments)
    _check("--minutes", options.minutes, 0.0, LONGEST_MINUTES, "minutes", positive=True)
    _check("--seed", options.seed, 0, 2**63, "")
    if not options.output.endswith(".csv"):
        raise FileAccessError(
            f"{options.output!r} is no .csv; expected one, as trajectory_publisher tells files by "
            "their names"
        )
    chosen = PlanOptions(
        options.reach,
        options.speed,
        options.acceleration,
        options.position_margin,
        tuple(KeepOutBox(np.array(box[:3]), np.array(box[3:])) for box in options.keep_out),
        options.clearance,
        options.rate,
        options.candidates,
    )
    check_output_path(options.output, MARK.encode())
    model = load_snapshot(options.snapshot)
    dynamics = identified_dynamics(model, options.snapshot)
    gravity = model.metadata_.get("gravity", STANDING)
    description = described_arm(dynamics, options.arm, options.tool_frame, gravity)
    names = tuple(model.metadata_.get("joint_names", description.joint_names))
    problem = plan_problem(dynamics, description, chosen)
    random = np.random.default_rng(options.seed)
    with ProgressBar() as progress:
        plan = plan_motion(
            dynamics,
            problem,
            60.0 * options.minutes,
            chosen.candidates,
            random,
            lambda share: progress("planning", share, math.nan),
        )
    note = f"{MARK}: {plan.duration:.1f} s for {Path(options.snapshot).name}"
    write_motion(options.output, plan, names, note)
    print(_table(plan, problem, names))
    print(_summary(plan, problem, options.output))


def plan_problem(
    dynamics: IdentifiedDynamics, description: RobotDescription, options: PlanOptions
) -> PlanProblem:
    """
    Return what a motion of an arm has to keep.

    Parameters
    ----------
    dynamics : IdentifiedDynamics
        What is known of the arm.
    description : RobotDescription
        Its limits and shapes.
    options : PlanOptions

    Raises
    ------
    InvalidParameterError
        If the arm has been outside of the bounds or in a box, or nothing was learned.
    RobotDescriptionError
        If shapes cannot be read.
    """
    n = description.n_joints
    known = dynamics.representatives.X[:, :n]
    if not len(known):
        raise InvalidParameterError(
            "the model has learned no samples, expected some: motions begin where it was recorded"
        )
    lower = description.position_lower + options.position_margin
    upper = description.position_upper - options.position_margin
    start = np.clip(known[0], lower, upper)
    every = max(1, len(known) // N_KNOWN)
    return PlanProblem(
        MotionBounds(
            np.maximum(known.min(axis=0) - options.reach, lower),
            np.minimum(known.max(axis=0) + options.reach, upper),
            options.speed * description.velocity_limit,
            np.full(n, options.acceleration),
        ),
        TorqueMargin(dynamics, description),
        Clearance(description, options.boxes, options.clearance, known[::every]),
        start,
        options.rate,
    )


def write_motion(
    path: str | os.PathLike[str], plan: MotionPlan, joint_names: Sequence[str], note: str
) -> None:
    """
    Write a motion as waypoints that `read_waypoints` reads.

    Parameters
    ----------
    path : str or path-like
        CSV file.
    plan : MotionPlan
    joint_names : sequence of str
        Joints, in the order of the motion.
    note : str
        One line that says what it is.

    Raises
    ------
    FileAccessError
        If it cannot be written.
    """
    text = io.StringIO()
    text.write(f"# {' '.join(note.split())}\n")
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["time", *joint_names])
    for number, position in enumerate(plan.waypoints):
        table.writerow([f"{STEP * number:.1f}", *(f"{angle:.6f}" for angle in position)])
    try:
        with atomic_writer(path) as file:
            file.write(text.getvalue().encode())
    except OSError as error:
        raise FileAccessError(f"cannot write {os.fspath(path)}: {error}") from error


def _table(plan: MotionPlan, problem: PlanProblem, names: Sequence[str]) -> str:
    position, velocity, acceleration = np.split(plan.states, 3, axis=1)
    torque = problem.torque.needed(plan.states)
    limit = problem.torque.description
    rows = [
        [
            name,
            f"{position[:, j].min():.2f} to {position[:, j].max():.2f}",
            f"{np.abs(velocity[:, j]).max():.2f} ({limit.velocity_limit[j]:g})",
            f"{np.abs(acceleration[:, j]).max():.1f}",
            f"{torque[:, j].max():.1f} ({limit.torque_limit[j]:g})",
        ]
        for j, name in enumerate(names)
    ]
    titles = [
        "joint",
        "from, to [rad]",
        "speed (limit) [rad/s]",
        "[rad/s²]",
        "torque (limit) [Nm]",
    ]
    return format_table(titles, rows)


def _summary(plan: MotionPlan, problem: PlanProblem, path: str) -> str:
    start = " ".join(f"{angle:.2f}" for angle in problem.start)
    n_pairs = problem.clearance.n_pairs
    clear = f"{n_pairs} pairs of shapes" if n_pairs else "nothing, as the URDF has no shapes"
    return (
        f"\nbegins and ends at rest in {start} rad; kept clear: {clear}\n"
        f"information on the parameters: {plan.information:.0f} nats; doubt of torques in reach: "
        f"{plan.doubt[0]:.2f} before, {plan.doubt[-1]:.2f} nats after\n"
        f"written: {path}, {plan.duration:.1f} s. To play it:\n"
        f"  ros2 run ilr_dynamics trajectory_publisher --ros-args --params-file my_arm.yaml "
        f"-p trajectory:={path} -p rate:={1.0 / STEP:.1f}"
    )


def _check(
    option: str, value: float, least: float, most: float, unit: str, *, positive: bool = False
) -> None:
    if not least <= value <= most or (positive and value == 0.0):
        expected = (
            f"above {least:g} and at most {most:g}" if positive else f"{least:g} to {most:g}"
        )
        raise InvalidParameterError(f"{option} is {value:g}, expected {expected} {unit}".rstrip())


if __name__ == "__main__":
    sys.exit(main())
