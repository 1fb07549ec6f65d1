# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest

from ilr_dynamics.exceptions import TrajectoryError
from ilr_dynamics.robot.waypoints import Waypoints, read_waypoints, smooth_motion

CSV = "time,a,b\n1.0,0.0,0.5\n2.0,0.1,0.4\n4.0,0.2,0.0\n"
YAML = """
joint_names: [a, b]
points:
  - {time_from_start: 1.0, positions: [0.0, 0.5]}
  - {time_from_start: 2.0, positions: [0.1, 0.4]}
  - {time_from_start: 4.0, positions: [0.2, 0.0]}
"""
WAYPOINTS = Waypoints(
    ("a", "b"), np.array([1.0, 2.0, 4.0]), np.array([[0.0, 0.5], [0.1, 0.4], [0.2, 0.0]])
)


@pytest.mark.parametrize(("suffix", "text"), [(".csv", CSV), (".yaml", YAML)])
def test_both_formats_hold_the_same(tmp_path, suffix, text):
    path = tmp_path / f"points{suffix}"
    path.write_text(text)
    for found, expected in zip(read_waypoints(path), WAYPOINTS, strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("suffix", "text", "words"),
    [
        (".csv", "", "no waypoints"),
        (".csv", "t,a\n0,1\n1,2\n", "first column is 't'"),
        (".csv", "time,a\n0,x\n1,2\n", "no waypoints"),
        (".csv", "time,a\n0,1,2\n1,2\n", "no waypoints"),
        (".csv", "time,a\n0,1\n", "at least two rows"),
        (".csv", "time,a\n0,1\n0,2\n", "strictly increase"),
        (".csv", "time,a\n0,nan\n1,2\n", "not finite"),
        (".yaml", "points: []", "joint_names"),
        (".yaml", "joint_names: [a]\npoints: [{positions: [1]}]", "time_from_start"),
        (".yaml", "joint_names: [a, b]\npoints: 3", "no waypoints"),
    ],
)
def test_bad_files_are_refused(tmp_path, suffix, text, words):
    path = tmp_path / f"points{suffix}"
    path.write_text(text)
    with pytest.raises(TrajectoryError, match=words):
        read_waypoints(path)


def test_comments_of_a_csv_are_passed_over(tmp_path):
    path = tmp_path / "points.csv"
    path.write_text(f"# of a program, for an arm\n{CSV}# the end\n")
    np.testing.assert_array_equal(read_waypoints(path).positions, WAYPOINTS.positions)


def test_missing_file_is_named(tmp_path):
    with pytest.raises(TrajectoryError, match="nowhere.csv"):
        read_waypoints(tmp_path / "nowhere.csv")


def test_motion_passes_the_waypoints_from_rest_to_rest():
    times, q, qd, qdd = smooth_motion(WAYPOINTS, rate=25.0)
    np.testing.assert_allclose(times[[0, 25, -1]], [0.0, 1.0, 3.0])
    np.testing.assert_allclose(q[[0, 25, -1]], WAYPOINTS.positions)
    np.testing.assert_allclose(qd[[0, -1]], 0.0, atol=1e-12)
    assert np.isfinite(qdd).all()


def test_derivatives_are_the_slopes():
    times, q, qd, qdd = smooth_motion(WAYPOINTS, rate=1000.0)
    step = times[1]
    np.testing.assert_allclose(qd[1:-1], (q[2:] - q[:-2]) / (2 * step), atol=1e-5)
    np.testing.assert_allclose(qdd[1:-1], (qd[2:] - qd[:-2]) / (2 * step), atol=1e-3)


def test_rate_must_be_positive():
    with pytest.raises(TrajectoryError, match="knot rate"):
        smooth_motion(WAYPOINTS, rate=-1.0)
