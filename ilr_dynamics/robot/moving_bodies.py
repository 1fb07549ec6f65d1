# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What moves as one in an arm: the links fixed to each other beyond a moving joint."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from pathlib import Path

from ilr_dynamics.exceptions import RobotDescriptionError
from ilr_dynamics.robot.link_inertial import LinkInertial, read_link_inertial

__all__ = ["check_bodies", "links_fixed_to", "read_inertials"]


def links_fixed_to(link: str, fixed: Mapping[str, Sequence[str]]) -> list[str]:
    """
    Return a link and those that fixed joints hang on it, each after the one it hangs on.

    Parameters
    ----------
    link : str
        The first.
    fixed : mapping from str to sequence of str
        Links that fixed joints hang on a link.
    """
    body = [link]
    for above in body:
        body += [below for below in fixed.get(above, ()) if below not in body]
    return body


def read_inertials(
    path: Path, root: ElementTree.Element, links: Sequence[str]
) -> dict[str, LinkInertial]:
    """
    Read the inertials of the links that moving joints carry.

    Raises
    ------
    RobotDescriptionError
        If one of them is none of a body.
    """
    elements = {link.get("name"): link for link in root.findall("link")}
    return {
        link: read_link_inertial(path, elements[link]) if link in elements else LinkInertial()
        for link in links
    }


def check_bodies(
    path: Path,
    root: ElementTree.Element,
    bodies: Mapping[str, Sequence[str]],
    inertials: Mapping[str, LinkInertial],
) -> list[str]:
    """
    Check that each moving joint moves a mass of its own.

    A body without mass between two joints would be legal, as in a universal joint; but in an arm
    it is one whose mass is not known.

    Parameters
    ----------
    path : Path
        The URDF, for the texts of errors.
    root : Element
        Its content.
    bodies : mapping from str to sequence of str
        Links that move as one with each moving joint, the joint's own link first.
    inertials : mapping from str to LinkInertial
        Of each of these links.

    Returns
    -------
    list of str
        Warnings.

    Raises
    ------
    RobotDescriptionError
        If a joint moves nothing.
    """
    warnings = [inertial.warning for inertial in inertials.values() if inertial.warning]
    with_shapes = {
        link.get("name")
        for link in root.findall("link")
        if link.find("visual") is not None or link.find("collision") is not None
    }
    for joint, (own, *others) in bodies.items():
        heavy = [link for link in (own, *others) if inertials[link].mass > 0.0]
        if not heavy:
            also = f", nor have those fixed to it ({', '.join(others)})" if others else ""
            raise RobotDescriptionError(
                f"{path}: link '{own}', which joint '{joint}' moves, has no mass{also}; expected "
                "an <inertial> with a positive mass and moments of inertia"
            )
        if own not in heavy and own in with_shapes:
            warnings.append(
                f"{path}: link '{own}' has shapes but no mass; joint '{joint}' moves the mass of "
                f"{', '.join(heavy)} alone"
            )
    return warnings
