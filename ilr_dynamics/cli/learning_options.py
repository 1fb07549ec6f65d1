# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Command-line options for parameters of /inverse_dynamics, and the settings they make."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ament_index_python import get_package_share_path

from ilr_dynamics.exceptions import InvalidParameterError
from ilr_dynamics.learning import LearningSettings
from ilr_dynamics.nodes.parameter_file import read_complete_parameters
from ilr_dynamics.nodes.parameters import INVERSE_DYNAMICS
from ilr_dynamics.nodes.settings import learning_settings
from ilr_dynamics.nodes.shared.robot_description import FROM_ROS
from ilr_dynamics.recording import find_bags
from ilr_dynamics.robot.description import load_description

__all__ = [
    "DEFAULTS",
    "add_bags",
    "add_learning_options",
    "add_recording_options",
    "given_parameters",
    "named_bags",
    "node_parameters",
    "parse_learning_options",
    "report_topic",
]

NODE = "/inverse_dynamics"
ROWS = {row.name: row for row in INVERSE_DYNAMICS}
DEFAULTS = {row.name: row.default for row in INVERSE_DYNAMICS}
REPORT_TOPIC = "learning.controller_state_topic"
RECORDING_OPTIONS = {
    "--state-topic": "learning.state_topic",
    "--command-topic": "learning.command_topic",
    "--controller-state": REPORT_TOPIC,
    "--torque": "learning.torque",
    "--prefix": "prefix",
    "--sample-rate": "learning.sample_rate",
}
LEARNING_OPTIONS = {
    "--joints": "joints",
    "--robot": "robot",
    "--gravity": "gravity",
    "--driver-compensates-gravity": "driver_compensates_gravity",
    "--components": "learning.n_components",
    "--seed": "learning.random_state",
    "--adapt": "learning.adapt",
    **RECORDING_OPTIONS,
}


def add_bags(parser: argparse.ArgumentParser) -> None:
    """Add recordings to a parser, as `find_bags` takes them."""
    parser.add_argument(
        "bags",
        nargs="+",
        metavar="BAG",
        help="folder or file of a rosbag2, or a folder or a glob of such; ** is any folders",
    )


def named_bags(name: str, patterns: Sequence[str]) -> list[str]:
    """Return the bags that patterns stand for (`find_bags`); tell on stderr what is passed by."""
    return find_bags(patterns, note=lambda text: print(f"{name}: {text}", file=sys.stderr))


def add_recording_options(parser: argparse.ArgumentParser) -> None:
    """Add the topics of recordings and the rate of samples to a parser."""
    _add_options(parser, RECORDING_OPTIONS)


def report_topic(options: argparse.Namespace) -> str:
    """Topic of the controller's reports, by the options of `add_recording_options`."""
    return str(getattr(options, REPORT_TOPIC, DEFAULTS[REPORT_TOPIC]))


def add_learning_options(parser: argparse.ArgumentParser) -> None:
    """Add options for the arm, its recordings and the size of the model to a parser."""
    parser.add_argument(
        "--params-file",
        type=Path,
        metavar="FILE",
        help=f"parameters of {NODE}: learn as that node does, but for what other options say; by "
        "default those of the package for the robot",
    )
    _add_options(parser, LEARNING_OPTIONS)


def _add_options(parser: argparse.ArgumentParser, options: Mapping[str, str]) -> None:
    for option, name in options.items():
        row = ROWS[name]
        kind: dict[str, Any] = {"metavar": "VALUE", "type": type(row.default)}
        if isinstance(row.default, bool):
            kind = {"action": argparse.BooleanOptionalAction}
        elif isinstance(row.default, list):
            kind = {"metavar": "NAME", "nargs": "+"}
            if isinstance(row.default[0], float):
                kind = {"metavar": "VALUE", "nargs": len(row.default), "type": float}
        text = f"{row.description} (parameter {name}, {row.default!r} without a file)"
        parser.add_argument(option, dest=name, default=argparse.SUPPRESS, help=text, **kind)


def given_parameters(options: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters that a command line gives values to.

    Raises
    ------
    InvalidParameterError
        If one is out of range.
    """
    names = LEARNING_OPTIONS.values()
    given = {name: value for name, value in vars(options).items() if name in names}
    for name, value in given.items():
        ROWS[name].check(value)
    return given


def parse_learning_options(
    parser: argparse.ArgumentParser, arguments: Sequence[str] | None
) -> tuple[argparse.Namespace, LearningSettings]:
    """
    Parse a command line with the options of `add_learning_options`.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        Parser with these options.
    arguments : sequence of str, optional
        Command line without the program's name; by default that of the process.

    Returns
    -------
    options : argparse.Namespace
        Options that are no parameters.
    settings : LearningSettings
        Those of a node with the file's parameters, or with the package's for the robot, and with
        what the options change in these. A robot that is given is identified. Files may lie
        anywhere: who types their names may open them.

    Raises
    ------
    InvalidParameterError
        If a parameter or an option is out of range, or some do not fit each other.
    RobotDescriptionError
        If the parameter file or the robot's description cannot be read.
    """
    options = parser.parse_args(arguments)
    given = given_parameters(options)
    values = _parameters(options.params_file, given)
    if "robot" in given:
        values["learning.identify_dynamics"] = True
        if values["robot"] not in (given["robot"], FROM_ROS):
            # A link of the file's arm need not be one of another.
            values["tool_frame"] = ""
    values |= given
    if values["robot"] == FROM_ROS:
        raise InvalidParameterError(
            f"parameter robot is {FROM_ROS}, which only nodes receive; expected --robot with the "
            "path of a URDF file"
        )
    return options, replace(learning_settings(values), directories=None)


def node_parameters(file: Path | None) -> dict[str, Any]:
    """Return the parameters that a file gives the controller; None: what they are without one."""
    return read_complete_parameters([file], NODE, INVERSE_DYNAMICS) if file else dict(DEFAULTS)


def _parameters(file: Path | None, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a file says, or what is known without one."""
    robot = given.get("robot", ROWS["robot"].default)
    if file is None and ("robot" in given or "joints" not in given):
        file = _file_of_package(robot)
    if file is not None:
        return node_parameters(file)
    if "robot" not in given:
        # Joints alone: an arm that nobody has described.
        return {**DEFAULTS, "learning.identify_dynamics": False}
    arm = load_description(robot)
    return {
        **DEFAULTS,
        "robot": robot,
        "joints": list(arm.joint_names),
        "limits.torque": arm.torque_limit.tolist(),
        "supervision.velocity": arm.velocity_limit.tolist(),
    }


def _file_of_package(robot: str) -> Path | None:
    """Return the parameter file of an arm; None if the package has none."""
    file = get_package_share_path("ilr_dynamics") / "config" / f"{Path(robot).name}.yaml"
    return file if Path(robot).name == robot and file.is_file() else None
