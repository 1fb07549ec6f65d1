# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Conversion between ROS messages and arrays."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from builtin_interfaces.msg import Duration, Time
from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.control import joint_order
from ilr_dynamics.exceptions import InvalidDataError
from ilr_dynamics.robot.joint_motion import JointMotion

__all__ = [
    "JointStateReader",
    "TorqueCommand",
    "diagnostic_status",
    "seconds",
    "sender",
    "torque_command",
    "trajectory_message",
]


def seconds(stamp: Time | Duration) -> float:
    """Return a stamp or duration in s."""
    return float(stamp.sec + 1e-9 * stamp.nanosec)


def sender(info: Mapping[str, Any]) -> bytes | None:
    """
    Return the identity of a message's publisher; None where the middleware has none.

    Parameters
    ----------
    info : mapping
        Message info by rclpy.
    """
    gid = info.get("publisher_gid")
    return gid["data"] if gid else None


class JointStateReader:
    """
    Converter of joint states, by joint name; the order is cached until the names change.

    Parameters
    ----------
    joints : sequence of str
        Names in the order of the arrays.

    Attributes
    ----------
    stamp : Time or None
        Stamp of the last state that was read.
    """

    def __init__(self, joints: Sequence[str]) -> None:
        self.stamp: Time | None = None
        self._joints = tuple(joints)
        self._names: list[str] | None = None
        self._order: IndexArray = np.arange(0)

    def read(
        self, message: JointState
    ) -> tuple[float, FloatArray, FloatArray | None, FloatArray | None]:
        """
        Convert a joint state.

        Parameters
        ----------
        message : JointState
            Message to convert.

        Returns
        -------
        time : float
            Stamp, s.
        position, velocity, effort : ndarray of shape (n_joints,)
            Values in rad, rad/s and Nm. Velocity or effort is None where the driver measures
            none: it then sends none or, as ros2_control's joint_state_broadcaster, only NaN.

        Raises
        ------
        InvalidDataError
            If a joint is missing or arrays do not fit the names.
        """
        if message.name != self._names:
            self._order = joint_order(message.name, self._joints, allow_extra=True)
            self._names = message.name
        n_names = len(message.name)
        positions, velocities, efforts = message.position, message.velocity, message.effort
        if len(positions) != n_names or len(velocities) not in (0, n_names):
            raise InvalidDataError(
                f"the joint state names {n_names} joints but holds {len(positions)} "
                f"positions and {len(velocities)} velocities: expected {n_names} of each, "
                "or no velocities at all"
            )
        self.stamp = message.header.stamp
        position = np.frombuffer(positions).take(self._order)
        velocity = self._measured(velocities)
        effort = self._measured(efforts) if len(efforts) == n_names else None
        return seconds(self.stamp), position, velocity, effort

    def _measured(self, values: array[float]) -> FloatArray | None:
        if not values:
            return None
        ordered = np.frombuffer(values).take(self._order)
        return None if all(map(math.isnan, ordered.tolist())) else ordered


class TorqueCommand(Protocol):
    """Torque command message that is reused."""

    message: JointState | Float64MultiArray

    def fill(self, stamp: Time, torque: FloatArray) -> None:
        """Set the torque (n_joints,), Nm, and the stamp of the joint state that it answers."""
        ...


def torque_command(interface: str, joints: Sequence[str]) -> TorqueCommand:
    """Return the message for a value of the parameter ``command.interface``."""
    if interface == "joint_state":
        return _JointStateCommand(joints)
    return _MultiArrayCommand(joints)


class _JointStateCommand:
    def __init__(self, joints: Sequence[str]) -> None:
        self.message = JointState(name=list(joints), effort=array("d", [0.0] * len(joints)))
        # A view of the message's memory: writing to it allocates nothing.
        self._effort = np.frombuffer(self.message.effort)

    def fill(self, stamp: Time, torque: FloatArray) -> None:
        self.message.header.stamp = stamp
        self._effort[:] = torque


class _MultiArrayCommand:
    def __init__(self, joints: Sequence[str]) -> None:
        self.message = Float64MultiArray(data=array("d", [0.0] * len(joints)))
        n_joints = len(joints)
        self.message.layout.dim.append(
            MultiArrayDimension(label="joints", size=n_joints, stride=n_joints)
        )
        self._data = np.frombuffer(self.message.data)

    def fill(self, stamp: Time, torque: FloatArray) -> None:
        self._data[:] = torque


def trajectory_message(joints: Sequence[str], motion: JointMotion) -> JointTrajectory:
    """Return a motion as a trajectory message that starts at once."""
    message = JointTrajectory(joint_names=list(joints))
    for time, position, velocity, acceleration in zip(*motion, strict=True):
        sec, nanosec = divmod(round(1e9 * time), 10**9)
        message.points.append(
            JointTrajectoryPoint(
                positions=array("d", position),
                velocities=array("d", velocity),
                accelerations=array("d", acceleration),
                time_from_start=Duration(sec=sec, nanosec=nanosec),
            )
        )
    return message


def diagnostic_status(
    node: str, group: str, hardware: str, status: tuple[bytes, str], values: Mapping[str, str]
) -> DiagnosticStatus:
    """
    Return the status of a part of a node, under a name as diagnostic_updater gives it.

    Parameters
    ----------
    node : str
        Full name of the node.
    group : str
        Part of the node.
    hardware : str
        Identity of the arm.
    status : tuple of bytes and str
        One of DiagnosticStatus's constants, and a short text.
    values : mapping of str to str
        Details.

    Returns
    -------
    DiagnosticStatus
    """
    level, message = status
    return DiagnosticStatus(
        name=f"{node.lstrip('/')}: {group}",
        hardware_id=hardware,
        level=level,
        message=message,
        values=[KeyValue(key=key, value=value) for key, value in values.items()],
    )
