# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""URDF of an arm as text, with the names that its joints have in messages and links on /tf."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence

from ilr_dynamics.exceptions import RobotDescriptionError
from ilr_dynamics.robot.description import RobotDescription

__all__ = ["root_link", "urdf_text"]

# Attributes that hold the name of a joint, by the tag of the element, anywhere in the file.
_NAMED_IN = {"joint": "name", "mimic": "joint"}
# And those that hold the name of a link.
_LINKS_IN = {"link": "name", "parent": "link", "child": "link"}


def root_link(description: RobotDescription) -> str:
    """Return the root link, which is the child of no joint."""
    root = ElementTree.parse(description.urdf_path).getroot()
    children = {child.get("link") for child in root.findall("joint/child")}
    links = [link.get("name", "") for link in root.findall("link")]
    return next(link for link in links if link not in children)


def urdf_text(description: RobotDescription, joints: Sequence[str], prefix: str = "") -> str:
    """
    Return the URDF of an arm with new names of its moving joints, and of its links.

    Parameters
    ----------
    description : RobotDescription
        Description of the arm.
    joints : sequence of str
        Names of its joints in messages, from base to tool.
    prefix : str
        What the names of its links begin with on /tf.

    Returns
    -------
    str
        XML. A fixed joint that had one of these names is renamed to ``<name>_fixed``.

    Raises
    ------
    RobotDescriptionError
        If the number of names is not that of the joints.
    """
    if len(joints) != description.n_joints:
        raise RobotDescriptionError(
            f"{len(joints)} joint names ({', '.join(joints)}), expected {description.n_joints}: "
            f"{description.urdf_path} has the joints {', '.join(description.joint_names)}"
        )
    # Entries of the moving joints, added next, take precedence over these.
    new_names = {name: f"{name}_fixed" for name in joints}
    new_names |= dict(zip(description.joint_names, joints, strict=True))
    root = ElementTree.parse(description.urdf_path).getroot()
    for element in root.iter():
        attribute = _NAMED_IN.get(element.tag)
        if attribute is not None and (name := element.get(attribute)) in new_names:
            element.set(attribute, new_names[name])
        attribute = _LINKS_IN.get(element.tag)
        if attribute is not None and (link := element.get(attribute)):
            element.set(attribute, prefix + link)
    return ElementTree.tostring(root, encoding="unicode")
