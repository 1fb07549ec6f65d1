# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Each mistake is named by its kind, and a sound recording has none."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ilr_dynamics.inspection import (
    KINDS,
    Severity,
    inspect_recording,
    with_model_torque,
    with_samples,
)
from ilr_dynamics.recording import RecordingWriter
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.rigid_body import RigidBodyModel

ARM = load_description("wam4")
MODEL = RigidBodyModel(ARM)


def flip(values, joint):
    return values * np.where(np.arange(values.shape[1]) == joint, -1.0, 1.0)


def swap(values, one, other):
    values = values.copy()
    values[:, [one, other]] = values[:, [other, one]]
    return values


def weight(motion, gravity):
    change = np.asarray(gravity) - [0.0, 0.0, -9.81]
    return np.array([MODEL.gravity_columns(q) @ change for q in motion.position])


def load(motion, mass):
    states = zip(motion.position, motion.velocity, motion.acceleration, strict=True)
    return np.array([MODEL.last_body_columns(*s) @ [mass, 0, 0, 0.1 * mass] for s in states])


def without(motion, rows):
    kept = ~np.isin(np.arange(len(motion.time)), rows)
    fields = ("time", "position", "velocity", "acceleration", "torque")
    return motion.changed(**{name: getattr(motion, name)[kept] for name in fields})


def with_zeros(values, rows):
    values = values.copy()
    values[rows] = 0.0
    return values


def every(motion, n):
    """Rows of torques that are sent once in n states."""
    return np.arange(len(motion.time)) // n * n


def holding(motion, begin, end):
    """Rows of torques of which one is held for a while, s."""
    held = (motion.time >= begin) & (motion.time < end)
    return np.where(held, np.argmax(held), np.arange(len(motion.time)))


