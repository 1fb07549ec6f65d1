# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Reader of waypoint files, and smooth joint motions through the waypoints."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.atomic_file import atomic_writer
from ilr_dynamics.exceptions import FileAccessError, RobotDescriptionError, TrajectoryError
from ilr_dynamics.robot.joint_motion import JointMotion
from ilr_dynamics.robot.yaml_config import read_yaml

__all__ = ["Waypoints", "read_waypoints", "smooth_motion", "write_waypoints"]


class Waypoints(NamedTuple):
    """Joint angles at given times."""

    joint_names: tuple[str, ...]
    """Joints, in the order of the columns."""
    times: FloatArray
    """Strictly increasing times [s], shape (n,)."""
    positions: FloatArray
    """Joint angles [rad], shape (n, n_joints)."""


def read_waypoints(path: str | Path) -> Waypoints:
    """
    Read waypoints from a CSV or YAML file.

    A CSV file has the header ``time,<joint>,<joint>,...`` and a row for each waypoint; lines that
    begin with ``#`` are comments. A YAML file has ``joint_names`` and ``points``, each with
    ``time_from_start`` and ``positions``.

    Parameters
    ----------
    path : str or Path
        Path of the file; the suffix determines the format.

    Returns
    -------
    Waypoints

    Raises
    ------
    TrajectoryError
        If the file cannot be read, holds fewer than two waypoints, or its times do not strictly
        increase.
    """
    path = Path(path).expanduser()
    try:
        names, rows = _rows_of_csv(path) if path.suffix == ".csv" else _rows_of_yaml(path)
        table = np.array(rows, dtype=np.float64)
    except (OSError, KeyError, TypeError, ValueError, RobotDescriptionError) as error:
        raise TrajectoryError(f"{path}: no waypoints can be read: {error!r}") from error
    if table.ndim != 2 or table.shape[0] < 2 or table.shape[1] != len(names) + 1:
        raise TrajectoryError(
            f"{path}: waypoints have shape {table.shape}, expected at least two rows of a time "
            f"and {len(names)} joint angles"
        )
    if not np.isfinite(table).all():
        raise TrajectoryError(f"{path}: a waypoint is not finite")
    if not (np.diff(table[:, 0]) > 0).all():
        raise TrajectoryError(
            f"{path}: times are {table[:, 0].tolist()}, expected them to strictly increase"
        )
    return Waypoints(tuple(names), table[:, 0], table[:, 1:])


def write_waypoints(path: str | os.PathLike[str], waypoints: Waypoints, note: str) -> None:
    """
    Write waypoints as a CSV file that `read_waypoints` reads.

    Parameters
    ----------
    path : str or path-like
        File to create or replace.
    waypoints : Waypoints
    note : str
        What it is: one line of comment at the top.

    Raises
    ------
    FileAccessError
        If it cannot be written.
    """
    text = io.StringIO()
    text.write(f"# {' '.join(note.split())}\n")
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["time", *waypoints.joint_names])
    for time, position in zip(waypoints.times, waypoints.positions, strict=True):
        table.writerow([f"{time:.6g}", *(f"{angle:.7g}" for angle in position)])
    try:
        with atomic_writer(path) as file:
            file.write(text.getvalue().encode())
    except OSError as error:
        raise FileAccessError(f"cannot write {os.fspath(path)}: {error}") from error


def smooth_motion(waypoints: Waypoints, rate: float) -> JointMotion:
    """
    Return a smooth motion through waypoints, from rest to rest.

    Parameters
    ----------
    waypoints : Waypoints
        Joint angles and times.
    rate : float
        Knots per second [Hz].

    Returns
    -------
    JointMotion
        Knots on a cubic spline, with times from the first waypoint, up to the last waypoint.

    Raises
    ------
    TrajectoryError
        If the rate is not positive.
    """
    if not rate > 0:
        raise TrajectoryError(f"knot rate is {rate} Hz, expected a positive number")
    times = waypoints.times - waypoints.times[0]
    spline = scipy.interpolate.CubicSpline(times, waypoints.positions, bc_type="clamped")
    knots = np.linspace(0.0, times[-1], max(round(times[-1] * rate), 1) + 1)
    return JointMotion(knots, spline(knots), spline(knots, 1), spline(knots, 2))


def _rows_of_csv(path: Path) -> tuple[list[str], list[list[str]]]:
    with path.open(newline="", encoding="utf-8") as file:
        lines = (line for line in file if not line.startswith("#"))
        header, *rows = [row for row in csv.reader(lines) if row]
    time, *names = [word.strip() for word in header]
    if time != "time":
        raise ValueError(f"first column is '{time}', expected 'time'")
    return names, rows


def _rows_of_yaml(path: Path) -> tuple[list[str], list[list[float]]]:
    content = read_yaml(path)
    rows = [[point["time_from_start"], *point["positions"]] for point in content["points"]]
    return list(content["joint_names"]), rows
