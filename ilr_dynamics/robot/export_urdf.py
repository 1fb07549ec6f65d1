# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""URDF of an identified arm: the description with other inertials and friction."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.robot.arm_export import ArmExport
from ilr_dynamics.robot.moment_rounding import MOMENTS
from ilr_dynamics.robot.moving_bodies import links_fixed_to
from ilr_dynamics.robot.pseudo_inertia import MassDistribution

__all__ = ["exported_urdf", "numbers"]


def exported_urdf(arm: ArmExport, note: str) -> str:
    """
    Return the URDF of an identified arm.

    All that moves with a joint is one body: it is the inertial of the joint's own link, and links
    fixed to that have none. ``<dynamics>`` of each joint holds what it feels while the others
    stand still. URDF has no rotors: their inertia is not in it.

    Parameters
    ----------
    arm : ArmExport
        Identified arm.
    note : str
        Text of a comment at the beginning, without ``--``.

    Returns
    -------
    str
        XML.
    """
    parser = ElementTree.XMLParser(target=ElementTree.TreeBuilder(insert_comments=True))
    root = ElementTree.parse(arm.description.urdf_path, parser).getroot()
    joints = {joint.get("name", ""): joint for joint in root.findall("joint")}
    links = {link.get("name", ""): link for link in root.findall("link")}
    fixed: dict[str, list[str]] = {}
    for joint in joints.values():
        if joint.get("type") == "fixed":
            fixed.setdefault(_link(joint, "parent"), []).append(_link(joint, "child"))
    damping, friction = arm.joint_friction()
    for index, name in enumerate(arm.description.joint_names):
        joint = joints[name]
        own, *others = links_fixed_to(_link(joint, "child"), fixed)
        for other in others:
            _remove(links[other], "inertial")
        _remove(links[own], "inertial")
        links[own].insert(0, _inertial(arm.mass_distributions[index]))
        _remove(joint, "dynamics")
        values = {"damping": _number(damping[index]), "friction": _number(friction[index])}
        ElementTree.SubElement(joint, "dynamics", values)
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0"?>\n<!-- {note} -->\n{text}\n'


def numbers(values: FloatArray) -> str:
    """Return numbers with all their digits, apart from each other by blanks."""
    return " ".join(map(_number, values))


def _number(value: float) -> str:
    return repr(float(value))


def _link(joint: ElementTree.Element, side: str) -> str:
    element = joint.find(side)
    # `load_description` has checked the file.
    assert element is not None
    return element.get("link", "")


def _remove(parent: ElementTree.Element, tag: str) -> None:
    for element in parent.findall(tag):
        parent.remove(element)


def _inertial(body: MassDistribution) -> ElementTree.Element:
    element = ElementTree.Element("inertial")
    ElementTree.SubElement(element, "origin", {"xyz": numbers(body.centre), "rpy": "0 0 0"})
    ElementTree.SubElement(element, "mass", {"value": _number(body.mass)})
    moments = {name: _number(body.inertia[place]) for name, place in MOMENTS.items()}
    ElementTree.SubElement(element, "inertia", moments)
    return element
