# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Description that a model was learned with: named by an option, or the package's that fits."""

from __future__ import annotations

import argparse

from ilr_dynamics.exceptions import RobotDescriptionError
from ilr_dynamics.learning.settings import ROBOT
from ilr_dynamics.regression.mixture_regressor import MixtureRegressor
from ilr_dynamics.robot.arm_export import check_same_arm
from ilr_dynamics.robot.description import (
    DESCRIPTION_FOLDER,
    STANDING,
    RobotDescription,
    load_description,
)
from ilr_dynamics.robot.identified_dynamics import IdentifiedDynamics

__all__ = ["NOT_IDENTIFIED", "add_arm_options", "described_arm", "identified_dynamics"]

NOT_IDENTIFIED = (
    "it was learned without the arm's description; expected one learned with the parameter robot "
    "and learning.identify_dynamics, or by train --robot"
)
"""Why a model has no identified dynamics."""


def add_arm_options(parser: argparse.ArgumentParser) -> None:
    """Add the description that a model was learned with to a parser."""
    parser.add_argument(
        "--robot",
        dest="arm",
        metavar="ROBOT",
        help="arm of the package or path of the URDF that the model was learned with; not needed "
        "for an arm of the package",
    )
    parser.add_argument(
        "--tool-frame",
        default="",
        metavar="LINK",
        help="link of the URDF whose origin is the tool point; by default the arm's end",
    )


def identified_dynamics(model: MixtureRegressor, path: str) -> IdentifiedDynamics:
    """
    Return the identified dynamics of a model.

    Raises
    ------
    RobotDescriptionError
        If it has none.
    """
    dynamics = model.global_model_
    if not isinstance(dynamics, IdentifiedDynamics):
        raise RobotDescriptionError(
            f"the model {path} has no identified dynamics, as {NOT_IDENTIFIED}"
        )
    return dynamics


def described_arm(
    model: MixtureRegressor, dynamics: IdentifiedDynamics, robot: str | None, tool_frame: str
) -> RobotDescription:
    """
    Load the description that a model was learned with.

    Parameters
    ----------
    model : MixtureRegressor
        Its metadata name gravity and the description.
    dynamics : IdentifiedDynamics
        Of the model.
    robot, tool_frame : str
        Values of the options of `add_arm_options`. Without a robot it is the arm of the package
        that the model was learned with or, of a model that does not say, the one that fits.

    Raises
    ------
    RobotDescriptionError
        If it cannot be loaded, is that of another arm, or has to be named.
    """
    gravity = model.metadata_.get("gravity", STANDING)
    of_package = sorted(path.stem for path in DESCRIPTION_FOLDER.glob("*.urdf"))
    learned_with = model.metadata_.get(ROBOT)
    if not robot and isinstance(learned_with, str):
        # A file may have moved, and is not opened because a snapshot says so. Its limits and
        # shapes need not be those of an arm of the package that looks alike.
        if learned_with not in of_package:
            raise RobotDescriptionError(
                f"the model was learned with {learned_with!r}; expected --robot with the path of "
                "that URDF"
            )
        robot = learned_with
    if robot:
        description = load_description(robot, tool_frame, gravity)
        check_same_arm(dynamics, description)
        return description
    for name in of_package:
        description = load_description(name, gravity=gravity)
        try:
            check_same_arm(dynamics, description)
        except RobotDescriptionError:
            continue
        return load_description(name, tool_frame, gravity)
    raise RobotDescriptionError(
        f"no arm of the package fits the model's {dynamics.n_joints} joints; expected --robot "
        "with the path of the URDF that it was learned with"
    )
