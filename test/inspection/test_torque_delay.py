# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""A delay is found to a tenth of a millisecond where motors ripple, and its spread is honest."""

import numpy as np
import pytest

from ilr_dynamics.inspection.deviations import deviations
from ilr_dynamics.inspection.evidence import Evidence
from ilr_dynamics.inspection.joint_fit import joint_fits
from ilr_dynamics.inspection.torque_delay import find_delay
from ilr_dynamics.recording import SampleSettings, read_recording
from ilr_dynamics.robot.description import load_description

ARM = load_description("wam4")


@pytest.fixture
def evidence_of(record, arm_of_motion):
    def evidence(motion):
        arm = arm_of_motion
        recording = read_recording(
            record(motion),
            arm.joint_names,
            state_topic=arm.state_topic,
            command_topic=arm.command_topic,
            driver_compensates_gravity=arm.driver_compensates_gravity,
            limits=arm.limits,
            directories=arm.directories,
        )
        return Evidence(recording, SampleSettings(), ARM, False)

    return evidence


def rippled(motion, size, waves=6):
    angle = waves * motion.position @ ARM.gear_matrix.T
    return motion.changed(torque=motion.torque + size * np.sin(angle) @ ARM.gear_matrix)


@pytest.mark.parametrize("delay", [0.0012, 0.003, 0.0087])
def test_ripple_tells_the_delay(motion, evidence_of, delay):
    evidence = evidence_of(rippled(motion, 0.01).changed(delay=delay))
    found, spread = find_delay(evidence, joint_fits(evidence))
    assert found == pytest.approx(delay, abs=1e-4)
    assert spread < 2.5e-4


def test_nothing_is_said_of_a_delay_without_motion(motion, evidence_of):
    slow = motion.changed(
        position=motion.position[:1] + 0.02 * (motion.position - motion.position[:1]),
        velocity=0.02 * motion.velocity,
    )
    evidence = evidence_of(slow)
    _, spread = find_delay(evidence, joint_fits(evidence))
    assert np.isinf(spread)


def test_nothing_is_wrong_with_the_described_arm(motion, evidence_of):
    evidence = evidence_of(motion)
    mistakes = deviations(evidence, joint_fits(evidence), 0.003)
    assert max(mistake.gain for mistake in mistakes.values()) < 20.0
