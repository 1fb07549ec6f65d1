# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Command-line options of programs that learn; defaults are the node's parameters."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ilr_dynamics.cli.recording_options import add_recording_options
from ilr_dynamics.learning import LearningSettings
from ilr_dynamics.nodes.learning_parameters import learning_settings
from ilr_dynamics.nodes.parameter_file import read_complete_parameters
from ilr_dynamics.nodes.parameters import PARAMETERS
from ilr_dynamics.robot.description import load_description

__all__ = ["add_learning_options", "parse_learning_options"]

NODE = "/inverse_dynamics"


def add_learning_options(parser: argparse.ArgumentParser) -> None:
    """Add options for the arm, its recordings and the size of the model to a parser."""
    parser.add_argument(
        "--params-file",
        type=Path,
        metavar="FILE",
        help=f"parameters of {NODE}: learn as that node does, except for other options",
    )
    parser.add_argument(
        "--joints",
        nargs="+",
        metavar="NAME",
        default=list(load_description("wam4").joint_names),
        help="joints from base to tool (default: %(default)s)",
    )
    parser.add_argument(
        "--robot",
        metavar="ARM",
        help="arm of the package or path of a URDF file: also identify its rigid bodies and "
        "friction, which predict where no local model has data",
    )
    parser.add_argument(
        "--driver-compensates-gravity",
        action=argparse.BooleanOptionalAction,
        default=False,
        help="whether the driver adds the gravity torque to the command",
    )
    parser.add_argument(
        "--components",
        type=int,
        default=300,
        help="largest number of local models to add (%(default)s)",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the learner (%(default)s)")
    add_recording_options(parser)


def _settings_of_arm(robot: str, settings: LearningSettings) -> LearningSettings:
    """Settings with the joints and limits of an arm given without a parameter file."""
    arm = load_description(robot)
    samples = replace(
        settings.samples,
        torque_limit=arm.torque_limit.tolist(),
        velocity_limit=arm.velocity_limit.tolist(),
    )
    return replace(settings, joint_names=arm.joint_names, samples=samples)


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
        All options, by the command line or by the parameter file.
    settings : LearningSettings
        Settings of the learner. All directories are allowed, as the user names the files.

    Raises
    ------
    InvalidParameterError
        If a parameter or an option is out of range, or some do not fit each other.
    RobotDescriptionError
        If the parameter file cannot be read.
    """
    options = parser.parse_args(arguments)
    settings = LearningSettings(tuple(options.joints))
    if options.params_file is None and options.robot is not None:
        settings = _settings_of_arm(options.robot, settings)
        parser.set_defaults(joints=list(settings.joint_names))
        options = parser.parse_args(arguments)
    elif options.params_file is not None:
        settings = learning_settings(
            read_complete_parameters([options.params_file], NODE, PARAMETERS)
        )
        parser.set_defaults(
            joints=list(settings.joint_names),
            robot=settings.robot,
            driver_compensates_gravity=settings.driver_compensates_gravity,
            components=settings.model["n_components"],
            seed=settings.model["random_state"],
            state_topic=settings.state_topic,
            command_topic=settings.command_topic,
            sample_rate=settings.samples.sample_rate,
        )
        options = parser.parse_args(arguments)
    return options, replace(
        settings,
        joint_names=tuple(options.joints),
        robot=options.robot,
        # The tool frame in the file is a link of the file's arm only.
        tool_frame=settings.tool_frame if options.robot == settings.robot else "",
        driver_compensates_gravity=options.driver_compensates_gravity,
        model={
            **settings.model,
            "n_components": options.components,
            "random_state": options.seed,
        },
        state_topic=options.state_topic,
        command_topic=options.command_topic or None,
        samples=replace(settings.samples, sample_rate=options.sample_rate or None),
        directories=None,
    )
