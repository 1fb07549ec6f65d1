# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Decoder and encoder of sensor_msgs/JointState: CDR to arrays in a given order of joints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rosbags.serde import SerdeError
from rosbags.typesys import Stores, get_typestore
from rosbags.typesys.store import Typestore

from ilr_dynamics.arrays import IndexArray
from ilr_dynamics.exceptions import RecordingError
from ilr_dynamics.recording.joint_state_block import JointStateBlock
from ilr_dynamics.recording.joint_state_layout import FIELDS, JointStateLayout
from ilr_dynamics.recording.rejection import Rejection

__all__ = [
    "JOINT_STATE",
    "JointStateDecoder",
    "encode_joint_state",
    "typestore",
]

JOINT_STATE = "sensor_msgs/msg/JointState"

NANOSECONDS = 1_000_000_000

# Largest number of layouts per message size (one per publisher), and of sizes with stored layouts.
MAX_LAYOUTS, MAX_SIZES = 8, 64
# Largest number of messages that are decoded one by one, at some 40 us each.
MAX_ALONE = 1_000_000


@cache
def typestore() -> Typestore:
    """Return the definitions of ROS 2's messages, loaded on first use: that is slow."""
    return get_typestore(Stores.ROS2_JAZZY)


class JointStateDecoder:
    """
    Decoder of messages, block by block, that reuses the layouts found so far.

    Parameters
    ----------
    joints : sequence of str
        Order of the columns.

    Attributes
    ----------
    names : tuple of str
        Names of the joints in the first readable message.
    """

    def __init__(self, joints: Sequence[str]) -> None:
        self.names: tuple[str, ...] = ()
        self._order = _JointOrder(joints)
        self._n_joints = len(joints)
        self._layouts: dict[int, list[JointStateLayout]] = {}
        self._any_read = False
        self._n_alone = 0

    def decode(self, messages: Sequence[bytes]) -> JointStateBlock:
        """
        Decode the next messages.

        Parameters
        ----------
        messages : sequence of bytes
            CDR of each message.

        Returns
        -------
        JointStateBlock

        Raises
        ------
        RecordingError
            If too many messages so far share no layout with others.
        """
        # A value too large for 32 bits becomes infinite, for which the message is rejected.
        with np.errstate(over="ignore"):
            return self._decode(messages)

    def _decode(self, messages: Sequence[bytes]) -> JointStateBlock:
        block = JointStateBlock(len(messages), self._n_joints)
        alone = self._decode_by_layout(messages, block)
        self._n_alone += len(alone)
        if self._n_alone > MAX_ALONE:
            raise RecordingError(
                f"more than {MAX_ALONE} joint states are unreadable, or each has another layout; "
                "expected those of a few publishers"
            )
        for row in alone:
            self._decode_one(messages[row], row, block)
        if not self._any_read:
            self._set_names(messages, block)
        return block

    def _set_names(self, messages: Sequence[bytes], block: JointStateBlock) -> None:
        """Set the names to those of the first readable message."""
        readable = np.flatnonzero(block.rejection(()) != Rejection.UNREADABLE)
        if readable.size:
            message: Any = typestore().deserialize_cdr(messages[int(readable[0])], JOINT_STATE)
            self.names, self._any_read = tuple(message.name), True

    def _decode_by_layout(self, messages: Sequence[bytes], block: JointStateBlock) -> list[int]:
        """Decode messages that share a layout; return the rows of the others."""
        by_size: dict[int, list[int]] = {}
        for row, size in enumerate(map(len, messages)):
            by_size.setdefault(size, []).append(row)
        alone: list[int] = []
        for size, rows in by_size.items():
            joined = b"".join([messages[row] for row in rows])
            table = np.frombuffer(joined, dtype=np.uint8).reshape(len(rows), size)
            alone += self._decode_table(np.array(rows), table, messages, block)
        return alone

    def _decode_table(
        self,
        rows: IndexArray,
        data: NDArray[np.uint8],
        messages: Sequence[bytes],
        block: JointStateBlock,
    ) -> list[int]:
        """Decode messages of one size, by known layouts and at most a few new ones."""
        size = data.shape[1]
        layouts = self._known_layouts(size)
        left = np.ones(len(rows), dtype=bool)
        known = 0
        while left.any():
            if known == len(layouts):
                found = None
                if known < MAX_LAYOUTS:
                    found = JointStateLayout.of(messages[int(rows[np.argmax(left)])])
                    # It takes as long as decoding one message, so it counts towards the limit.
                    self._n_alone += 1
                if found is None:
                    break
                layouts.append(found)
            layout = layouts[known]
            known += 1
            matched = left & layout.matching(data)
            if matched.any():
                left &= ~matched
                every = matched.all()
                self._decode_rows(
                    layout,
                    rows if every else rows[matched],
                    data if every else data[matched],
                    block,
                )
        return [int(row) for row in rows[left]]

    def _known_layouts(self, size: int) -> list[JointStateLayout]:
        """Layouts found so far of messages of this size."""
        if size not in self._layouts and len(self._layouts) == MAX_SIZES:
            self._layouts.clear()
        return self._layouts.setdefault(size, [])

    def _decode_rows(
        self,
        layout: JointStateLayout,
        rows: IndexArray,
        data: NDArray[np.uint8],
        block: JointStateBlock,
    ) -> None:
        """Decode messages of one layout, data (n, size)."""
        seconds, nanoseconds = layout.stamps(data).T
        block.stamp[rows] = seconds * NANOSECONDS + nanoseconds
        columns = self._order.columns(list(layout.names))
        if columns is None:
            block.reject(rows, Rejection.OTHER_JOINTS)
            return
        counts = {field: count for field, (_, count) in layout.places.items()}
        for field in block.check_sizes(rows, len(layout.names), counts):
            block.fields[field][rows] = layout.values(data, field)[:, columns]

    def _decode_one(self, data: bytes, row: int, block: JointStateBlock) -> None:
        message = _deserialised(data)
        if message is None:
            block.reject(row, Rejection.UNREADABLE)
            return
        block.stamp[row] = message.header.stamp.sec * NANOSECONDS + message.header.stamp.nanosec
        columns = self._order.columns(list(message.name))
        if columns is None:
            block.reject(row, Rejection.OTHER_JOINTS)
            return
        counts = {field: len(getattr(message, field)) for field in FIELDS}
        for field in block.check_sizes(row, len(message.name), counts):
            block.fields[field][row] = getattr(message, field)[columns]


