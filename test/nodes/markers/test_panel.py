# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The panel beside the arm: what is written where, and that it can be read."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from _marker_view import read_view
from hypothesis import given, settings
from hypothesis import strategies as st
from known_states import some_state
from matplotlib.font_manager import findSystemFonts
from PIL import ImageFont
from visualization_msgs.msg import Marker

from ilr_dynamics.nodes.markers import palette, torque_panel
from ilr_dynamics.nodes.markers.arm_markers import ARM
from ilr_dynamics.nodes.markers.panel_place import WIDTH, PanelPlace, estimated_width
from ilr_dynamics.nodes.markers.picture import Picture
from ilr_dynamics.nodes.markers.status_panel import headline, status_lines
from ilr_dynamics.nodes.markers.torque_panel import bar_share, joint_labels, number_text
from ilr_dynamics.nodes.markers.uncertainty import std_colour
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.rigid_body import RigidBodyModel
from ilr_dynamics_msgs.msg import ControllerState

CONFIG = Path(__file__).parents[3] / "config" / "wam_tracking.rviz"
MODELS = {robot: RigidBodyModel(load_description(robot)) for robot in ("wam4", "wam7")}
LONGEST = 30
# Letters are as high in heights of the text, and these are above and below the middle of capitals.
LETTERS = 0.62
names = st.text(max_size=40)
# A whole picture is made of each.
some = settings(max_examples=25)
shares = st.floats(0.0, 1.0)
torques = st.floats(-1e3, 1e3)


@st.composite
def states(draw, n_joints):
    def vector(elements):
        return np.array(draw(st.lists(elements, min_size=n_joints, max_size=n_joints)))

    return replace(
        some_state(n_joints),
        mode=draw(st.integers(1, 4)),
        controller=draw(st.sampled_from(["pd", "analytic", "ilr"])),
        model=draw(names),
        gate=draw(shares),
        loop_time=draw(st.floats(0.0, 0.5)),
        measured=vector(st.floats(-2.0, 2.0)),
        total=vector(torques),
        feedforward=vector(torques),
        feedback=vector(torques),
        std=vector(st.floats(0.0, 200.0)),
    )


def picture(robot, name="", prefix=""):
    model = MODELS[robot]
    joints = [f"{prefix}{joint}" for joint in model.description.joint_names]
    return Picture(model, joints, prefix, f"{prefix}base", name, [])


def shown(robot, state, name=""):
    """Everything at once, as RViz has it after a second."""
    made = picture(robot, name)
    for time in (0.0, 0.1, 0.2):
        made.add(time, state, 6.0, 0.01)
    return [
        *made.arm(state.measured),
        *made.moving(state),
        *made.read(state.mode, state),
        *made.fixed(),
    ]


def texts(markers):
    return [marker for marker in markers if marker.type == Marker.TEXT_VIEW_FACING]


def position(marker):
    point = marker.pose.position
    return np.array([point.x, point.y, point.z])


def box(marker, view):
    """Left, lower, right and upper end of a text's letters in the plane of the picture, m."""
    right, up, _ = view.camera.axes @ position(marker)
    half = 0.5 * estimated_width(marker.text) * marker.scale.z
    above = 0.34 * marker.scale.z
    return (
        right - half,
        up + above - LETTERS * marker.scale.z,
        right + half,
        up + above + LETTERS * marker.scale.z,
    )


@pytest.fixture(scope="module")
def view():
    return read_view(CONFIG, (1040, 800))


@pytest.mark.parametrize("robot", MODELS)
@some
@given(data=st.data())
def test_texts_are_short_lines_that_rviz_can_show(robot, data):
    state = data.draw(states(MODELS[robot].n_joints))
    for marker in texts(shown(robot, state, data.draw(names))):
        assert 0 < len(marker.text) <= LONGEST
        assert all(" " <= letter <= "~" for letter in marker.text)
        # RViz would draw several spaces, and those of a text without a width, metres wide.
        assert "  " not in marker.text
        assert 0.2 < marker.scale.x / marker.scale.z < 0.6


@pytest.mark.parametrize("robot", MODELS)
@some
@given(data=st.data())
def test_nothing_overlaps_and_all_is_in_the_panel(robot, data, view):
    state = data.draw(states(MODELS[robot].n_joints))
    boxes = {
        marker.text: box(marker, view) for marker in texts(shown(robot, state, data.draw(names)))
    }
    for (one, a), (other, b) in combinations(boxes.items(), 2):
        apart = a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
        assert apart, f"{one!r} and {other!r}"
    left, right = min(a[0] for a in boxes.values()), max(a[2] for a in boxes.values())
    assert right - left <= 1.03 * WIDTH


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (0.0999, "99.9 mm"),
        (0.09996, "100 mm"),
        (0.9994, "999 mm"),
        (0.9996, "1.00 m"),
        (1.084, "1.08 m"),
    ],
)
def test_an_error_has_three_digits(error, text):
    assert status_lines(some_state(4), error)[2][0] == f"error {text}"


