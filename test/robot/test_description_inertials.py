# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Arms whose inertials no body has, and those that published rounding alone makes so."""

from __future__ import annotations

import re

import mujoco
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ilr_dynamics.exceptions import RobotDescriptionError
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.mujoco_model import build_mujoco_model
from ilr_dynamics.robot.rigid_body import RigidBodyModel

MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
SOUND = {"mass": "2.0", "ixx": "0.02", "iyy": "0.03", "izz": "0.04"}
SHAPE = '<visual><geometry><sphere radius="0.1"/></geometry></visual>'
UNREADABLE = ["8,0", "${m2}", "", "x", "nan", "inf", "-inf", "1e999", "8.0 ", "1_0", "0x8", "8 0"]


def inertial(origin="0 0 0.1", **changes):
    """An inertial with some numbers changed; None leaves one out."""
    numbers = dict.fromkeys(MOMENTS, "0") | SOUND | changes
    mass = numbers.pop("mass")
    given_ = " ".join(f'{name}="{text}"' for name, text in numbers.items() if text is not None)
    value = "" if mass is None else f'<mass value="{mass}"/>'
    return f'<inertial><origin xyz="{origin}"/>{value}<inertia {given_}/></inertial>'


def frame(name, parent, content=""):
    """A link that a fixed joint hangs on another."""
    return (
        f'<link name="{name}">{content}</link><joint name="{name}_fixed" type="fixed">'
        f'<parent link="{parent}"/><child link="{name}"/></joint>'
    )


def moved(name, parent, content):
    """A link that a revolute joint hangs on another."""
    return (
        f'<link name="{name}">{content}</link><joint name="to_{name}" type="revolute">'
        f'<parent link="{parent}"/><child link="{name}"/><origin xyz="0 0 0.3"/>'
        '<axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="5" velocity="2"/></joint>'
    )


@pytest.fixture(scope="session")
def arm(tmp_path_factory):
    """Load an arm of two links, with something on them or instead of their inertials."""
    path = tmp_path_factory.mktemp("arm") / "arm.urdf"

    def load(more="", upper=None, lower=None, base="", tool_frame=""):
        links = moved("upper", "base", inertial() if upper is None else upper)
        links += moved("lower", "upper", inertial() if lower is None else lower)
        path.write_text(f'<robot name="arm"><link name="base">{base}</link>{links}{more}</robot>')
        return load_description(path, tool_frame)

    return load


@pytest.mark.parametrize("number", ["mass", *MOMENTS])
@pytest.mark.parametrize("text", [*UNREADABLE, None])
def test_numbers_that_cannot_be_read_are_refused(arm, number, text):
    found = f"no {number}" if text is None else f"{number}='{text}'"
    words = f"arm.urdf: link 'upper' has {re.escape(found)}.*expected a finite number"
    with pytest.raises(RobotDescriptionError, match=words):
        arm(upper=inertial(**{number: text}))


@pytest.mark.parametrize("text", ["0 0,1 0", "${x} 0 0", "0 0", "nan 0 0"])
def test_centres_of_mass_that_cannot_be_read_are_refused(arm, text):
    words = f"link 'lower' has the origin xyz='{re.escape(text)}'.*expected three"
    with pytest.raises(RobotDescriptionError, match=words):
        arm(lower=inertial(origin=text))


@given(st.floats(1e-3, 200.0), st.sampled_from(["{!r}", "{:.3f}", "{:e}", "+{!r}", " {!r}"]))
def test_numbers_that_can_be_read_are_those_of_the_model(arm, mass, form):
    text = form.format(mass)
    loaded = arm(upper=inertial(mass=text))
    assert loaded.warnings == ()
    assert RigidBodyModel(loaded)._model.inertias[1].mass == float(text)


def test_numbers_of_a_link_that_no_joint_carries_are_of_no_account(arm):
    for mass in ("0", "-1", "${m}", None):
        assert arm(base=inertial(mass=mass)).warnings == ()


@given(st.floats(-1e3, -1e-3))
def test_negative_masses_are_refused(arm, mass):
    with pytest.raises(RobotDescriptionError, match=f"'lower' has a mass of {mass:g} kg, expect"):
        arm(lower=inertial(mass=repr(mass)))


def test_moments_without_a_mass_are_refused(arm):
    with pytest.raises(RobotDescriptionError, match="'upper' has a mass of 0 kg.*frame without"):
        arm(upper=inertial(mass="0"))


def test_grams_in_place_of_kilograms_are_a_warning(arm):
    (text,) = arm(lower=inertial(mass="2400")).warnings
    assert "link 'lower' has a mass of 2400 kg, expected 200 kg at most: are these gr" in text