def _deserialised(data: bytes) -> Any | None:
    """Return the joint state in a CDR; None if it cannot be decoded."""
    try:
        return typestore().deserialize_cdr(data, JOINT_STATE)
    except (SerdeError, IndexError, MemoryError):
        return None


class _JointOrder:
    """
    Columns of the joints in a message, cached for messages with the same names.

    A message that names a joint twice is not usable, as in the controller.
    """

    def __init__(self, joints: Sequence[str]) -> None:
        self._joints = list(joints)
        self._names: list[str] | None = None
        self._columns: IndexArray | None = None

    def columns(self, names: list[str]) -> IndexArray | None:
        """Return the columns of the joints in a message with these names; None if one lacks."""
        if names != self._names:
            place = {name: column for column, name in enumerate(names)}
            complete = len(place) == len(names) and place.keys() >= set(self._joints)
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
        Values in rad, rad/s and Nm; empty: not known.

    Returns
    -------
    bytes
        CDR, little endian.
    """
    types = typestore().types
    seconds, nanoseconds = divmod(int(stamp), NANOSECONDS)
    time = types["builtin_interfaces/msg/Time"](sec=seconds, nanosec=nanoseconds)
    message = types[JOINT_STATE](
        header=types["std_msgs/msg/Header"](stamp=time, frame_id=""),
        name=list(names),
        position=np.ascontiguousarray(position, dtype=np.float64),
        velocity=np.ascontiguousarray(velocity, dtype=np.float64),
        effort=np.ascontiguousarray(effort, dtype=np.float64),
    )
    return bytes(typestore().serialize_cdr(message, JOINT_STATE, little_endian=True))
