# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""sensor_msgs/JointState: CDR to and from arrays in a given order of joints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rosbags.serde import SerdeError
from rosbags.typesys import Stores, get_typestore

from .joint_state_layout import FIELDS, JointStateLayout

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

# Messages decoded at a time, and layouts of one size that are looked for: of each publisher one.
BLOCK, MAX_LAYOUTS = 4096, 8


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
    n = len(messages)
    decoded = _Decoded(
        np.zeros(n, dtype=np.int64),
        np.zeros(n, dtype=np.uint8),
        {field: np.full((n, len(joints)), np.nan) for field in FIELDS},
        _JointOrder(joints),
        required,
    )
    alone = _decode_alike(messages, decoded)
    for row in alone:
        _decode_one(messages[row], row, decoded)
    rejection, fields = decoded.rejection, decoded.fields
    finite = np.isfinite(np.hstack([fields[field] for field in required])).all(axis=1)
    rejection[(rejection == Rejection.NONE) & ~finite] = Rejection.NOT_FINITE
    places = np.arange(n) if place is None else np.asarray(place, dtype=np.int64)
    return JointSeries(
        decoded.stamp,
        rejection=rejection,
        place=places,
        names=_first_names(messages),
        **fields,
    )


@dataclass
class _Decoded:
    """What is known of the messages so far."""

    stamp: NDArray[np.int64]
    rejection: NDArray[np.uint8]
    fields: dict[str, NDArray[np.float64]]
    order: _JointOrder
    required: Collection[str]

    def take(self, rows: Any, names: Sequence[str], counts: Mapping[str, int]) -> list[str]:
        """Note what is wrong with messages of these names and numbers of values.

        Return the fields whose values can be taken, in the order of `order`.
        """
        if self.order.columns(list(names)) is None:
            self.rejection[rows] = Rejection.OTHER_JOINTS
            return []
        for field in FIELDS:
            if counts[field] != len(names) and field in self.required:
                wrong = Rejection.WRONG_SIZE if counts[field] else Rejection.MISSING_FIELD
                self.rejection[rows] = wrong
        return [field for field in FIELDS if counts[field] == len(names)]


def _decode_alike(messages: Sequence[bytes], decoded: _Decoded) -> list[int]:
    """Decode messages that have a layout in common; return the rows of the others."""
    by_size: dict[int, list[int]] = {}
    for row, data in enumerate(messages):
        by_size.setdefault(len(data), []).append(row)
    alone: list[int] = []
    for size, rows in by_size.items():
        layouts: list[JointStateLayout] = []
        for first in range(0, len(rows), BLOCK):
            block = np.array(rows[first : first + BLOCK])
            joined = b"".join([messages[row] for row in block.tolist()])
            table = np.frombuffer(joined, dtype=np.uint8).reshape(len(block), size)
            alone += _decode_block(block, table, messages, layouts, decoded)
    return alone


def _decode_block(
    rows: NDArray[np.intp],
    data: NDArray[np.uint8],
    messages: Sequence[bytes],
    layouts: list[JointStateLayout],
    decoded: _Decoded,
) -> list[int]:
    """Decode messages of one size, by the layouts known and at most a few new ones."""
    left = np.ones(len(rows), dtype=bool)
    known = 0
    while left.any():
        if known == len(layouts):
            found = None
            if known < MAX_LAYOUTS:
                found = JointStateLayout.of(messages[int(rows[np.argmax(left)])])
            if found is None:
                break
            layouts.append(found)
        layout = layouts[known]
        known += 1
        alike = left & layout.matching(data)
        if not alike.any():
            continue
        left &= ~alike
        chosen = rows[alike]
        seconds, nanoseconds = layout.stamps(data[alike]).T
        decoded.stamp[chosen] = seconds * NANOSECONDS + nanoseconds
        counts = {field: count for field, (_, count) in layout.places.items()}
        for field in decoded.take(chosen, layout.names, counts):
            columns = decoded.order.columns(list(layout.names))
            decoded.fields[field][chosen] = layout.values(data[alike], field)[:, columns]
    return [int(row) for row in rows[left]]


def _decode_one(data: bytes, row: int, decoded: _Decoded) -> None:
    try:
        message: Any = TYPESTORE.deserialize_cdr(data, JOINT_STATE)
    except (SerdeError, IndexError, MemoryError):
        decoded.rejection[row] = Rejection.UNREADABLE
        return
    decoded.stamp[row] = message.header.stamp.sec * NANOSECONDS + message.header.stamp.nanosec
    counts = {field: len(getattr(message, field)) for field in FIELDS}
    for field in decoded.take(row, message.name, counts):
        decoded.fields[field][row] = getattr(message, field)[decoded.order.columns(message.name)]


def _first_names(messages: Sequence[bytes]) -> tuple[str, ...]:
    """Joints of the first message that can be read."""
    for data in messages:
        try:
            message: Any = TYPESTORE.deserialize_cdr(data, JOINT_STATE)
        except (SerdeError, IndexError, MemoryError):
            continue
        return tuple(message.name)
    return ()


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
