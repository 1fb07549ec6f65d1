# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ilr_dynamics.exceptions import InvalidParameterError, RecordingError
from ilr_dynamics.recording import Recording, SampleSettings, training_samples

SETTINGS = SampleSettings(filter_window=0.1, filter_order=4, command_delay=1.5, effort_delay=0.0)


@pytest.fixture
def recording(motion):
    time = motion.seconds(motion.stamps)
    return Recording(
        joint_names=motion.joints,
        stamp=motion.stamps,
        position=motion.position(time),
        velocity=motion.velocity(time),
        torque=motion.torque(time),
        commanded=True,
        driver_compensates_gravity=False,
        rejected=Counter(),
    )


def subset(recording, rows):
    return replace(
        recording,
        stamp=recording.stamp[rows],
        position=recording.position[rows],
        velocity=recording.velocity[rows],
        torque=recording.torque[rows],
    )


def test_inputs_are_the_motion_and_its_derivatives(motion, recording):
    samples = training_samples(recording, SETTINGS)
    time = samples.time[:, np.newaxis]
    q, qd, qdd = np.split(samples.X, 3, axis=1)
    np.testing.assert_allclose(q, motion.position(time), atol=1e-6)
    np.testing.assert_allclose(qd, motion.velocity(time), atol=1e-3)
    np.testing.assert_allclose(qdd, motion.acceleration(time), atol=0.05)


@pytest.mark.parametrize("commanded, delay", [(True, 0.003), (False, 0.0)])
def test_torque_is_moved_to_the_time_at_which_it_acts(motion, recording, commanded, delay):
    samples = training_samples(replace(recording, commanded=commanded), SETTINGS)
    expected = motion.torque(samples.time[:, np.newaxis] - delay)
    np.testing.assert_allclose(samples.Y, expected, atol=1e-4)


def test_acceleration_survives_encoder_steps_and_jitter(motion, recording):
    rng = np.random.default_rng(0)
    stamps = motion.stamps + rng.integers(-200_000, 200_000, len(motion.stamps))
    step = 2.0 * np.pi / 4096 / 18
    position = np.round(motion.position(motion.seconds(stamps)) / step) * step
    samples = training_samples(replace(recording, stamp=stamps, position=position), SETTINGS)
    shift = (stamps[0] - motion.start) * 1e-9
    expected = motion.acceleration(samples.time[:, np.newaxis] + shift)
    error = samples.X[:, 4:] - expected
    assert np.sqrt(np.mean(error**2)) < 0.25


def test_filter_never_reaches_across_a_gap(recording):
    rows = np.r_[0:250, 300:600]
    jump = subset(recording, rows)
    jump.position[250:] += 1.0
    jump.torque[250:] += 50.0
    samples = training_samples(jump, SETTINGS)
    apart = [
        training_samples(subset(jump, part), SETTINGS) for part in (slice(0, 250), slice(250, 550))
    ]
    np.testing.assert_allclose(samples.X, np.vstack([part.X for part in apart]), atol=1e-8)
    np.testing.assert_allclose(samples.Y, np.vstack([part.Y for part in apart]), atol=1e-8)
    assert samples.rejected == {"filter_edge": 104}


def test_single_lost_states_are_bridged(motion, recording):
    samples = training_samples(
        subset(recording, np.setdiff1d(np.arange(600), [100, 300, 301])), SETTINGS
    )
    assert samples.rejected == {"filter_edge": 52}
    time = samples.time[:, np.newaxis]
    np.testing.assert_allclose(samples.X[:, 4:], motion.acceleration(time), atol=0.05)


def test_stretch_shorter_than_the_filter_is_rejected(recording):
    samples = training_samples(subset(recording, np.r_[0:20, 100:600]), SETTINGS)
    assert samples.rejected == {"short_stretch": 20, "filter_edge": 52}