@pytest.mark.parametrize("size", [(1040, 800), (1280, 800), (1920, 1080)])
@pytest.mark.parametrize("robot", MODELS)
def test_the_panel_is_in_the_default_view_and_large_enough(robot, size):
    camera = read_view(CONFIG, size).camera
    n_joints = MODELS[robot].n_joints
    for marker in texts(shown(robot, some_state(n_joints), "left")):
        column, row, depth = camera.project(position(marker))
        metre = camera.scale / depth
        half = 0.5 * estimated_width(marker.text) * marker.scale.z * metre
        # Up to a letter's width of the estimate, which is rounded up.
        assert -10.0 < column - half < column + half < 0.7 * size[0]
        assert 0.0 < row - marker.scale.z * metre < row + marker.scale.z * metre < size[1]
        # Capitals of 3.5 mm on a screen of 24 inches with 1080 rows.
        assert 1.2 * marker.scale.z * metre > 12.0 * size[1] / 800.0


@pytest.mark.parametrize("robot", MODELS)
def test_no_posture_hides_the_panel(robot, view):
    model, random = MODELS[robot], np.random.default_rng(0)
    limits = model.description.position_lower, model.description.position_upper
    towards = view.camera.axes[2]
    plane = min(
        towards @ position(text) for text in texts(shown(robot, some_state(model.n_joints)))
    )
    thickness = 0.05
    for posture in random.uniform(*limits, (300, model.n_joints)):
        assert (model.arm_points(posture) @ towards).max() + thickness < plane


@pytest.mark.parametrize("robot", MODELS)
def test_the_panel_faces_the_default_view(robot, view):
    markers = texts(shown(robot, some_state(MODELS[robot].n_joints)))
    depths = [view.camera.axes[2] @ position(marker) for marker in markers]
    np.testing.assert_allclose(depths, depths[0], atol=1e-9)


def test_other_arms_get_a_panel_of_their_size():
    small, large = (PanelPlace("base", reach) for reach in (0.5, 2.0))
    np.testing.assert_allclose(4.0 * small.point(0.3, 0.2), large.point(0.3, 0.2))
    heights = [place.text("status", 0, (0.0, 0.0), 0.1).scale.z for place in (small, large)]
    assert heights[1] == pytest.approx(4.0 * heights[0])


@some
@given(data=st.data())
def test_every_marker_has_a_name_of_its_own_and_is_forgotten(data):
    markers = shown("wam4", data.draw(states(4)))
    identities = [(marker.ns, marker.id) for marker in markers]
    assert len(set(identities)) == len(identities)
    assert all(marker.lifetime.sec > 1 for marker in markers)
    assert {marker.header.frame_id for marker in markers} == {"base"}


@some
@given(data=st.data())
def test_bars_point_as_torques_do_and_end_at_the_limit(data, view):
    state = data.draw(states(4))
    limits = MODELS["wam4"].description.torque_limit
    markers = shown("wam4", state)
    bars = [marker for marker in markers if marker.ns == torque_panel.BARS]
    scale = next(m for m in markers if m.ns == torque_panel.SCALE and m.type == Marker.LINE_LIST)
    ticks = [view.camera.axes[0] @ [p.x, p.y, p.z] for p in scale.points]
    half = 0.5 * (max(ticks) - min(ticks))
    for bar, torque in zip(bars, (state.total, state.feedforward, state.feedback), strict=True):
        ends = np.array([view.camera.axes[0] @ [p.x, p.y, p.z] for p in bar.points])
        lengths = (ends[1::2] - ends[::2]) / half
        expected = np.sign(torque) * np.sqrt(np.minimum(np.abs(torque) / limits, 1.0))
        np.testing.assert_allclose(lengths, expected, atol=0.0101)
        np.testing.assert_array_equal(
            np.sign(lengths)[torque != 0.0], np.sign(torque[torque != 0.0])
        )
        assert (np.abs(lengths) > 0.0).all()
        red = [colour.r > 0.9 and colour.g < 0.5 for colour in bar.colors[::2]]
        np.testing.assert_array_equal(red, np.abs(torque) >= 0.95 * limits)


def test_a_hundredth_of_the_limit_has_a_tenth_of_a_bar():
    np.testing.assert_allclose(
        bar_share(np.array([0.01, -0.25, 1.0, -3.0, 0.0]), np.ones(5)), [0.1, -0.5, 1.0, -1.0, 0.0]
    )


@pytest.mark.parametrize(
    ("torque", "limit", "text"),
    [
        (-12.34, 77.0, "-12.3"),
        (-0.04, 77.0, "0.0"),
        (-120.6, 160.0, "-121"),
        (1.234, 5.0, "1.23"),
        (-12.34, 5.0, "-12.3"),
        (0.0, 5.0, "0.00"),
    ],
)
def test_numbers_have_the_digits_that_matter(torque, limit, text):
    assert number_text(torque, limit) == text