FAULTS = {
    "wrong_sign of a torque": lambda m: m.changed(torque=flip(m.torque, 2)),
    "wrong_sign of all torques": lambda m: m.changed(torque=-m.torque),
    "wrong_sign of a position": lambda m: m.changed(
        position=flip(m.position, 1), velocity=flip(m.velocity, 1)
    ),
    "permuted_joints": lambda m: m.changed(
        position=swap(m.position, 0, 3), velocity=swap(m.velocity, 0, 3)
    ),
    "permuted_joints of torques": lambda m: m.changed(torque=swap(m.torque, 1, 3)),
    "degrees": lambda m: m.changed(
        position=np.degrees(m.position), velocity=np.degrees(m.velocity)
    ),
    "base_tilted": lambda m: m.changed(torque=m.torque + weight(m, [3.0, 0.0, -9.34])),
    "base_tilted upside down": lambda m: m.changed(torque=m.torque + weight(m, [0, 0, 9.81])),
    "gravity_twice": lambda m: m.changed(torque=m.torque + weight(m, [0, 0, -19.62])),
    "gravity_missing": lambda m: m.changed(torque=m.torque + weight(m, [0, 0, 0])),
    "payload": lambda m: m.changed(torque=m.torque + load(m, 2.0)),
    "torque_delay": lambda m: m.changed(delay=0.007),
    "torque_delay of a slow bus": lambda m: m.changed(delay=0.053),
    "position_scale in turns": lambda m: m.changed(
        position=m.position / (2.0 * np.pi), velocity=m.velocity / (2.0 * np.pi)
    ),
    "position_scale of a joint in turns": lambda m: m.changed(
        position=m.position / [1.0, 2.0 * np.pi, 1.0, 1.0],
        velocity=m.velocity / [1.0, 2.0 * np.pi, 1.0, 1.0],
    ),
    "position_offset of a joint homed by hand": lambda m: m.changed(
        position=m.position + [0.0, 0.0, 0.1, 0.0]
    ),
    "position_offset of a joint homed at its other end": lambda m: m.changed(
        position=m.position - [0.0, 0.0, 0.0, 0.5 * np.pi]
    ),
    "permuted_joints in reverse": lambda m: m.changed(
        position=m.position[:, ::-1], velocity=m.velocity[:, ::-1], torque=m.torque[:, ::-1]
    ),
    "permuted_joints of three torques": lambda m: m.changed(torque=m.torque[:, [1, 2, 0, 3]]),
    "effort_scale in percent": lambda m: m.changed(torque=100.0 * m.torque / ARM.torque_limit),
    "effort_scale in mA": lambda m: m.changed(torque=1000.0 * m.torque),
    "effort_scale by ten": lambda m: m.changed(torque=10.0 * m.torque),
    "effort_scale of one motor": lambda m: m.changed(torque=m.torque * [1.0, 2.5, 1.0, 1.0]),
    "effort_scale of every motor": lambda m: m.changed(torque=m.torque * [1.5, 2.0, 0.5, 3.0]),
    "effort_scale by three": lambda m: m.changed(torque=3.0 * m.torque),
    "zero_effort": lambda m: m.changed(torque=0.0 * m.torque),
    "zero_effort of a joint": lambda m: m.changed(torque=m.torque * [1, 0, 1, 1]),
    "zero_effort for a while": lambda m: m.changed(
        torque=np.where((m.time > 8.0)[:, np.newaxis] & [1, 0, 1, 1], 0.0, m.torque)
    ),
    "zero_effort of commands that are held": lambda m: m.changed(held=holding(m, 4.0, 4.5)),
    "coarse_torque of efforts at 10 Hz": lambda m: m.changed(held=every(m, 50)),
    "zero_velocity": lambda m: m.changed(velocity=0.0 * m.velocity),
    "zero_velocity for a while": lambda m: m.changed(
        velocity=np.where((np.abs(m.time - 5.5) > 1.5)[:, np.newaxis], m.velocity, 0.0)
    ),
    "velocity_scale": lambda m: m.changed(velocity=np.degrees(m.velocity)),
    "saturation": lambda m: m.changed(limit=6.0),
    "unrelated_torque": lambda m: m.changed(
        torque=np.column_stack([3.0 * np.sin(11.0 * m.time), m.torque[:, 1:]])
    ),
    "unrelated_torque of positions that are repeated": lambda m: m.changed(
        position=np.repeat(m.position[::5], 5, axis=0)
    ),
    "dropouts": lambda m: without(m, [r for k in range(500, 4500, 200) for r in range(k, k + 9)]),
    "position_jump": lambda m: m.changed(position=with_zeros(m.position, slice(100, None, 300))),
    "clock_set_back": lambda m: m.changed(time=np.where(m.time < 5.0, m.time, m.time - 0.2)),
    "clock_set_back twice": lambda m: m.changed(
        time=m.time - np.select([m.time < 4.0, m.time < 7.0], [0.0, 3.0], 5.0)
    ),
    "wrong_stamp": lambda m: m.changed(
        time=np.where(np.arange(len(m.time)) == 2000, m.time + 1e6, m.time)
    ),
    "no_excitation": lambda m: m.changed(
        position=np.tile(m.position[:1], (len(m.time), 1)), velocity=0.0 * m.velocity
    ),
}