def test_saturated_torque_counts_as_unknown(motion, recording):
    recording.torque[200:210, 1] = 80.0
    samples = training_samples(recording, replace(SETTINGS, torque_limit=(77.0, 80.0)))
    assert samples.rejected == {"saturated_torque": 10, "filter_edge": 104}
    assert np.abs(samples.Y).max() < 6.0


def test_standstill_can_be_rejected(recording):
    recording.position[300:] = recording.position[300]
    samples = training_samples(recording, replace(SETTINGS, minimum_speed=0.01))
    assert samples.rejected["standing_still"] == 600 - 52 - samples.n_used
    assert 220 <= samples.n_used <= 300


@settings(max_examples=30)
@given(rate=st.floats(1.0, 1000.0))
def test_thinned_samples_keep_their_rate(rate):
    time = 2_000_000 * np.arange(1000)
    rng = np.random.default_rng(0)
    recording = Recording(
        ("j1",),
        time,
        np.sin(1e-9 * time)[:, np.newaxis],
        np.zeros((1000, 1)),
        rng.normal(size=(1000, 1)),
        True,
        False,
        Counter(),
    )
    samples = training_samples(recording, replace(SETTINGS, sample_rate=rate, minimum_samples=1))
    expected = min(rate, 500.0) * 948 / 500.0
    assert abs(samples.n_used - expected) <= 2.0
    assert samples.n_used + samples.rejected.total() == 1000


@settings(max_examples=30)
@given(
    lost=st.sets(st.integers(0, 599), max_size=200),
    window=st.floats(0.012, 0.3),
    rate=st.none() | st.floats(5.0, 600.0),
)
def test_every_state_is_a_sample_or_counted(lost, window, rate):
    rows = np.setdiff1d(np.arange(600), list(lost))
    stamp = 2_000_000 * rows
    position = np.sin(stamp / 1e9)[:, np.newaxis]
    before = Counter(no_torque=len(lost))
    recording = Recording(("j1",), stamp, position, position, position, True, False, before)
    chosen = SampleSettings(filter_window=window, sample_rate=rate, minimum_samples=1)
    try:
        samples = training_samples(recording, chosen)
    except RecordingError as error:
        assert "0 samples from 600 joint states" in str(error)
    else:
        assert samples.n_used + samples.rejected.total() == 600
        assert len(samples.X) == len(samples.Y) == len(samples.time)
        assert np.isfinite(samples.X).all() and np.isfinite(samples.Y).all()
        assert before == Counter(no_torque=len(lost))


def test_too_short_recording_says_what_was_rejected(recording):
    with pytest.raises(RecordingError, match=r"0 samples from 40 .* at least 100 \(.*40 short"):
        training_samples(subset(recording, slice(0, 40)), SETTINGS)


@pytest.mark.parametrize(
    "setting",
    [{"filter_window": 0.0}, {"sample_rate": -1.0}, {"max_gap": float("nan")}],
)
def test_settings_out_of_range_are_named(recording, setting):
    (name,) = setting
    with pytest.raises(InvalidParameterError, match=f"{name} is .* expected a positive number"):
        training_samples(recording, replace(SETTINGS, **setting))


def test_torque_limits_of_another_arm_are_refused(recording):
    with pytest.raises(InvalidParameterError, match="3 values; expected one for each of the 2"):
        training_samples(recording, replace(SETTINGS, torque_limit=(1.0, 2.0, 3.0)))


def test_recording_in_which_nothing_moved_is_refused(motion, recording):
    noise = np.random.default_rng(0).uniform(-2e-5, 2e-5, recording.position.shape)
    still = replace(recording, position=0.3 + noise)
    with pytest.raises(RecordingError, match="nothing moved .* expected at least 0.01 rad"):
        training_samples(still, SETTINGS)
    slow = replace(recording, position=0.3 + noise + np.outer(recording.time, [0.0, 0.02]))
    assert training_samples(slow, SETTINGS).n_used > 400
