# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Program `plan MODEL --minutes M -o FILE`: a motion from which a model would learn most."""

from __future__ import annotations

import argparse
import math
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ilr_dynamics.cli.argument_parser import ArgumentParser
from ilr_dynamics.cli.described_arm import add_arm_options, described_arm, identified_dynamics
from ilr_dynamics.cli.learning_options import node_parameters
from ilr_dynamics.cli.output_file import check_output_path
from ilr_dynamics.cli.program import run_program
from ilr_dynamics.cli.progress_bar import ProgressBar
from ilr_dynamics.cli.table import format_table
from ilr_dynamics.exceptions import FileAccessError, InvalidParameterError
from ilr_dynamics.nodes.shared.robot_description import FROM_ROS
from ilr_dynamics.planning import (
    N_CANDIDATES,
    STEP,
    KeepOutBox,
    MotionPlan,
    PlanProblem,
    PlanSettings,
    plan_motion,
)
from ilr_dynamics.regression import load_snapshot
from ilr_dynamics.robot.description import RobotDescription
from ilr_dynamics.robot.waypoints import Waypoints, write_waypoints

__all__ = ["main"]

# By it a file is known that may be replaced.
MARK = "motion planned by ilr_dynamics"
LONGEST_MINUTES = 60.0


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
    defaults = PlanSettings()
    parser = ArgumentParser(
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
    number("--candidates", N_CANDIDATES, "N", "pieces drawn for each one that is taken")
    number("--seed", 0, "N", "of the random numbers")
    parser.add_argument(
        "--params-file",
        type=Path,
        metavar="FILE",
        help="parameters of the controller that is to play it: its arm, whose limits are kept too",
    )
    add_arm_options(parser)
    return parser


def _plan(arguments: Sequence[str] | None) -> None:
    options = _parser().parse_args(arguments)
    settings = PlanSettings(
        reach=options.reach,
        speed=options.speed,
        acceleration=options.acceleration,
        position_margin=options.position_margin,
        boxes=tuple(KeepOutBox(box[:3], box[3:]) for box in options.keep_out),
        clearance=options.clearance,
        rate=options.rate,
    )
    _check_numbers(options)
    if Path(options.output).suffix != ".csv":
        raise FileAccessError(
            f"{options.output!r} is no .csv; expected one, as trajectory_publisher tells files by "
            "their names"
        )
    check_output_path(options.output, MARK.encode())
    model = load_snapshot(options.snapshot)
    dynamics = identified_dynamics(model, options.snapshot)
    parameters = node_parameters(options.params_file)
    robot = options.arm
    if options.params_file and not robot and parameters["robot"] != FROM_ROS:
        robot = parameters["robot"]
    description = described_arm(model, dynamics, robot, options.tool_frame)
    if options.params_file:
        description = _limited(description, parameters)
        margin = max(settings.position_margin, parameters["limits.position_margin"])
        settings = replace(settings, position_margin=margin)
    names = tuple(model.metadata_.get("joint_names", description.joint_names))
    problem = PlanProblem.of_arm(dynamics, description, settings)
    random = np.random.default_rng(options.seed)
    with ProgressBar() as progress:
        plan = plan_motion(
            dynamics,
            problem,
            60.0 * options.minutes,
            random,
            n_candidates=options.candidates,
            progress=lambda share: progress("planning", share, math.nan),
        )
    note = f"{MARK}: {plan.duration:.1f} s for {Path(options.snapshot).name}"
    write_waypoints(options.output, Waypoints(names, plan.waypoint_times, plan.waypoints), note)
    print(_table(plan, problem, names))
    print(_summary(plan, problem))
    print(_how_to_play(plan, options, parameters["trajectory.max_points"]))


def _check_numbers(options: argparse.Namespace) -> None:
    if not 0.0 < options.minutes <= LONGEST_MINUTES:
        raise InvalidParameterError(
            f"--minutes is {options.minutes:g}, expected above 0 and at most {LONGEST_MINUTES:g}"
        )
    if options.seed < 0:
        raise InvalidParameterError(f"--seed is {options.seed}, expected at least 0")


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


def _limited(description: RobotDescription, parameters: Mapping[str, Any]) -> RobotDescription:
    """Return an arm with the limits of a controller, where these are lower."""
    limits = {}
    for name in ("velocity", "torque"):
        built, own = getattr(description, f"{name}_limit"), parameters[f"limits.{name}"]
        if len(own) != len(built):
            raise InvalidParameterError(
                f"parameter limits.{name} has {len(own)} values, expected {len(built)}: one for "
                "each joint of the model"
            )
        limits[f"{name}_limit"] = np.minimum(built, own)
    return replace(description, **limits)


def _summary(plan: MotionPlan, problem: PlanProblem) -> str:
    start = " ".join(f"{angle:.2f}" for angle in problem.start)
    clearance = problem.clearance
    clear = f"{clearance.n_pairs} pairs of shapes"
    if not clearance.n_shapes:
        clear = "nothing, as the URDF has no shapes"
    elif clearance.left_out:
        names = ", ".join(f"{first} and {second}" for first, second in clearance.left_out)
        clear += f", but not those that touched in a recorded posture: {names}"
    if clearance.n_shapes and clearance.bare_links:
        clear += f"; NOT kept clear, as they have no shapes: {', '.join(clearance.bare_links)}"
    return (
        f"\nbegins and ends at rest in {start} rad; kept clear: {clear}\n"
        f"information on the parameters: {plan.information:.0f} nats; doubt of torques in reach: "
        f"{plan.doubt[0]:.2f} before, {plan.doubt[-1]:.2f} nats after\n"
        f"limits and shapes: {problem.torque.description.urdf_path}"
    )


def _how_to_play(plan: MotionPlan, options: argparse.Namespace, max_points: int) -> str:
    file = shlex.quote(str(options.params_file or "my_arm.yaml"))
    trajectory = shlex.quote(f"trajectory:={options.output}")
    n_points = len(plan.waypoints)
    allowed = ""
    if n_points > max_points:
        allowed = f", by a controller with trajectory.max_points of {n_points} or more"
    return (
        f"written: {options.output}, {plan.duration:.1f} s. To play it{allowed}:\n"
        f"  ros2 run ilr_dynamics trajectory_publisher --ros-args --params-file {file} "
        f"-p {trajectory} -p rate:={1.0 / STEP:.1f}"
    )


if __name__ == "__main__":
    sys.exit(main())
