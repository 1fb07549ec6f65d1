# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest
from visualization_msgs.msg import Marker

from ilr_dynamics.nodes.markers.trails import desired_trail, measured_trail


@pytest.fixture
def trail():
    return desired_trail("base")


def xs(trail):
    return [stamped.pose.position.x for stamped in trail.path.poses]


def add(trail, *times, history=1.0, spacing=0.0, rgb=None):
    for time in times:
        trail.add(time, np.array([time, 0.0, 0.0]), history, spacing, rgb)


def test_trail_forgets_what_is_older_than_its_history(trail):
    add(trail, 0.0, 0.5, 1.0, 1.5)
    assert xs(trail) == [0.5, 1.0, 1.5]


def test_trail_leaves_out_points_that_come_too_soon(trail):
    add(trail, 0.0, 0.01, 0.1, 0.15, 0.2, spacing=0.1)
    assert xs(trail) == [0.0, 0.1, 0.2]


def test_trail_begins_anew_when_time_goes_back(trail):
    add(trail, 5.0, 5.1, 0.0, 0.1)
    assert xs(trail) == [0.0, 0.1]


def test_line_fades_towards_its_old_end_and_is_nowhere_opaque(trail):
    add(trail, 0.0, 0.5, 1.0)
    marker = trail.fill_marker()
    assert marker.action == Marker.ADD
    assert [point.x for point in marker.points] == xs(trail)
    # RViz draws a line that ends opaque without any transparency.
    np.testing.assert_allclose([colour.a for colour in marker.colors], [0.0, 0.495, 0.99])


def test_colours_follow_the_number_of_points(trail):
    add(trail, 0.0, 0.5)
    assert len(trail.fill_marker().colors) == 2
    add(trail, 0.6, 0.7)
    assert len(trail.fill_marker().colors) == 4


def test_points_may_have_colours_of_their_own(trail):
    add(trail, 0.0, 0.1)
    add(trail, 0.2, rgb=(1.0, 0.0, 0.5))
    usual, _, own = trail.fill_marker().colors
    assert (own.r, own.g, own.b) == (1.0, 0.0, 0.5)
    assert (usual.r, usual.g, usual.b) != (1.0, 0.0, 0.5)
    add(trail, 1.15, 1.2, 1.25)
    assert len(trail.fill_marker().colors) == len(trail.path.poses)


def test_single_point_is_no_line(trail):
    add(trail, 0.0)
    assert trail.fill_marker().action == Marker.DELETE


def test_a_measured_path_that_is_the_desired_one_lies_narrow_upon_it(trail):
    measured = measured_trail("base")
    for each in (trail, measured):
        add(each, 0.0, 0.5)
    lower, upper = trail.fill_marker(), measured.fill_marker()
    assert lower.scale.x > 2.0 * upper.scale.x
    assert lower.pose.position.z < upper.pose.position.z
    assert lower.ns != upper.ns
