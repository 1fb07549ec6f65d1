# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Description of an arm: its URDF, the order of its joints, their limits and gears."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ilr_dynamics.arrays import FloatArray, read_only
from ilr_dynamics.exceptions import RobotDescriptionError
from ilr_dynamics.robot.moving_bodies import check_bodies, links_fixed_to, read_inertials
from ilr_dynamics.robot.tool_frame import find_tool_frame, named_tool_frame
from ilr_dynamics.robot.urdf_joint import UrdfJoint

__all__ = ["DESCRIPTION_FOLDER", "STANDING", "RobotDescription", "load_description"]

DESCRIPTION_FOLDER = Path(__file__).parent / "description"
STANDING = (0.0, 0.0, -9.81)
"""Gravity in the axes of the base of an arm that stands upright, m/s^2."""


@dataclass(frozen=True, eq=False)
class RobotDescription:
    """
    Description of a serial arm of revolute and continuous joints.

    Attributes
    ----------
    name : str
        Name of the robot in its URDF.
    urdf_path : Path
        The URDF file.
    joint_names : tuple of str
        Joints from base to tool; every array of the package follows this order.
    position_lower, position_upper : ndarray of shape (n_joints,)
        Joint range [rad]; infinite for continuous joints.
    velocity_limit : ndarray of shape (n_joints,)
        Largest joint speed [rad/s].
    torque_limit : ndarray of shape (n_joints,)
        Largest joint torque [Nm].
    tool_frame : str
        Link whose origin is the tool point.
    gear_matrix : ndarray of shape (n_joints, n_joints) or None
        Motor angles per joint angle, one row per motor, invertible; None if the URDF has no
        motors.
    warnings : tuple of str
        Defects of the URDF that were tolerated, for the user.
    gravity : ndarray of shape (3,)
        Gravity in the axes of the base link [m/s^2], which says how the arm is mounted.

    Notes
    -----
    A motor is an element ``<motor name="m2"><joint name="j2" ratio="28.25"/>...</motor>`` below
    ``<robot>``; joints that it does not name have ratio zero. Motors are ordered as in the file.
    Other parsers of URDF ignore these elements.
    """

    name: str
    urdf_path: Path
    joint_names: tuple[str, ...]
    position_lower: FloatArray
    position_upper: FloatArray
    velocity_limit: FloatArray
    torque_limit: FloatArray
    tool_frame: str
    gear_matrix: FloatArray | None
    warnings: tuple[str, ...]
    gravity: FloatArray

    @property
    def n_joints(self) -> int:
        """Number of joints."""
        return len(self.joint_names)

    @property
    def continuous(self) -> tuple[bool, ...]:
        """Whether each of the n_joints joints is continuous, that is without limits."""
        return tuple(np.isinf(self.position_upper).tolist())


def load_description(
    robot: str | Path, tool_frame: str = "", gravity: Sequence[float] = STANDING
) -> RobotDescription:
    """
    Load the description of an arm.

    Parameters
    ----------
    robot : str or Path
        Name of an arm that comes with the package, such as ``"wam4"``, or the path of a URDF file.
    tool_frame : str, optional
        Link whose origin is the tool point. By default the end of the arm. If there are several
        ends, the only one with mass, or one chosen by name; a warning says which.
    gravity : sequence of float
        Three numbers: gravity in the axes of the base link [m/s^2].

    Returns
    -------
    RobotDescription

    Raises
    ------
    RobotDescriptionError
        If there is no such robot or file, if it is not a URDF, if its moving joints are not one
        chain of revolute and continuous joints with complete limits, if the origin or axis of a
        joint cannot be read or the axis has no direction, if one of them moves no mass or a body
        of impossible inertia, if no joint moves the tool frame, or if its motors do not fit.
    """
    path = _urdf_path(robot)
    root = _parse(path)
    joints = [UrdfJoint(path, element) for element in root.findall("joint")]
    chain = _moving_chain(path, joints)
    fixed = _fixed_links(joints)
    bodies = {joint.name: links_fixed_to(joint.child, fixed) for joint in chain}
    carried = [link for body in bodies.values() for link in body]
    inertials = read_inertials(path, root, carried)
    warnings = [text for joint in chain for text in joint.warnings]
    warnings += check_bodies(path, root, bodies, inertials)
    if tool_frame:
        tool = named_tool_frame(path, tool_frame, carried)
    else:
        tool, warning = find_tool_frame(path, bodies[chain[-1].name], fixed, inertials)
        warnings += [warning] if warning else []
    return RobotDescription(
        name=root.get("name", path.stem),
        urdf_path=path,
        joint_names=tuple(joint.name for joint in chain),
        position_lower=read_only([joint.limits[0] for joint in chain]),
        position_upper=read_only([joint.limits[1] for joint in chain]),
        velocity_limit=read_only([joint.limits[2] for joint in chain]),
        torque_limit=read_only([joint.limits[3] for joint in chain]),
        tool_frame=tool,
        gear_matrix=_gear_matrix(path, root, [joint.name for joint in chain]),
        warnings=tuple(warnings),
        gravity=read_only(gravity),
    )


