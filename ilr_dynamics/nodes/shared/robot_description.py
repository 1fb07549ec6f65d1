# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The URDF that robot_state_publisher has, from the parameter or topic ``robot_description``."""

from __future__ import annotations

import atexit
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rclpy.node import Node
from std_msgs.msg import String

from ilr_dynamics.exceptions import RobotDescriptionError
from ilr_dynamics.nodes.parameters import joints_in_messages
from ilr_dynamics.nodes.shared import qos
from ilr_dynamics.nodes.shared.polled_subscription import PolledSubscription
from ilr_dynamics.scratch_folder import ScratchFolder

__all__ = ["FROM_ROS", "PublishedArm", "of_joints"]

FROM_ROS = "robot_description"
"""Value of the parameter ``robot``, and name of the parameter and the topic."""

# Time to wait for the topic, and between two looks, s.
_TIMEOUT = 5.0
_PAUSE = 0.02
# Longest text, in characters: many times that of a robot with two arms.
_LONGEST = 10_000_000


class PublishedArm:
    """
    Arm of a node whose parameter ``robot`` may be ``robot_description``.

    Parameters
    ----------
    node : Node
        Node with the parameters ``robot`` and ``robot_description``.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._path: Path | None = None
        self._topic: PolledSubscription | None = None
        if node.get_parameter("robot").value == FROM_ROS:
            # Early, as discovery takes a while.
            self._topic = PolledSubscription(node, String, FROM_ROS, qos.LATCHED)

    def forget(self) -> None:
        """Let the next `with_file` use a URDF that was published since the last one."""
        self._path = None

    def with_file(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """
        Return values of all parameters with a file as ``robot``.

        Parameters
        ----------
        values : mapping
            Values of ``robot``, ``robot_description``, ``joints`` and ``prefix``, and any others.

        Returns
        -------
        dict
            The values as they are if ``robot`` is no ``robot_description``; otherwise that is the
            path of a file that exists as long as the process.

        Raises
        ------
        RobotDescriptionError
            If none was published within five seconds, or it is no URDF of these joints.
        """
        if values["robot"] != FROM_ROS:
            return dict(values)
        if self._path is None:
            text = of_joints(values[FROM_ROS] or self._published(), joints_in_messages(values))
            folder = ScratchFolder("ilr_dynamics_")
            atexit.register(folder.close)
            path = folder.path / f"{FROM_ROS}.urdf"
            path.write_text(text)
            self._path = path
        return {**values, "robot": str(self._path)}

    def _published(self) -> str:
        assert self._topic is not None
        deadline = time.monotonic() + _TIMEOUT
        while True:
            for message, _ in self._topic.take():
                return str(message.data)
            if time.monotonic() > deadline:
                raise RobotDescriptionError(
                    f"no URDF on {self._node.resolve_topic_name(FROM_ROS)} within {_TIMEOUT:g} s; "
                    "expected robot_state_publisher to run, or the parameter robot_description"
                )
            time.sleep(_PAUSE)


def of_joints(urdf: str, joints: Sequence[str]) -> str:
    """
    Return a robot's URDF with one arm that moves.

    Parameters
    ----------
    urdf : str
        URDF of a robot, which may have grippers and further arms.
    joints : sequence of str
        Joints of the arm, from base to tool.

    Returns
    -------
    str
        The URDF with all other joints fixed, at position zero, and without their motors. If it
        does not have all of these joints, which then are the names in messages, it is as it was.

    Raises
    ------
    RobotDescriptionError
        If it is no XML or too long, or the joints are in another order.
    """
    if len(urdf) > _LONGEST:
        raise RobotDescriptionError(
            f"{FROM_ROS} has {len(urdf)} characters; expected at most {_LONGEST}"
        )
    try:
        root = ElementTree.fromstring(urdf)
    except ElementTree.ParseError as error:
        raise RobotDescriptionError(f"{FROM_ROS}: not well-formed XML: {error}") from error
    elements = {element.get("name"): element for element in root.findall("joint")}
    if not set(joints) <= set(elements):
        return urdf
    _check_order(elements, joints)
    for name, element in elements.items():
        mimic = element.find("mimic")
        if name not in joints:
            element.set("type", "fixed")
            if mimic is not None:
                element.remove(mimic)
    for motor in root.findall("motor"):
        if not {joint.get("name") for joint in motor.findall("joint")} & set(joints):
            root.remove(motor)
    return ElementTree.tostring(root, encoding="unicode")


def _check_order(
    elements: Mapping[str | None, ElementTree.Element], joints: Sequence[str]
) -> None:
    """Refuse joints that do not follow each other from base to tool."""
    above = {_link(element, "child"): name for name, element in elements.items()}
    for first, second in zip(joints, joints[1:], strict=False):
        name: str | None = second
        # In a loop of links the search ends when all were seen.
        for _ in elements:
            name = above.get(_link(elements[name], "parent"))
            if name is None or name in joints:
                break
        if name != first:
            raise RobotDescriptionError(
                f"parameter joints is {list(joints)}; expected the order from base to tool, but "
                f"in the {FROM_ROS} {second} does not follow {first}"
            )


def _link(joint: ElementTree.Element, side: str) -> str | None:
    element = joint.find(side)
    return None if element is None else element.get("link")
