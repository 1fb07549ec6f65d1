# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""First recordings of an arm with friction, as they are and with the errors people make."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

from ilr_dynamics.learning import LearningSettings, UpdateJob
from ilr_dynamics.learning.worker import run_job
from ilr_dynamics.recording import RecordingWriter, SampleSettings
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.rigid_body import RigidBodyModel

ARM = load_description("wam4")
LIMITS = [77.0, 160.0, 80.0, 40.0]
SETTINGS = LearningSettings(
    ARM.joint_names,
    model={"n_components": 3, "max_iterations": 3},
    samples=SampleSettings(sample_rate=100.0, torque_limit=LIMITS),
    robot="wam4",
)
N_STATES, PERIOD = 800, 2_000_000


@pytest.fixture(scope="module")
def motion():
    """Positions and torques of a swing about a bent posture, friction as large as it gets."""
    rate = 2.0 * np.pi * np.array([0.5, 0.6, 0.7, 0.8])
    phase = rate * 1e-9 * PERIOD * np.arange(N_STATES)[:, np.newaxis]
    position = [0.0, 0.6, 0.0, 1.2] + 0.3 * np.sin(phase)
    velocity, acceleration = 0.3 * rate * np.cos(phase), -0.3 * rate**2 * np.sin(phase)
    model = RigidBodyModel(ARM)
    states = zip(position, velocity, acceleration, strict=True)
    torque = np.array([model.inverse_dynamics(*state) for state in states])
    return position, torque + [4.0, 4.0, 2.0, 2.0] * np.tanh(20.0 * velocity)


@pytest.fixture
def result_of(motion, tmp_path):
    """Learn from the motion with its torques multiplied."""

    def run(factor, settings=SETTINGS, **options):
        shutil.rmtree(tmp_path / "bag", ignore_errors=True)
        bag = tmp_path / "bag"
        with RecordingWriter(bag) as writer:
            for k, (position, torque) in enumerate(zip(*motion, strict=True), start=1):
                at = (k * PERIOD, ARM.joint_names)
                writer.write_joint_state("/joint_states", *at, position)
                writer.write_joint_state("/joint_torque_command", *at, effort=factor * torque)
        return run_job(UpdateJob(str(bag), str(tmp_path), settings, **options), lambda *_: None)

    return run


def test_torques_of_the_arm_are_learned(result_of):
    result = result_of(1.0)
    assert result.refusal == "" and result.snapshot


@pytest.mark.parametrize(
    ("factor", "limit", "text"),
    [
        (-1.0, LIMITS, "times as far from those of the rigid-body model as zero torque"),
        (10.0, None, "expected at most 1.5 times"),
        (10.0, [500.0, 50.0, 500.0, 500.0], "states have a torque at or beyond its limit"),
    ],
)
def test_torques_of_another_sign_or_unit_are_refused(result_of, tmp_path, factor, limit, text):
    samples = replace(SETTINGS.samples, torque_limit=limit, minimum_samples=5)
    result = result_of(factor, replace(SETTINGS, samples=samples))
    assert text in result.refusal
    assert [path.name for path in tmp_path.iterdir()] == ["bag"]


def test_torques_of_another_sign_are_learned_if_they_are_wanted(result_of):
    result = result_of(-1.0, accept_worse=True)
    assert result.refusal == "" and result.snapshot
    assert "rigid-body model" in result.implausible
    assert "rigid-body model" in result.overridden


def test_findings_of_the_inspection_are_told(result_of):
    result = result_of(np.array([1.0, 1.0, 0.0, 1.0]))
    assert any(text.startswith("error (zero_effort): ") for text in result.findings)


def test_arm_whose_weight_the_driver_carries_is_not_compared(result_of):
    settings = replace(SETTINGS, driver_compensates_gravity=True)
    assert result_of(-1.0, settings, accept_worse=True).implausible == ""


@pytest.mark.parametrize(
    ("factor", "joints"),
    [
        (0.0, "j1, j2, j3, j4 is 0, 0, 0, 0 Nm throughout"),
        ([1.0, 1.0, 0.0, 1.0], "j3 is 0 Nm throughout"),
    ],
)
def test_torques_that_never_change_are_refused_with_the_joints_names(result_of, factor, joints):
    result = result_of(np.array(factor))
    assert joints in result.refusal and not result.snapshot


def test_torques_in_hundredths_of_the_unit_are_refused(result_of):
    result = result_of(0.01)
    assert "times those of the rigid-body model; expected at least 0.3" in result.refusal


@pytest.mark.parametrize(
    ("share", "unit"), [(100.0, "percent"), (1000.0, "thousandths"), (1.0, "shares")]
)
def test_torques_as_a_share_of_the_limits_are_refused(result_of, share, unit):
    samples = replace(SETTINGS.samples, minimum_samples=5)
    result = result_of(share / np.array(LIMITS), replace(SETTINGS, samples=samples))
    assert f"as {unit} of each joint's limit" in result.refusal or (
        unit == "thousandths" and "at or beyond its limit" in result.refusal
    )


def test_an_update_is_judged_as_a_first_recording_is(result_of, tmp_path):
    first = result_of(1.0)
    (tmp_path / "bag").rename(tmp_path / "first")
    update = result_of(0.0, snapshot=first.snapshot)
    assert "0 Nm throughout" in update.refusal