def test_a_mass_that_stands_for_none_is_refused_where_a_joint_moves_no_other(arm):
    with pytest.raises(RobotDescriptionError, match="'to_lower' moves, has a mass of 1e-12 kg"):
        arm(lower=inertial(mass="1e-12"))
    light = inertial(mass="1e-12", ixx="1e-12", iyy="1e-12", izz="1e-12")
    assert arm(more=frame("tool0", "lower", light)).warnings == ()


def test_a_second_inertial_is_refused(arm):
    with pytest.raises(RobotDescriptionError, match="link 'lower' has 2 <inertial>, expected one"):
        arm(lower=inertial() + inertial(mass="30"))


@pytest.mark.parametrize("name", ["ixx", "iyy", "izz"])
@pytest.mark.parametrize("text", ["0", "0.0", "-0.03", "-1e-9"])
def test_moments_that_are_not_positive_are_refused(arm, name, text):
    words = rf"'upper' has {name}={float(text):g} kg m\^2, expected a positive"
    with pytest.raises(RobotDescriptionError, match=words):
        arm(upper=inertial(**{name: text}))


def test_a_mass_without_extent_is_refused(arm):
    with pytest.raises(RobotDescriptionError, match="'camera' has ixx=0 kg"):
        arm(more=frame("camera", "lower", inertial(ixx="0", iyy="0", izz="0")))


EMPTY = inertial(mass="0", ixx="0", iyy="0", izz="0")


@pytest.mark.parametrize("content", ["", EMPTY])
def test_a_joint_that_moves_no_mass_is_refused(arm, content):
    tool = frame("flange", "lower", content) + frame("tool0", "flange", content)
    words = r"'lower', which joint 'to_lower' moves, has no mass, nor have.*\(flange, tool0\)"
    with pytest.raises(RobotDescriptionError, match=words):
        arm(more=tool, lower=content)
    # Between two joints it would be legal, and is more likely a mass that nobody knows.
    with pytest.raises(RobotDescriptionError, match="'upper', which joint 'to_upper' moves"):
        arm(upper=content)


@pytest.mark.parametrize("content", ["", EMPTY])
def test_what_moves_as_one_has_the_mass_of_all_its_links(arm, content):
    more = frame("cover", "lower", inertial()) + frame("tool0", "cover", content)
    loaded = arm(more=more, lower=content)
    assert loaded.warnings == ()
    assert RigidBodyModel(loaded)._model.inertias[2].mass == 2.0
    (text,) = arm(more=more, lower=content + SHAPE).warnings
    assert "link 'lower' has shapes but no mass; joint 'to_lower' moves the mass of cover" in text


def tensors():
    """Inertia tensors of bodies, plates and rods among them."""
    extents = st.tuples(*[st.sampled_from([0.0]) | st.floats(0.01, 1.0)] * 3)

    @st.composite
    def tensor(draw):
        squares = np.array(draw(extents)) ** 2
        assume(np.count_nonzero(squares) >= 2)
        turns = draw(st.lists(st.floats(-3.0, 3.0), min_size=3, max_size=3))
        scale = draw(st.floats(1e-4, 10.0))
        axes = np.linalg.qr(np.array([[1, turns[0], turns[1]], [0, 1, turns[2]], [0, 0, 1.0]]).T)
        moments = scale * (squares.sum() - squares)
        return axes[0] @ np.diag(moments) @ axes[0].T

    return tensor()


def texts(tensor, form):
    rows, columns = (0, 0, 0, 1, 1, 2), (0, 1, 2, 1, 2, 2)
    return {
        name: form.format(value)
        for name, value in zip(MOMENTS, tensor[rows, columns], strict=True)
    }


@given(tensors(), st.sampled_from(["{!r}", "{:.8f}", "{:.5f}", "{:.4e}", "{:.6g}", "{:.4g}"]))
def test_what_rounding_makes_of_a_body_is_never_refused(arm, tensor, form):
    form = form.replace("{!r}", "{:.17g}")
    # Below the last decimal nothing is left of a moment.
    assume(tensor.diagonal().min() > 1e-4)
    loaded = arm(upper=inertial(**texts(tensor, form)))
    shown = " ".join(loaded.warnings)
    assert shown == "" or ("'upper' has the principal moments" in shown and "rounding" in shown)
    model = build_mujoco_model(loaded, timestep=0.001)
    written = RigidBodyModel(loaded)._model.inertias[1].inertia
    simulated = np.sort(model.body_inertia[model.body("upper").id])
    expected = np.linalg.eigvalsh(written)
    # MuJoCo's moments are changed by no more than they miss its condition by.
    missed = max(0.0, expected[2] - expected[0] - expected[1])
    np.testing.assert_allclose(simulated, expected, rtol=0.0, atol=missed + 1e-5 * expected[2])


