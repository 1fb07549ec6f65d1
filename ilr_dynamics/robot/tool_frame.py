# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The link whose origin is the tool point: named, or found among the ends of the arm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ilr_dynamics.exceptions import RobotDescriptionError
from ilr_dynamics.robot.link_inertial import LinkInertial

__all__ = ["find_tool_frame", "named_tool_frame"]

# Names that ROS-Industrial gives the tool point, the better first.
_USUAL = ("tool0", "flange")


def named_tool_frame(path: Path, name: str, carried: Sequence[str]) -> str:
    """
    Return the name of a link that a moving joint carries.

    Raises
    ------
    RobotDescriptionError
        If no moving joint carries a link of this name.
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
    Find the tool frame among the ends of what the last joint moves.

    That is the only end, or the only one with mass beyond where ends part. Otherwise all of them
    move as one, so that torques do not depend on the choice: a usual name, or the first by name.

    Parameters
    ----------
    path : Path
        The URDF, for the text of the warning.
    body : sequence of str
        Links that move as one with the last joint, the joint's own link first.
    fixed : mapping from str to sequence of str
        Links that fixed joints hang on a link.
    inertials : mapping from str to LinkInertial
        Of each link of the body.

    Returns
    -------
    tool : str
        The link.
    warning : str
        Names it and the others; empty if there are none.
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
    """Return the links from an end to that of the last joint."""
    branch = [end]
    while branch[-1] in above:
        branch.append(above[branch[-1]])
    return branch