def test_joints_have_short_names_without_the_prefix():
    assert joint_labels(["left_j1", "left_j2"], "left_") == ["j1", "j2"]
    assert joint_labels(["wam/YawJoint", "wam/ElbowJoint"], "") == ["1", "2"]


def lines(**changes):
    return [text for text, _ in status_lines(replace(some_state(4), **changes), 0.00321)]


def test_one_glance_tells_what_runs():
    assert headline(ControllerState.TRACKING, "left") == ("left TRACKING", palette.GOOD)
    assert headline(ControllerState.FAULT, "") == ("FAULT", palette.WRONG)
    assert headline(ControllerState.WAITING, "") == ("WAITING", palette.SUBDUED)
    assert headline(None, "") == ("NO REPORTS", palette.WRONG)
    assert lines() == [
        "analytic + PD",
        "no learned model",
        "error 3.2 mm",
        "no gate",
        "loop 0.40 ms",
    ]
    assert lines(controller="ilr", model="/data/run1.npz", gate=0.756)[:4] == [
        "learned + PD",
        "run1.npz",
        "error 3.2 mm",
        "gate 76 %",
    ]
    assert lines(controller="pd", model="/data/run1.npz")[:2] == ["PD alone", "unused: run1.npz"]


def test_torques_that_answer_no_joint_state_are_told():
    assert lines(loop_time=0.0)[-1] == "no joint states"


def test_the_end_of_a_long_name_is_kept():
    text = lines(controller="ilr", model="/data/a_very_long_name_of_a_recording_7.npz")[1]
    assert text.startswith("..")
    assert text.endswith("recording_7.npz")


def test_only_the_mode_is_told_without_a_state():
    made = picture("wam4", "left")
    (marker,) = made.read(None, None)
    assert marker.text == "left NO REPORTS"


def test_error_is_that_of_the_last_second():
    made, state = picture("wam4"), some_state(4)
    assert made.error == 0.0
    made.add(0.0, state, 6.0, 0.01)
    tools = [MODELS["wam4"].tool_position(q) for q in (state.desired, state.measured)]
    assert made.error == pytest.approx(np.linalg.norm(tools[0] - tools[1]))
    made.add(2.0, replace(state, measured=state.desired), 6.0, 0.01)
    assert made.error == 0.0


def test_uncertainty_is_shown_where_a_learned_model_is_asked():
    state = replace(some_state(4), std=np.array([0.1, 0.1, 8.0, 0.1]))
    made = picture("wam4")
    for learned in (False, True):
        asked = replace(state, controller="ilr", model="m.npz" if learned else "")
        for time in (0.0, 0.1):
            made.add(time, asked, 6.0, 0.01)
        found = [m for m in made.read(asked.mode, asked) if m.ns == "uncertainty along path"]
        assert len(found) == (2 if learned else 0)
    band, text = found
    # A model that is not asked, as in a fault, has no deviations, and is not sure therefore.
    asked = replace(asked, std=np.zeros(4))
    assert "uncertainty along path" not in {m.ns for m in made.read(asked.mode, asked)}
    assert len(band.points) == 2
    assert text.text == "std 8.00 Nm in j3"


def test_uncertainty_goes_from_green_to_red():
    limit = np.array([100.0, 50.0])
    assert std_colour(np.array([0.05, 0.05]), limit) == palette.GOOD
    assert std_colour(np.array([0.1, 0.5]), limit) == pytest.approx(palette.MIDDLING)
    assert std_colour(np.array([10.0, 0.0]), limit) == pytest.approx(palette.WRONG)
    assert std_colour(np.array([1e3, 0.0]), limit) == palette.WRONG


def test_two_arms_differ_in_frame_and_name():
    state = some_state(4)
    made = picture("wam4", "right", "right_")
    markers = [*made.read(state.mode, state), *made.fixed(), *made.moving(state)]
    assert {marker.header.frame_id for marker in markers} == {"right_base"}
    shown_texts = [marker.text for marker in texts(markers)]
    assert shown_texts[0] == "right TRACKING"
    assert {"j1", "j2", "j3", "j4"} <= set(shown_texts)


def test_widths_are_not_less_than_in_rviz():
    fonts = {Path(name).name: name for name in findSystemFonts()}
    if "LiberationSans-Regular.ttf" not in fonts:
        pytest.skip("Liberation Sans is not installed")
    font = ImageFont.truetype(fonts["LiberationSans-Regular.ttf"], 1000)
    for code in range(ord("!"), ord("~") + 1):
        # A cell of letters has 1.15 times the height of the font, and twice that of the text.
        assert estimated_width(chr(code)) >= 2.0 * font.getlength(chr(code)) / 1150.0, chr(code)


def test_the_arm_is_not_part_of_the_panel():
    made = picture("wam4")
    assert {marker.ns for marker in made.arm(np.zeros(4))} == {ARM}
    assert ARM not in {marker.ns for marker in made.fixed()}
