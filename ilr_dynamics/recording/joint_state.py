# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""sensor_msgs/JointState: CDR to and from arrays in a given order of joints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rosbags.serde import SerdeError
from rosbags.typesys import Stores, get_typestore

__all__ = [
    "JOINT_STATE",
    "TYPESTORE",
    "JointSeries",
    "Rejection",
    "count_rejections",
    "decode_joint_states",
    "encode_joint_state",
]

JOINT_STATE = "sensor_msgs/msg/JointState"
TYPESTORE = get_typestore(Stores.ROS2_JAZZY)

NANOSECONDS = 1_000_000_000


class Rejection(IntEnum):
    """Why a joint state gives no sample; the lower-case name is what reports show."""

    NONE = 0
    UNREADABLE = 1
    OTHER_JOINTS = 2
    MISSING_FIELD = 3
    WRONG_SIZE = 4
    NOT_FINITE = 5
    WRONG_STAMP = 6
    REPEATED_STAMP = 7
    NO_TORQUE = 8
    SHORT_STRETCH = 9
    FILTER_EDGE = 10
    SATURATED_TORQUE = 11
    STANDING_STILL = 12
    THINNED = 13
    POSITION_JUMP = 14


def count_rejections(reasons: NDArray[np.uint8]) -> Counter[str]:
    """Count the rejections of each kind, leaving out those that did not occur."""
    counts = np.bincount(reasons, minlength=len(Rejection))
    return Counter(
        {
            reason.name.lower(): int(counts[reason])
            for reason in Rejection
            if reason is not Rejection.NONE and counts[reason]
        }
    )


@dataclass(frozen=True)
class JointSeries:
    """
    Joint states of one topic.

    Attributes
    ----------
    stamp : ndarray of shape (n,), int64
        Header stamp, ns.
    position, velocity, effort : ndarray of shape (n, n_joints)
        rad, rad/s, Nm; NaN where the message has no (sound) value.
    rejection : ndarray of shape (n,), uint8
        Why the message cannot be used, as `Rejection`.
    place : ndarray of shape (n,), int64
        Place of the message among all messages in the order in which they were written.
    names : tuple of str
        Joints named by the first readable message.
    """

    stamp: NDArray[np.int64]
    position: NDArray[np.float64]
    velocity: NDArray[np.float64]
    effort: NDArray[np.float64]
    rejection: NDArray[np.uint8]
    place: NDArray[np.int64]
    names: tuple[str, ...]


def decode_joint_states(
    messages: Sequence[bytes],
    joints: Sequence[str],
    required: Collection[str],
    place: ArrayLike | None = None,
) -> JointSeries:
    """
    Decode JointState messages and order their values by joint name.

    Parameters
    ----------
    messages : sequence of bytes
        CDR of each message.
    joints : sequence of str
        Order of the columns.
    required : collection of {"position", "velocity", "effort"}
        Fields without which a message is of no use; the others may be empty.
    place : array_like of shape (n,), optional
        Of each among all messages (`JointSeries.place`); their order if not given.

    Returns
    -------
    JointSeries
    """
    shape = (len(messages), len(joints))
    stamp = np.zeros(len(messages), dtype=np.int64)
    rejection = np.zeros(len(messages), dtype=np.uint8)
    fields = {name: np.full(shape, np.nan) for name in ("position", "velocity", "effort")}
    first_names: tuple[str, ...] = ()
    order = _JointOrder(joints)
    for row, data in enumerate(messages):
        try:
            message: Any = TYPESTORE.deserialize_cdr(data, JOINT_STATE)
        except (SerdeError, IndexError, MemoryError):
            rejection[row] = Rejection.UNREADABLE
            continue
        first_names = first_names or tuple(message.name)
        stamp[row] = message.header.stamp.sec * NANOSECONDS + message.header.stamp.nanosec
        columns = order.columns(message.name)
        if columns is None:
            rejection[row] = Rejection.OTHER_JOINTS
            continue
        for name, values in fields.items():
            found = getattr(message, name)
            if len(found) == len(message.name):
                values[row] = found[columns]
            elif name in required:
                rejection[row] = Rejection.WRONG_SIZE if len(found) else Rejection.MISSING_FIELD
    finite = np.isfinite(np.hstack([fields[name] for name in required])).all(axis=1)
    rejection[(rejection == Rejection.NONE) & ~finite] = Rejection.NOT_FINITE
    places = np.arange(len(messages)) if place is None else np.asarray(place, dtype=np.int64)
    return JointSeries(stamp, rejection=rejection, place=places, names=first_names, **fields)


class _JointOrder:
    """Where the joints asked for stand in a message, remembered between equal messages."""

    def __init__(self, joints: Sequence[str]) -> None:
        self._joints = list(joints)
        self._names: list[str] | None = None
        self._columns: NDArray[np.intp] | None = None

    def columns(self, names: list[str]) -> NDArray[np.intp] | None:
        """Columns of the joints in a message with these names; None if one is missing."""
        if names != self._names:
            place = {name: column for column, name in enumerate(names)}
            complete = place.keys() >= set(self._joints)
            self._columns = np.array([place[j] for j in self._joints]) if complete else None
            self._names = names
        return self._columns


def encode_joint_state(
    stamp: int,
    names: Iterable[str],
    position: ArrayLike = (),
    velocity: ArrayLike = (),
    effort: ArrayLike = (),
) -> bytes:
    """
    Serialise a JointState.

    Parameters
    ----------
    stamp : int
        Header stamp, ns.
    names : iterable of str
        Joint names.
    position, velocity, effort : array_like of shape (n_joints,) or (0,)
        rad, rad/s, Nm; empty where there is nothing to say.

    Returns
    -------
    bytes
        CDR, little endian.
    """
    types = TYPESTORE.types
    seconds, nanoseconds = divmod(int(stamp), NANOSECONDS)
    time = types["builtin_interfaces/msg/Time"](sec=seconds, nanosec=nanoseconds)
    message = types[JOINT_STATE](
        header=types["std_msgs/msg/Header"](stamp=time, frame_id=""),
        name=list(names),
        position=np.asarray(position, dtype=np.float64),
        velocity=np.asarray(velocity, dtype=np.float64),
        effort=np.asarray(effort, dtype=np.float64),
    )
    return bytes(TYPESTORE.serialize_cdr(message, JOINT_STATE, little_endian=True))
