# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Reader of a serialised JointTrajectory, without a Python object for each point.

rclpy needs 10 microseconds and more per point to make a message of Python objects: a long
trajectory would delay the control loop for many cycles. In a trajectory that can be followed all
points have the same fields, so their serialised forms have equal layout and form one array.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.control import JointPath, joint_order
from ilr_dynamics.exceptions import InvalidDataError, TrajectoryError

__all__ = ["read_trajectory"]

_FIELDS = ("positions", "velocities", "accelerations", "effort")
_LITTLE_ENDIAN_CDR = b"\x00\x01"
_MAX_NAMES = 100
_MAX_NAME = 256


def read_trajectory(
    data: bytes, joints: Sequence[str], *, max_points: int, allow_linear: bool = False
) -> tuple[JointPath, float | None]:
    """
    Read a trajectory by joint name.

    Parameters
    ----------
    data : bytes
        Serialised trajectory_msgs/JointTrajectory.
    joints : sequence of str
        All joints of the arm, in the order of the path's columns.
    max_points : int
        Largest number of points.
    allow_linear : bool
        Whether trajectories of positions alone are accepted.

    Returns
    -------
    path : JointPath
        Path through the points.
    start : float or None
        Start time, s; None (a stamp of zero): at once.

    Raises
    ------
    TrajectoryError
        If the message is empty or too long, it has other joints, its fields are incomplete, or
        the path is malformed.
    """
    if data[:2] != _LITTLE_ENDIAN_CDR:
        raise TrajectoryError(
            f"the trajectory is encoded as {data[:2]!r}: expected {_LITTLE_ENDIAN_CDR!r}, CDR "
            "with the low bytes first"
        )
    # Alignment is relative to the end of the four-byte encapsulation header.
    reader = _Reader(data[4:])
    sec, nanosec = reader.numbers("iI")
    reader.text()
    n_names = reader.count("joint names", _MAX_NAMES)
    names = [reader.text() for _ in range(n_names)]
    n_points = reader.count("points", max_points)
    if not n_points:
        raise TrajectoryError(
            "the trajectory is empty: expected at least one point; to stop the arm call ~/stop, "
            "to end a fault ~/hold"
        )
    try:
        order = joint_order(names, joints)
    except InvalidDataError as error:
        raise TrajectoryError(f"the trajectory has {error}") from error
    times, fields = reader.points(n_points)
    for name, field in fields.items():
        if field.shape[1] not in (0, len(joints)):
            raise TrajectoryError(
                f"point 0 has {field.shape[1]} {name}: expected {len(joints)}, one per joint"
            )
    if not fields["positions"].size:
        raise TrajectoryError("the trajectory has no positions: expected one per joint and point")
    if not fields["velocities"].size and not allow_linear:
        raise TrajectoryError(
            "the trajectory has positions alone: expected velocities too, or the parameter "
            "trajectory.allow_linear to be set"
        )
    position, velocity, acceleration = (
        field[:, order] if field.size else None for field in fields.values()
    )
    assert position is not None  # as there are points
    return JointPath(times, position, velocity, acceleration), sec + 1e-9 * nanosec or None


class _Reader:
    """Sequential parser of little-endian CDR; missing data raise a `TrajectoryError`."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._place = 0

    def numbers(self, kinds: str) -> tuple[int, ...]:
        """Read numbers of four bytes each, given by struct's format characters."""
        place = _aligned(self._place, 4)
        self._place = place + 4 * len(kinds)
        self._require(self._place)
        return struct.unpack_from(f"<{kinds}", self._data, place)

    def count(self, kind: str, largest: int) -> int:
        """Read the length of a sequence."""
        (count,) = self.numbers("I")
        if count > largest:
            raise TrajectoryError(f"the trajectory has {count} {kind}: expected at most {largest}")
        return count

    def text(self) -> str:
        """Read a string."""
        size = self.count("bytes in a name", _MAX_NAME)
        start = self._place
        self._place += size
        self._require(self._place)
        return self._data[start : self._place].rstrip(b"\0").decode(errors="replace")

    def points(self, n_points: int) -> tuple[FloatArray, dict[str, FloatArray]]:
        """Read times (n_points,), s, and the fields in use, (n_points, 0 or more), by name."""
        first = self._point()
        blocks = [(first, self._rows(first, 1))]
        if n_points > 1:
            # All points from the second on have equal layout; that of the first may differ by
            # alignment.
            second = self._point(first.sizes)
            rows = self._rows(second, n_points - 1)
            _check_sizes(second, rows)
            self._require(second.begin + (n_points - 1) * second.length)
            blocks.append((second, rows))
        stamps = np.vstack([_columns(rows, at.time, 2, "<i4") for at, rows in blocks])
        fields = {
            name: np.vstack([_columns(r, at.values[k], at.sizes[k], "<f8") for at, r in blocks])
            for k, name in enumerate(_FIELDS[:3])
        }
        return stamps[:, 0] + 1e-9 * stamps[:, 1], fields

    def _point(self, sizes: Sequence[int] | None = None) -> _Point:
        """Find the layout of a point, by its own field sizes or by those it should have."""
        begin = _aligned(self._place, 4)
        found, counts, values = [], [], []
        for k in range(len(_FIELDS)):
            (size,) = self.numbers("I")
            size = size if sizes is None else sizes[k]
            counts.append(self._place - 4 - begin)
            start = _aligned(self._place, 8) if size else self._place
            values.append(start - begin)
            self._place = start + 8 * size
            found.append(size)
        self.numbers("iI")
        time = self._place - 8 - begin
        return _Point(begin, self._place - begin, tuple(found), counts, values, time)

    def _rows(self, point: _Point, n_points: int) -> NDArray[np.uint8]:
        """Return the bytes of at most n_points points of one layout, (n, length)."""
        n = min(n_points, (len(self._data) - point.begin) // point.length)
        size = n * point.length
        return np.frombuffer(self._data, np.uint8, size, point.begin).reshape(n, point.length)

    def _require(self, end: int) -> None:
        if end > len(self._data):
            raise TrajectoryError(
                f"the trajectory has {len(self._data)} bytes: expected {end} or more"
            )


@dataclass(frozen=True)
class _Point:
    """Layout of a point: its begin in the data, and offsets of its parts from there, bytes."""

    begin: int
    length: int
    sizes: tuple[int, ...]
    counts: list[int]
    values: list[int]
    time: int


def _check_sizes(point: _Point, rows: NDArray[np.uint8]) -> None:
    """Refuse points with other field sizes; up to the first of these the layout is equal."""
    counts = np.hstack([_columns(rows, at, 1, "<u4") for at in point.counts])
    other = counts != point.sizes
    if other.any():
        row, k = (int(i) for i in np.argwhere(other)[0])
        raise TrajectoryError(
            f"point {row + 1} has {counts[row, k]} {_FIELDS[k]}: expected {point.sizes[k]}, as "
            "the first point has"
        )


def _columns(rows: NDArray[np.uint8], start: int, n: int, kind: str) -> NDArray[Any]:
    """Return n numbers at the same offset in each row, (len(rows), n)."""
    size = np.dtype(kind).itemsize
    return np.ascontiguousarray(rows[:, start : start + n * size]).view(kind).reshape(len(rows), n)


def _aligned(place: int, size: int) -> int:
    return -(-place // size) * size
