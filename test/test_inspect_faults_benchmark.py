# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The recordings of the benchmark `inspect_faults` hold what they are said to hold."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from ilr_dynamics.inspection import KINDS, Finding, Severity
from ilr_dynamics.recording import read_recording
from ilr_dynamics.recording.joint_state import encode_joint_state
from ilr_dynamics.robot.rigid_body import RigidBodyModel

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(autouse=True)
def benchmarks(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])


def test_each_kind_of_fault_is_one_of_findings_and_has_a_range_with_its_reason():
    from _fault_ranges import RANGES
    from _faults import FAULTS

    assert set(FAULTS) == set(RANGES)
    assert set(FAULTS) <= set(KINDS)
    assert len(FAULTS) >= 15
    assert all(allowed.reason and allowed.low <= allowed.high for allowed in RANGES.values())


def test_messages_serialised_at_once_are_those_serialised_one_by_one():
    from _fault_recordings import JointStateBlock

    names, random = ["a", "long_name", "b"], np.random.default_rng(0)
    stamp = np.array([0, 1_700_000_000_999_999_999, 2_100_000_000_000_000_001])
    position, effort = random.normal(size=(2, 3, 3))
    block = JointStateBlock(names, ["position", "effort"])
    assert block.encode(stamp, position=position, effort=effort) == [
        encode_joint_state(int(at), names, q, (), torque)
        for at, q, torque in zip(stamp, position, effort, strict=True)
    ]


def test_a_sound_recording_has_at_each_state_the_torque_of_the_motion_at_its_delay(tmp_path):
    from _fault_arms import load_arm
    from _fault_recordings import draw_setup, record, write_recording

    arm = load_arm("wam4")
    setup = draw_setup(np.random.default_rng(3), arm, "sqlite3", ["eight"], commanded=1.0)
    recorded = record(setup)
    write_recording(recorded, tmp_path / "bag")
    read = read_recording(tmp_path / "bag", arm.settings.joint_names)

    time = recorded.time
    q, v, a = setup.motion.at(time)
    assert read.commanded
    assert not read.rejected
    steps = 2.0 * np.pi / arm.config.encoder.counts_per_turn / 15.0
    assert np.abs(read.position - q).max() < steps
    step = 1e-6
    ahead, behind = (setup.motion.at(time + shift) for shift in (step, -step))
    np.testing.assert_allclose((ahead[0] - behind[0]) / (2 * step), v, atol=1e-6)
    np.testing.assert_allclose((ahead[1] - behind[1]) / (2 * step), a, atol=1e-5)

    # What is left of the torque beside rigid bodies and rotors is friction and ripple.
    later = setup.motion.at(time + recorded.delay)
    model = RigidBodyModel(arm.description)
    rigid = np.array([model.inverse_dynamics(*state) for state in zip(*later, strict=True)])
    rest = read.torque - rigid - arm.transmission.reflected_inertia * later[2]
    friction = setup.drives.friction
    level = friction.dry_level(*later[:2], rigid)
    ripple = setup.drives.ripple * arm.config.ripple.amplitude
    allowed = 1.01 * (level + friction.viscous * np.abs(later[1]))
    allowed += ripple * np.abs(arm.transmission.joint_to_motor).sum(axis=0)
    noise = setup.command_noise * np.sqrt(np.mean(recorded.torque**2, axis=0))
    assert (np.abs(rest) < allowed + 5.0 * noise).all()
    moving = np.abs(later[1]) > 0.3
    assert (np.sign(rest) == np.sign(later[1]))[moving].mean() > 0.9


def _as_arrays(recorded):
    values = [recorded.delay]
    for stream in recorded.streams:
        values += [part for part in vars(stream).values() if part is not None]
    return values


def test_a_recording_with_a_fault_differs_from_the_sound_one_of_its_setup(monkeypatch):
    import _fault_recordings
    from _fault_arms import load_arm
    from _fault_recordings import record
    from _faults import FAULTS, make_fault

    monkeypatch.setattr(_fault_recordings, "DURATION", (4.0, 5.0))
    monkeypatch.setattr(_fault_recordings, "SLOW_DURATION", (4.0, 5.0))
    arm = load_arm("wam4")
    # Saturation takes a simulation; a motion that is too small is that of its setup.
    for kind in FAULTS.keys() - {"saturation", "no_excitation"}:
        fault = make_fault(kind, np.random.default_rng(1), arm, "mcap")
        sound = record(fault.recorded.setup)
        assert set(fault.joints) <= set(arm.description.joint_names)
        pairs = zip(_as_arrays(fault.recorded), _as_arrays(sound), strict=True)
        assert not all(np.array_equal(one, other) for one, other in pairs), kind


def test_a_delay_is_named_if_it_is_right_within_half_a_millisecond():
    from _fault_arms import load_arm
    from _fault_judgement import is_named
    from _faults import make_fault

    fault = make_fault("torque_delay", np.random.default_rng(1), load_arm("wam4"), "mcap")

    def named(error, severity):
        value = 1e3 * fault.recorded.delay + error
        return is_named(fault, [Finding("torque_delay", severity, "", value=value, unit="ms")])

    assert named(0.4, Severity.WARNING)
    assert not named(0.6, Severity.WARNING)
    assert not named(0.0, Severity.INFO)


def test_a_fault_of_one_joint_is_named_with_the_joint():
    from _fault_arms import load_arm
    from _fault_judgement import is_named
    from _faults import make_fault

    fault = make_fault("wrong_sign", np.random.default_rng(1), load_arm("wam4"), "mcap")
    [joint] = fault.joints
    found = Finding("wrong_sign", Severity.ERROR, f"of {joint}")
    assert not is_named(fault, [found])
    assert is_named(fault, [Finding("wrong_sign", Severity.ERROR, "", joint=joint)])
