# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Positions of one arm among those of others, spikes, slips and wraps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ilr_dynamics.recording import SampleSettings, read_recording, training_samples
from ilr_dynamics.recording.position_tracks import follow_positions
from ilr_dynamics.recording.recording import without_jumps

N, PERIOD = 800, 0.002


def swing(amplitude=0.6, centre=1.0, n=N, period=PERIOD, speed=1.0):
    time = period * np.arange(n)
    rate = 2.0 * np.pi * speed * np.array([0.5, 0.7])
    return time, centre + amplitude * np.sin(rate * time[:, np.newaxis])


def test_an_arm_s_motion_is_left_alone():
    time, position = swing()
    tracks = follow_positions(time, position)
    assert not tracks.jumped.any() and tracks.breaks == () and not tracks.wraps.any()
    assert tracks.position is position


@settings(max_examples=60)
@given(
    period=st.sampled_from([0.001, 0.002, 0.008, 0.02]),
    speed=st.floats(0.2, 2.0),
    quantum=st.sampled_from([0.0, 1e-4, 1e-3, 6e-3]),
    noise=st.sampled_from([0.0, 1e-4]),
    jitter=st.floats(0.0, 0.3),
    lost=st.floats(0.0, 0.3),
    seed=st.integers(0, 1000),
)
def test_coarse_encoders_jitter_and_loss_are_no_jumps(
    period, speed, quantum, noise, jitter, lost, seed
):
    generator = np.random.default_rng(seed)
    time, position = swing(n=600, period=period, speed=speed)
    position = position + noise * generator.normal(size=position.shape)
    position = quantum * np.round(position / quantum) if quantum else position
    time = time + jitter * period * generator.uniform(-1.0, 1.0, len(time))
    kept = generator.uniform(size=len(time)) >= lost
    tracks = follow_positions(time[kept], position[kept])
    assert not tracks.jumped.any() and tracks.breaks == ()


@given(
    rows=st.sets(st.integers(1, N - 2).map(lambda row: row // 4 * 4 + 1), min_size=1, max_size=40),
    other=st.tuples(st.floats(-3.0, 3.0), st.floats(-3.0, 3.0)),
)
def test_single_states_of_somebody_else_are_left_out(rows, other):
    time, position = swing()
    rows = [row for row in sorted(rows) if row < N - 1]
    apart = np.abs(position[rows] - np.array(other)).max(axis=1) > 0.2
    rows = np.array(rows)[apart]
    position[rows] = other
    tracks = follow_positions(time, position)
    assert np.flatnonzero(tracks.jumped).tolist() == rows.tolist()
    assert tracks.breaks == ()


@pytest.mark.parametrize("share", [0.3, 0.5, 0.7])
def test_another_sender_s_zeros_are_left_out_however_many(share):
    """Interleaved, in no order of their own."""
    time, position = swing()
    zeros = np.random.default_rng(0).uniform(size=N) < share
    position[zeros] = 0.0
    tracks = follow_positions(time, position)
    np.testing.assert_array_equal(tracks.jumped, zeros)


def test_of_two_arms_that_move_neither_is_believed():
    time, position = swing()
    position[1::2] = swing(centre=-1.0, speed=0.8)[1][1::2]
    assert follow_positions(time, position).jumped.all()


@pytest.mark.parametrize("step", [0.03, 0.3, 2.0 * np.pi])
def test_a_position_that_goes_on_elsewhere_begins_anew(step):
    time, position = swing()
    position[300:, 1] += step
    tracks = follow_positions(time, position)
    assert not tracks.jumped.any() and tracks.breaks == (300,)


@pytest.mark.parametrize("row", [1, 200, N - 2])
def test_a_spike_that_is_slower_than_an_arm_may_be_is_left_out(row):
    time, position = swing()
    position[row, 0] += 0.04
    assert np.flatnonzero(follow_positions(time, position).jumped).tolist() == [row]


@pytest.mark.parametrize("rate", [50, 100, 1000])
@pytest.mark.parametrize(("size", "length"), [(0.03, 1), (0.2, 1), (0.1, 2), (0.1, 4)])
def test_a_few_wrong_positions_are_left_out_at_any_rate(rate, size, length):
    time, position = swing(period=1.0 / rate, speed=0.5)
    assert not follow_positions(time, position).jumped.any()
    rows = np.concatenate([np.arange(row, row + length) for row in range(60, 740, 75)])
    position[rows, 1] -= size
    tracks = follow_positions(time, position)
    assert np.flatnonzero(tracks.jumped).tolist() == rows.tolist()
    assert tracks.breaks == ()


def test_fast_motion_and_noise_at_a_low_rate_are_no_jumps():
    """Up to 5 rad/s, against stops, in noise of 5 mrad, and repeated by a faster driver."""
    time, position = swing(speed=2.0, period=0.02)
    noise = 0.005 * np.random.default_rng(0).normal(size=position.shape)
    for seen in (position, np.clip(position, 0.8, 1.3), position + noise):
        for held in (1, 5):
            tracks = follow_positions(0.02 / held * np.arange(held * N), seen.repeat(held, 0))
            assert not tracks.jumped.any() and tracks.breaks == ()


def test_wraps_of_a_joint_without_limits_are_taken_back():
    time, position = swing(amplitude=3.0, centre=2.0)
    wrapped = (position + np.pi) % (2.0 * np.pi) - np.pi
    tracks = follow_positions(time, wrapped, continuous=[True, False])
    np.testing.assert_allclose(np.diff(tracks.position[:, 0]), np.diff(position[:, 0]), atol=1e-12)
    assert tracks.wraps[0] > 0 and tracks.wraps[1] == 0
    assert not tracks.jumped.any() and len(tracks.breaks) > 0  # of the joint with limits


@pytest.mark.parametrize("fault", ["wrap", "zeros", "sender"])
def test_no_fault_of_the_positions_becomes_an_acceleration(fault, motion, write_received):
    time = motion.seconds(motion.stamps)
    position = motion.position(time)
    if fault == "wrap":
        position = (position + 0.2 + np.pi) % (2.0 * np.pi) - np.pi
        position[position[:, 0] > 0.2] -= [2.0 * np.pi, 0.0]
    elif fault == "zeros":
        position = position + 1.0
        position[::97] = 0.0
    else:
        position = position + 1.0
        position[1::2] = 0.0
    path = write_received(
        motion.stamps, motion.stamps, motion.joints, position, motion.torque(time)
    )
    samples = training_samples(read_recording(path, motion.joints), SampleSettings())
    largest = np.abs(motion.acceleration(time)).max(axis=0)
    assert (np.abs(samples.X[:, 4:]).max(axis=0) < 1.1 * largest + 0.3).all()
    assert samples.n_used > 100


def test_wraps_are_said_for_the_joints_that_may(motion, write_received):
    time = motion.seconds(motion.stamps)
    position = 8.0 * motion.position(time)
    wrapped = (position + np.pi) % (2.0 * np.pi) - np.pi
    path = write_received(
        motion.stamps, motion.stamps, motion.joints, wrapped, motion.torque(time)
    )
    recording = without_jumps(read_recording(path, motion.joints), continuous_joints=["j1"])
    assert list(recording.wraps) == ["j1"]
    np.testing.assert_allclose(recording.position, position, atol=1e-12)
