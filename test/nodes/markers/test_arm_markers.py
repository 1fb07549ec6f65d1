# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from known_states import some_state
from visualization_msgs.msg import Marker

from ilr_dynamics.nodes.markers import palette
from ilr_dynamics.nodes.markers.arm_markers import DesiredPoint, arm_markers
from ilr_dynamics.nodes.markers.primitives import pose
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.visual_shapes import visual_shapes


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


def test_ball_has_the_colour_of_the_gate_and_hides_the_tip():
    ball, tool = DesiredPoint("base"), np.array([0.1, 0.2, 0.3])
    state = some_state(4)
    learned = replace(state, controller="ilr", model="/data/model.npz")
    colours = {}
    for name, shown in {
        "trusted": replace(learned, gate=1.0),
        "refused": replace(learned, gate=0.0),
        "no model": replace(learned, model="", gate=1.0),
        "not asked": replace(learned, controller="analytic", gate=1.0),
    }.items():
        colour = ball.fill(shown, tool).color
        colours[name] = tuple(np.round([colour.r, colour.g, colour.b], 6))
    assert colours == {
        "trusted": palette.GOOD,
        "refused": palette.WRONG,
        "no model": palette.SUBDUED,
        "not asked": palette.SUBDUED,
    }
    tip = visual_shapes(load_description("wam4"))[-1]
    assert ball.fill(state, tool).scale.x > tip.size[0]