# What else their findings say.
SAID = {
    "payload": {"value": pytest.approx(2.0, abs=0.2), "unit": "kg"},
    "base_tilted": {"value": pytest.approx(np.degrees(np.arctan2(3.0, 9.34)), abs=2.0)},
    "torque_delay of a slow bus": {"value": pytest.approx(53.0, abs=0.5), "unit": "ms"},
    "position_scale of a joint in turns": {"joint": "j2"},
    "position_offset of a joint homed by hand": {
        "joint": "j3",
        "value": pytest.approx(-0.1, abs=0.02),
        "unit": "rad",
    },
    "position_offset of a joint homed at its other end": {
        "joint": "j4",
        "value": pytest.approx(0.5 * np.pi, abs=0.02),
    },
    "permuted_joints in reverse": {"joint": "j1, j2, j3 and j4"},
    "permuted_joints of three torques": {"joint": "j1, j2 and j3"},
    "wrong_sign of a torque": {"joint": "j3"},
    "wrong_sign of all torques": {"joint": "j1, j2, j3 and j4"},
    "degrees": {"joint": "j1, j2, j3 and j4"},
    "zero_velocity for a while": {"from_s": pytest.approx(4.0, abs=0.1)},
    "effort_scale of one motor": {"joint": "j2", "value": pytest.approx(2.5, abs=0.1)},
    "effort_scale by three": {"value": pytest.approx(3.0, abs=0.1)},
    "zero_effort for a while": {"from_s": pytest.approx(8.0, abs=0.1)},
    "zero_effort of commands that are held": {"from_s": pytest.approx(4.0, abs=0.01)},
    "coarse_torque of efforts at 10 Hz": {"value": pytest.approx(100.0), "unit": "ms"},
    "wrong_stamp": {"value": 1.0},
    "clock_set_back": {"from_s": pytest.approx(5.0, abs=0.01)},
    "clock_set_back twice": {
        "value": 2.0,
        "from_s": pytest.approx(4.0, abs=0.01),
        "to_s": pytest.approx(7.0, abs=0.01),
    },
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named(fault, motion, record, arm_of_motion):
    found = inspect_recording(record(FAULTS[fault](motion)), arm_of_motion)
    kind = fault.split()[0]
    named = [f for f in found.findings if f.kind == kind and f.severity is not Severity.INFO]
    assert named, [str(finding) for finding in found.findings]
    assert all(finding.kind in KINDS for finding in found.findings)
    for name, value in SAID.get(fault, {}).items():
        assert all(getattr(finding, name) == value for finding in named)


def test_base_that_is_tilted_as_described_is_no_finding(motion, record, arm_of_motion):
    bag = record(FAULTS["base_tilted"](motion))
    found = inspect_recording(bag, replace(arm_of_motion, gravity=(3.0, 0.0, -9.34)))
    assert found.worst is Severity.INFO, [str(finding) for finding in found.findings]


def test_base_that_stands_although_described_as_tilted_is_one(motion, record, arm_of_motion):
    settings = replace(arm_of_motion, gravity=(3.0, 0.0, -9.34))
    found = inspect_recording(record(motion), settings)
    assert "base_tilted" in {finding.kind for finding in found.findings}


def test_what_was_guided_by_hand_is_said_and_left_out(motion, record, arm_of_motion):
    """The hand carries the arm, whose torques are then of the wrong sign."""
    hand = (motion.time > 3.0) & (motion.time < 6.0)
    pushed = np.where(hand[:, np.newaxis], -motion.torque, motion.torque)
    bag = record(motion.changed(torque=pushed, guided=(3.0, 6.0)))
    found = with_samples(inspect_recording(bag, arm_of_motion), arm_of_motion)
    (finding,) = (finding for finding in found.findings if finding.severity is not Severity.INFO)
    assert finding.kind == "guided" and finding.kind in KINDS
    # A second and a report before and after.
    assert finding.value == pytest.approx(5.04, abs=0.01) and finding.unit == "s"
    assert finding.from_s == pytest.approx(1.98, abs=0.01)
    assert finding.to_s == pytest.approx(7.02, abs=0.01)
    assert "5.0 of 10.0 s are left out, in 1 stretch: a person guided" in finding.text
    assert found.refusal == ""
    other = inspect_recording(record(motion, "other"), arm_of_motion)
    other = with_samples(other, arm_of_motion).samples
    _, rows, same = np.intersect1d(other.time, found.samples.time, return_indices=True)
    assert len(same) >= found.samples.n_used - 1
    np.testing.assert_allclose(other.Y[rows], found.samples.Y[same], rtol=1e-6)
    everything = replace(arm_of_motion, controller_state_topic=None)
    kinds = {f.kind for f in inspect_recording(bag, everything).findings}
    assert not kinds & {"guided", "unread_reports"}


def test_reports_of_a_namespaced_controller_are_not_overlooked(motion, record, arm_of_motion):
    bag = record(motion.changed(guided=(3.0, 6.0)))
    left = replace(arm_of_motion, controller_state_topic="/left/inverse_dynamics/controller_state")
    found = {finding.kind: finding for finding in inspect_recording(bag, left).findings}
    assert "guided" not in found
    finding = found["unread_reports"]
    assert finding.severity is Severity.WARNING and finding.value == 1.0
    assert "are on /inverse_dynamics/controller_state, and not where" in finding.text
    assert "learning.controller_state_topic (--controller-state)" in finding.advice


@pytest.mark.parametrize("storage", ["mcap", "sqlite3"])
def test_a_sound_recording_has_nothing_but_information(storage, motion, record, arm_of_motion):
    found = inspect_recording(record(motion, storage=storage), arm_of_motion)
    assert found.worst is Severity.INFO and found.refusal == ""
    (delay,) = (finding for finding in found.findings if finding.kind == "torque_delay")
    assert delay.value == pytest.approx(3.0, abs=0.5) and delay.unit == "ms"
    found = with_model_torque(with_samples(found, arm_of_motion), arm_of_motion)
    assert found.model_torque.shape == found.samples.Y.shape
    assert np.abs(found.model_torque - found.samples.Y).mean() < 4.0


@pytest.mark.parametrize(
    ("fraction", "unit"), [(1_000, "microseconds"), (1_000_000, "milliseconds")]
)
def test_stamps_in_another_unit_are_named(fraction, unit, motion, record, arm_of_motion):
    found = inspect_recording(record(motion.changed(fraction=fraction)), arm_of_motion)
    (dropouts,) = (finding for finding in found.findings if finding.kind == "dropouts")
    assert f"the nanosec field of the stamps holds {unit}" in dropouts.text
    assert "header.stamp.nanosec" in dropouts.advice and dropouts.value > 0.99


def test_a_second_sender_with_the_same_stamps_is_told_with_what_to_do(tmp_path, arm_of_motion):
    with RecordingWriter(tmp_path / "bag") as writer:
        for k in range(4000):
            at = (10**18 + 2_000_000 * k, ARM.joint_names)
            for late in (0, 25):
                q = np.full(4, 0.3 * np.sin(0.01 * (k - late)))
                writer.write_joint_state("/joint_states", *at, q, effort=30.0 * q)
    found = inspect_recording(tmp_path / "bag", replace(arm_of_motion, robot=None))
    (finding,) = (finding for finding in found.findings if finding.kind == "rejected_states")
    assert finding.severity is Severity.WARNING and finding.value == 0.5
    assert "two senders publish the topic with the same stamps" in finding.text
    assert "ros2 topic info -v" in finding.advice


@pytest.mark.parametrize("n", [2, 5, 10])
def test_efforts_that_are_sent_more_rarely_than_states_are_not_frozen(
    n, motion, record, arm_of_motion
):
    found = inspect_recording(record(motion.changed(held=every(motion, n))), arm_of_motion)
    assert not {"zero_effort", "coarse_torque"} & {finding.kind for finding in found.findings}


def test_a_torque_that_holds_for_a_moment_refuses_no_long_recording(motion, record, arm_of_motion):
    long = motion.changed(time=5.0 * motion.time)
    held = holding(long, 20.0, 20.33)
    found = inspect_recording(record(long.changed(held=held)), arm_of_motion)
    efforts = [finding for finding in found.findings if finding.kind == "zero_effort"]
    assert efforts and {finding.severity for finding in efforts} == {Severity.WARNING}


@pytest.mark.parametrize("limits", [[4.0] * 4, ARM.torque_limit.tolist()])
def test_a_torque_that_something_limits_is_not_frozen(limits, motion, record, arm_of_motion):
    samples = replace(arm_of_motion.samples, torque_limit=limits)
    found = inspect_recording(
        record(motion.changed(limit=4.0)), replace(arm_of_motion, samples=samples)
    )
    kinds = {finding.kind for finding in found.findings}
    assert "saturation" in kinds and "zero_effort" not in kinds


def test_a_rounded_torque_is_said_to_be_and_is_not_frozen(motion, record, arm_of_motion):
    found = inspect_recording(record(motion.changed(step=1.0)), arm_of_motion)
    steps = [f.value for f in found.findings if f.kind == "coarse_torque" and f.unit == "Nm"]
    assert steps and set(steps) == {1.0}
    assert "zero_effort" not in {finding.kind for finding in found.findings}


def test_a_load_of_few_grams_is_told_from_wrong_masses(motion, record, arm_of_motion):
    carried = motion.changed(torque=motion.torque + load(motion, 0.1))
    found = inspect_recording(record(carried, "payload"), arm_of_motion)
    (payload,) = (finding for finding in found.findings if finding.kind == "payload")
    assert payload.value == pytest.approx(0.1, abs=0.02)
    states = zip(motion.position, motion.velocity, motion.acceleration, strict=True)
    bodies = np.array([MODEL.inverse_dynamics(*state) for state in states])
    heavy = motion.changed(torque=motion.torque + 0.05 * bodies)
    assert inspect_recording(record(heavy, "heavy"), arm_of_motion).worst is Severity.INFO


def test_a_strong_joint_under_a_weak_ones_name_is_no_other_unit(motion, record, arm_of_motion):
    limit = 1.1 * np.abs(motion.torque).max(axis=0)
    swapped = motion.changed(torque=swap(motion.torque, 1, 3))
    assert np.mean(np.abs(swapped.torque[:, 3]) > limit[3]) > 0.5
    samples = replace(arm_of_motion.samples, torque_limit=limit.tolist())
    found = inspect_recording(record(swapped), replace(arm_of_motion, samples=samples))
    assert {"permuted_joints"} == {
        finding.kind for finding in found.findings if finding.severity is Severity.ERROR
    }


def test_a_jump_names_its_joint(motion, record, arm_of_motion):
    slipped = motion.position.copy()
    slipped[2500:, 1] += 0.3
    found = inspect_recording(record(motion.changed(position=slipped)), arm_of_motion)
    (jump,) = (finding for finding in found.findings if finding.kind == "position_jump")
    assert jump.joint == "j2" and "j2" in jump.text


def test_velocities_of_other_joints_are_named_with_both(motion, record, arm_of_motion):
    swapped = motion.changed(velocity=swap(motion.velocity, 0, 2))
    found = inspect_recording(record(swapped), arm_of_motion)
    joints = {finding.joint for finding in found.findings if finding.kind == "velocity_scale"}
    assert joints == {"j1", "j3"}


def test_an_offset_is_named_with_its_joint(motion, record, arm_of_motion):
    shifted = motion.changed(torque=motion.torque + np.array([0.0, 0.0, 0.8, 0.0]))
    found = inspect_recording(record(shifted), arm_of_motion)
    (offset,) = (finding for finding in found.findings if finding.kind == "offset")
    assert offset.joint == "j3" and offset.value == pytest.approx(0.8, abs=0.2)


def test_what_a_slow_motion_does_not_show_is_counted(motion, record, arm_of_motion):
    def unknown(motion, name):
        found = inspect_recording(record(motion, name), arm_of_motion)
        (finding,) = (f for f in found.findings if f.kind == "unknown_parameters")
        return finding.value

    # The same way, in a time in which speeds and accelerations show nothing.
    slow = motion.changed(time=10.0 * motion.time)
    assert unknown(slow, "slow") > unknown(motion, "fast") >= 0.0


def test_an_error_is_a_refusal_with_its_text(motion, record, arm_of_motion):
    found = inspect_recording(record(FAULTS["degrees"](motion)), arm_of_motion)
    assert "are in degrees" in found.refusal and "accept_worse" in found.refusal


def test_what_cannot_be_read_is_a_finding(tmp_path, arm_of_motion):
    found = inspect_recording(tmp_path / "nothing", arm_of_motion)
    assert [finding.kind for finding in found.findings] == ["unreadable"]
    assert found.recording is None and found.worst is Severity.ERROR


def test_an_arm_without_description_is_judged_by_its_states_alone(motion, record, arm_of_motion):
    settings = replace(arm_of_motion, robot=None)
    found = inspect_recording(record(FAULTS["wrong_sign of a torque"](motion)), settings)
    assert found.worst is Severity.INFO and found.model_torque is None
    found = inspect_recording(record(FAULTS["zero_velocity"](motion), "zero"), settings)
    assert found.worst is Severity.WARNING


def test_a_driver_that_carries_the_weight_is_no_fault(motion, record, arm_of_motion):
    settings = replace(arm_of_motion, driver_compensates_gravity=True)
    light = motion.changed(torque=motion.torque + weight(motion, [0, 0, 0]))
    assert inspect_recording(record(light), settings).worst is Severity.INFO


def test_the_page_lists_all_kinds():
    page = (Path(__file__).parents[2] / "docs" / "inspect.md").read_text()
    listed = re.findall(r"^\| `(\w+)` \| (.*) \|$", page, re.MULTILINE)
    assert dict(listed) == dict(KINDS)
