# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Rigid bodies of an arm: the links that are fixed to each other after each moving joint."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from pathlib import Path

from ilr_dynamics.exceptions import RobotDescriptionError
from ilr_dynamics.robot.link_inertial import LinkInertial, read_link_inertial

__all__ = ["check_bodies", "links_fixed_to", "read_inertials"]

# No body of an arm weighs less, kg: such masses stand in files for a frame that a parser wants to
# have one. Large industrial arms have links that are heavier than the other, kg, but grams are the
# more frequent cause.
LEAST_MASS, LARGEST_MASS = 1e-6, 200.0


def links_fixed_to(link: str, fixed: Mapping[str, Sequence[str]]) -> list[str]:
    """
    Return a link and all links fixed to it, each after its parent.

    Parameters
    ----------
    link : str
        First link.
    fixed : mapping from str to sequence of str
        Child links of a link by fixed joints.
    """
    body = [link]
    for above in body:
        body += [below for below in fixed.get(above, ()) if below not in body]
    return body


def read_inertials(
    path: Path, root: ElementTree.Element, links: Sequence[str]
) -> dict[str, LinkInertial]:
    """
    Read the inertials of the links that move.

    Parameters
    ----------
    path : Path
        Path of the URDF, for error messages.
    root : Element
        Root element of the URDF.
    links : sequence of str
        Names of the links.

    Returns
    -------
    dict from str to LinkInertial

    Raises
    ------
    RobotDescriptionError
        If an inertial is not one that a body can have.
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
    Check that the body of each moving joint has a mass.

    A body without mass between two joints would be valid, as in a universal joint; but in an arm
    its mass is missing from the URDF. So it is where a mass only stands for none.

    Parameters
    ----------
    path : Path
        Path of the URDF, for error messages.
    root : Element
        Root element of the URDF.
    bodies : mapping from str to sequence of str
        Links of the body of each moving joint, the joint's own link first.
    inertials : mapping from str to LinkInertial
        Inertials of these links.

    Returns
    -------
    list of str
        Warnings.

    Raises
    ------
    RobotDescriptionError
        If a body has no mass, or nearly none.
    """
    warnings = [inertial.warning for inertial in inertials.values() if inertial.warning]
    warnings += [
        f"{path}: link '{link}' has a mass of {inertial.mass:g} kg, expected {LARGEST_MASS:g} kg "
        "at most: are these grams?"
        for link, inertial in inertials.items()
        if inertial.mass > LARGEST_MASS
    ]
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
        mass = sum(inertials[link].mass for link in heavy)
        if mass < LEAST_MASS:
            raise RobotDescriptionError(
                f"{path}: link '{own}', which joint '{joint}' moves, has a mass of {mass:g} kg, "
                f"with the links fixed to it; expected {LEAST_MASS:g} kg at least"
            )
        if own not in heavy and own in with_shapes:
            warnings.append(
                f"{path}: link '{own}' has shapes but no mass; joint '{joint}' moves the mass of "
                f"{', '.join(heavy)} alone"
            )
    return warnings