def _urdf_path(robot: str | Path) -> Path:
    path = Path(robot).expanduser()
    if path.suffix or len(path.parts) > 1:
        if not path.is_file():
            raise RobotDescriptionError(f"no URDF file at '{path}'")
        return path.resolve()
    path = DESCRIPTION_FOLDER / f"{robot}.urdf"
    if not path.is_file():
        known = ", ".join(sorted(file.stem for file in DESCRIPTION_FOLDER.glob("*.urdf")))
        raise RobotDescriptionError(
            f"unknown robot '{robot}', expected one of: {known}, or the path of a .urdf file"
        )
    return path


def _parse(path: Path) -> ElementTree.Element:
    try:
        root = ElementTree.parse(path).getroot()
    except (ElementTree.ParseError, UnicodeDecodeError) as error:
        raise RobotDescriptionError(f"{path}: not well-formed XML: {error}") from error
    if root.tag != "robot":
        raise RobotDescriptionError(f"{path}: root element is <{root.tag}>, expected <robot>")
    return root


def _moving_chain(path: Path, joints: list[UrdfJoint]) -> list[UrdfJoint]:
    """Order the moving joints from base to tool."""
    joint_above = {joint.child: joint for joint in joints}

    def depth(joint: UrdfJoint) -> int:
        below = joint
        count = 0
        for _ in joints:
            above = joint_above.get(below.parent)
            if above is None:
                return count
            count += above.moves
            below = above
        raise RobotDescriptionError(f"{path}: joint '{joint.name}' is in a loop of links")

    by_depth = {depth(joint): joint for joint in joints if joint.moves}
    n_moving = sum(joint.moves for joint in joints)
    if n_moving == 0:
        raise RobotDescriptionError(f"{path}: no revolute joint, expected at least one")
    if len(by_depth) != n_moving:
        names = ", ".join(joint.name for joint in joints if joint.moves)
        raise RobotDescriptionError(
            f"{path}: {n_moving} revolute joints branch ({names}), expected one chain from base "
            "to tool; make those of a gripper or a second arm fixed"
        )
    return [by_depth[index] for index in range(n_moving)]


def _fixed_links(joints: list[UrdfJoint]) -> dict[str, list[str]]:
    """Return the child links of each link by fixed joints."""
    fixed: dict[str, list[str]] = {}
    for joint in joints:
        if not joint.moves:
            fixed.setdefault(joint.parent, []).append(joint.child)
    return fixed


def _gear_matrix(path: Path, root: ElementTree.Element, joints: list[str]) -> FloatArray | None:
    motors = root.findall("motor")
    if not motors:
        return None
    if len(motors) != len(joints):
        raise RobotDescriptionError(
            f"{path}: {len(motors)} motors, expected one for each of {len(joints)} joints"
        )
    gears = read_only([_ratios(path, motor, joints) for motor in motors])
    if np.linalg.matrix_rank(gears) < len(joints):
        raise RobotDescriptionError(
            f"{path}: gear matrix {gears.tolist()} is singular, expected invertible"
        )
    return gears


def _ratios(path: Path, motor: ElementTree.Element, joints: list[str]) -> list[float]:
    """Ratios of a motor to all joints."""
    ratios: dict[str, float] = {}
    for element in motor.findall("joint"):
        name, text = element.get("name", ""), element.get("ratio", "")
        if name not in joints or name in ratios:
            raise RobotDescriptionError(
                f"{path}: motor '{motor.get('name')}' names joint '{name}', expected each of "
                f"{', '.join(joints)} at most once"
            )
        try:
            ratios[name] = float(text)
        except ValueError:
            ratios[name] = math.nan
        if not math.isfinite(ratios[name]):
            raise RobotDescriptionError(
                f"{path}: motor '{motor.get('name')}' has ratio '{text}' to joint '{name}', "
                "expected a finite number"
            )
    return [ratios.get(joint, 0.0) for joint in joints]