@given(st.floats(0.01, 1.0), st.floats(0.01, 1.0), st.floats(1.02, 10.0))
def test_a_moment_beyond_the_sum_of_the_others_is_refused(arm, first, second, factor):
    third = factor * (first + second)
    moments = {"ixx": f"{first:.5f}", "iyy": f"{third:.5f}", "izz": f"{second:.5f}"}
    with pytest.raises(
        RobotDescriptionError, match=r"'lower' has the.*sum of the other two; they"
    ):
        arm(lower=inertial(**moments))


@pytest.mark.parametrize(
    ("moments", "refused"),
    [
        (("0.0102", "0.0102", "0.0205"), False),
        (("0.0102", "0.0102", "0.0206"), True),
        # By significant digits.
        (("0.01021", "0.0003411", "0.01056"), False),
        (("0.01021", "0.0003411", "0.01058"), True),
        # Zeros at the end are lost: 0.05 is 0.050.
        (("0.05", "0.022", "0.022"), True),
        (("0.05", "0.0249", "0.0250"), False),
    ],
)
def test_the_digits_given_say_what_rounding_explains(arm, moments, refused):
    content = inertial(**dict(zip(("ixx", "iyy", "izz"), moments, strict=True)))
    if refused:
        with pytest.raises(RobotDescriptionError, match="rounding explains .* at most"):
            arm(upper=content)
        return
    loaded = arm(upper=content)
    (text,) = loaded.warnings
    assert "arm.urdf: link 'upper' has the principal moments of inertia" in text
    assert isinstance(build_mujoco_model(loaded, timestep=0.001), mujoco.MjModel)


@given(st.floats(1.02, 10.0), st.sampled_from(["ixy", "ixz", "iyz"]))
def test_tensors_that_are_not_positive_definite_are_refused(arm, factor, product):
    moments = {"ixx": "0.02000", "iyy": "0.02000", "izz": "0.02000"}
    with pytest.raises(RobotDescriptionError, match="'upper' has the.*expected all positive"):
        arm(upper=inertial(**moments, **{product: f"{0.02 * factor:.5f}"}))


CAMERA = frame("camera", "lower", inertial())


@pytest.mark.parametrize(
    ("more", "tool", "reason"),
    [
        (frame("base_frame", "base") + frame("tool0", "lower"), "tool0", ""),
        (frame("eye", "upper", inertial()) + frame("tip", "lower"), "tip", ""),
        (frame("tcp", "lower") + frame("tool0", "lower"), "tool0", "by its name"),
        (frame("b", "lower") + frame("flange", "lower"), "flange", "by its name"),
        (frame("b", "lower") + frame("a", "lower"), "a", "the first by name"),
        (frame("tool0", "lower") + CAMERA, "camera", "the only one with mass"),
        # Mass before the ends part is that of both.
        (CAMERA + frame("b", "camera") + frame("a", "camera"), "a", "the first by name"),
        (CAMERA + frame("b", "camera") + frame("a", "lower"), "b", "the only one with mass"),
        (CAMERA + frame("hand", "lower", inertial()), "camera", "the first by name"),
    ],
)
def test_of_several_ends_one_is_taken_and_all_are_named(arm, more, tool, reason):
    loaded = arm(more=more)
    assert loaded.tool_frame == tool
    assert len(loaded.warnings) == bool(reason)
    for text in loaded.warnings:
        assert f"taken as the tool frame is '{tool}', {reason}; set the parameter" in text
    assert arm(more=more, tool_frame=tool).warnings == ()


def test_the_tool_frame_can_be_set_to_a_link_that_a_joint_carries(arm):
    more = frame("b", "lower") + frame("a", "lower")
    assert arm(more=more, tool_frame="b").tool_frame == "b"
    for name in ("hand", "base"):
        with pytest.raises(
            RobotDescriptionError, match=f"'{name}' .*tool_frame.* upper, lower, b"
        ):
            arm(more=more, tool_frame=name)


@given(st.permutations(["flange", "tool0", "tcp", "camera"]))
def test_the_choice_does_not_depend_on_the_order_of_the_file(arm, names):
    assert arm(more="".join(frame(name, "lower") for name in names)).tool_frame == "tool0"


def test_a_second_moving_branch_is_refused_with_its_joints(arm):
    with pytest.raises(RobotDescriptionError, match="branch .to_upper, to_lower, to_finger."):
        arm(more=moved("finger", "upper", inertial()))
