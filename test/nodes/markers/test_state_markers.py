# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest
from ilr_dynamics.nodes.markers.state_markers import Trail, arm_markers, pose
from visualization_msgs.msg import Marker

from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.visual_shapes import visual_shapes


@pytest.fixture
def trail():
    return Trail("desired", "base", (0.1, 0.4, 0.9))


def xs(trail):
    return [stamped.pose.position.x for stamped in trail.path.poses]


def add(trail, *times, history=1.0, spacing=0.0):
    for time in times:
        trail.add(time, np.array([time, 0.0, 0.0]), history, spacing)


def test_pose_turns_and_moves():
    quarter_turn = np.array([[0.0, -1, 0, 1], [1, 0, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]])
    message = pose(quarter_turn)
    assert (message.position.x, message.position.y, message.position.z) == (1.0, 2.0, 3.0)
    assert message.orientation.z == pytest.approx(np.sqrt(0.5))
    assert message.orientation.w == pytest.approx(np.sqrt(0.5))


def test_every_shape_has_a_marker_of_its_own():
    shapes = visual_shapes(load_description("wam4"))
    markers = arm_markers(shapes, "base")
    assert len({(marker.ns, marker.id) for marker in markers}) == len(shapes)
    assert {marker.type for marker in markers} == {Marker.CYLINDER, Marker.SPHERE}
    assert all(marker.header.frame_id == "base" for marker in markers)


def test_trail_forgets_what_is_older_than_its_history(trail):
    add(trail, 0.0, 0.5, 1.0, 1.5)
    assert xs(trail) == [0.5, 1.0, 1.5]


def test_trail_leaves_out_points_that_come_too_soon(trail):
    add(trail, 0.0, 0.01, 0.1, 0.15, 0.2, spacing=0.1)
    assert xs(trail) == [0.0, 0.1, 0.2]


def test_trail_begins_anew_when_time_goes_back(trail):
    add(trail, 5.0, 5.1, 0.0, 0.1)
    assert xs(trail) == [0.0, 0.1]


def test_line_fades_towards_its_old_end(trail):
    add(trail, 0.0, 0.5, 1.0)
    marker = trail.fill_marker()
    assert marker.action == Marker.ADD
    assert [point.x for point in marker.points] == xs(trail)
    np.testing.assert_allclose([colour.a for colour in marker.colors], [0.0, 0.5, 1.0])


def test_single_point_is_no_line(trail):
    add(trail, 0.0)
    assert trail.fill_marker().action == Marker.DELETE
