# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Tool frame: the link whose origin is the tool point, given by name or found at the arm's end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ilr_dynamics.exceptions import RobotDescriptionError
from ilr_dynamics.robot.link_inertial import LinkInertial

__all__ = ["find_tool_frame", "named_tool_frame"]

# Names of the tool frame by ROS-Industrial, the preferred one first.
_USUAL = ("tool0", "flange")


def named_tool_frame(path: Path, name: str, carried: Sequence[str]) -> str:
    """
    Return the name of the tool frame after a check that it moves.

    Parameters
    ----------
    path : Path
        Path of the URDF, for error messages.
    name : str
        Name of the link.
    carried : sequence of str
        Links that moving joints move.

    Returns
    -------
    str

    Raises
    ------
    RobotDescriptionError
        If no moving joint moves a link of this name.
    """
    if name not in carried:
        raise RobotDescriptionError(
            f"{path}: no moving joint carries a link '{name}' for the parameter tool_frame, "
            f"expected one of {', '.join(carried)}"
        )
    return name


def find_tool_frame(
    path: Path,
    body: Sequence[str],
    fixed: Mapping[str, Sequence[str]],
    inertials: Mapping[str, LinkInertial],
) -> tuple[str, str]:
    """
    Find the tool frame among the end links of the last body.

    It is the only end, or the only one whose own branch has mass. Otherwise it is the end with a
    usual name, or the first by name; as all ends move together, torques do not depend on the
    choice.

    Parameters
    ----------
    path : Path
        Path of the URDF, for the warning.
    body : sequence of str
        Links of the body of the last joint, the joint's own link first.
    fixed : mapping from str to sequence of str
        Child links of a link by fixed joints.
    inertials : mapping from str to LinkInertial
        Inertials of the links of the body.

    Returns
    -------
    tool : str
        Name of the link.
    warning : str
        Text that names it and the other ends; empty if there are none.
    """
    ends = sorted(link for link in body if not fixed.get(link))
    if len(ends) == 1:
        return ends[0], ""
    above = {below: link for link in body for below in fixed.get(link, ())}
    branches = {end: _branch(end, above) for end in ends}
    trunk = set.intersection(*map(set, branches.values()))
    heavy = [
        end
        for end, branch in branches.items()
        if any(inertials[link].mass > 0.0 for link in branch if link not in trunk)
    ]
    usual = [name for name in _USUAL if name in ends]
    tool, reason = ends[0], "the first by name"
    if len(heavy) == 1:
        tool, reason = heavy[0], "the only one with mass"
    elif usual:
        tool, reason = usual[0], "by its name"
    return tool, (
        f"{path}: the links {', '.join(ends)} end the arm; taken as the tool frame is '{tool}', "
        f"{reason}; set the parameter tool_frame to choose another"
    )


def _branch(end: str, above: Mapping[str, str]) -> list[str]:
    """Return the links from an end back to the last joint's own link."""
    branch = [end]
    while branch[-1] in above:
        branch.append(above[branch[-1]])
    return branch
