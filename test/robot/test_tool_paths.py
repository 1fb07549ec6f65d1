# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from ilr_dynamics.exceptions import TrajectoryError
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.rigid_body import RigidBodyModel
from ilr_dynamics.robot.tool_paths import (
    ToolPath,
    figure_eight,
    joint_path,
    resting_posture,
    tool_path,
    tool_path_names,
    training_periods,
)

MODELS = {robot: RigidBodyModel(load_description(robot)) for robot in ("wam4", "wam7")}
MODEL = MODELS["wam4"]


@cache
def followed(name, robot):
    return joint_path(tool_path(name), MODELS[robot], rate=25.0)


def shifted(path, time):
    """Path after its start-up, where the blend is one."""
    return path.position([time])[0]


def test_training_and_test_paths_have_names():
    assert training_periods() == (6.0, 4.5, 3.8, 3.0, 2.6)
    assert tool_path_names() == (
        "train_6", "train_4.5", "train_3.8", "train_3", "train_2.6", "T1", "T2", "T3",
    )  # fmt: skip


@pytest.mark.parametrize("time", [1.5, 2.0, 7.3, 19.9])
def test_paths_follow_their_formulas(time):
    w = 2 * np.pi / 3.4
    eight = [0.08 * np.sin(2 * w * time), 0.20 * np.sin(w * time), 0.0]
    np.testing.assert_allclose(shifted(tool_path("T1"), time), eight, atol=1e-12)
    w = 2 * np.pi / 3.0
    ellipse = [
        0.02 * np.sin(w * time),
        0.05 + 0.18 * np.sin(w * time),
        0.05 + 0.10 * (np.cos(w * time) - 1),
    ]
    np.testing.assert_allclose(shifted(tool_path("T2"), time), ellipse, atol=1e-12)
    w = 2 * np.pi / 8.0
    lissajous = [
        -0.05 + 0.08 * np.sin(3 * w * time),
        0.2 * np.sin(2 * w * time + 0.4),
        -0.05 + 0.06 * np.sin(w * time),
    ]
    np.testing.assert_allclose(shifted(tool_path("T3"), time), lissajous, atol=1e-12)


def test_t1_is_the_figure_eight_at_an_unseen_period():
    times = np.linspace(0, 20, 50)
    expected = figure_eight(3.4).position(times)
    np.testing.assert_array_equal(tool_path("T1").position(times), expected)
    assert 3.4 not in training_periods()


def test_start_up_blends_in_as_a_smoothstep():
    path = figure_eight(3.4)
    unblended = 0.2 * np.sin(2 * np.pi / 3.4 * 0.75)
    np.testing.assert_allclose(path.position([0.0]), 0.0)
    assert path.position([0.75])[0, 1] == pytest.approx(0.5 * unblended)


@pytest.mark.parametrize("robot", MODELS)
@pytest.mark.parametrize("name", tool_path_names())
def test_tool_follows_the_path_within_the_velocity_limits(name, robot):
    path, model = tool_path(name), MODELS[robot]
    centre = model.tool_position(resting_posture(model.n_joints))
    motion = followed(name, robot)
    assert motion.times[0] == 0.0
    assert motion.times[-1] == path.duration
    tool = [model.tool_position(position) for position in motion.positions]
    np.testing.assert_allclose(tool, centre + path.position(motion.times), atol=1e-6)
    assert (np.abs(motion.velocities) < model.description.velocity_limit).all()


@pytest.mark.parametrize("name", tool_path_names())
def test_every_joint_of_the_long_arm_moves(name):
    motion = followed(name, "wam7")
    assert (np.ptp(motion.positions, axis=0) > 0.1).all()
    # The tool point is on the axis of the last joint, which is free to sway about its rest.
    sway = 0.5 * tool_path(name).sway(motion.times)[:, 0]
    np.testing.assert_allclose(motion.positions[:, 6], sway, atol=1e-6)


@pytest.mark.parametrize("robot", MODELS)
@pytest.mark.parametrize("name", ["train_2.6", "T2", "T3"])
def test_velocities_and_accelerations_are_the_slopes(name, robot):
    rate = 1000.0
    times, q, qd, qdd = joint_path(tool_path(name), MODELS[robot], rate)
    # A central difference across the end of the start-up would mix both sides of the jump.
    inner = np.abs(times[1:-1] - 1.5) > 1.5 / rate
    slope = ((q[2:] - q[:-2]) * rate / 2)[inner]
    bend = ((qd[2:] - qd[:-2]) * rate / 2)[inner]
    np.testing.assert_allclose(qd[1:-1][inner], slope, atol=1e-4)
    np.testing.assert_allclose(qdd[1:-1][inner], bend, atol=1e-3)


def test_knots_at_any_rate_lie_on_the_same_motion():
    coarse = joint_path(tool_path("T1"), MODEL, rate=25.0)
    fine = joint_path(tool_path("T1"), MODEL, rate=500.0)
    for slow, fast in zip(coarse, fine, strict=True):
        np.testing.assert_allclose(slow, fast[::20], atol=1e-12)


def test_path_shorter_than_its_start_up_ends_in_time():
    path = ToolPath(3.0, 1.0, 1.5, [0.1, 0, 0], [1, 1, 1])
    assert joint_path(path, MODEL, rate=10.0).times[-1] == 1.0


def test_unknown_path_names_the_known_ones():
    with pytest.raises(TrajectoryError, match="unknown trajectory 'T9'.*train_6.*T3"):
        tool_path("T9")


@pytest.mark.parametrize("period", [0.0, -1.0, np.nan])
def test_period_must_be_positive(period):
    with pytest.raises(TrajectoryError, match="period"):
        figure_eight(period)


def test_rate_must_be_positive():
    with pytest.raises(TrajectoryError, match="knot rate is 0"):
        joint_path(tool_path("T1"), MODEL, rate=0)


def test_arm_with_another_number_of_joints_is_refused(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(
        '<robot name="arm"><link name="base"/><link name="tip">'
        '<inertial><mass value="1"/>'
        '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="a" type="revolute"><parent link="base"/><child link="tip"/>'
        '<limit lower="-1" upper="1" effort="5" velocity="2"/></joint></robot>'
    )
    with pytest.raises(TrajectoryError, match="the arm has 1 joints, expected 4 or 7"):
        joint_path(tool_path("T1"), RigidBodyModel(load_description(path)), rate=25.0)
