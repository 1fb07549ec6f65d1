# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Motion of arrays, differentiated as the learner differentiates that of recordings."""

from collections import Counter

import numpy as np
import pytest

from ilr_dynamics.exceptions import InvalidDataError, InvalidParameterError
from ilr_dynamics.recording import (
    Recording,
    SampleSettings,
    smoothed_motion,
    training_samples,
)

RATE = 2.0 * np.pi * np.array([0.5, 1.1])


def swing(time):
    """Positions, velocities and accelerations (n, 2) of a motion that is known."""
    phase = time[:, None] * RATE
    return np.sin(phase), RATE * np.cos(phase), -(RATE**2) * np.sin(phase)


@pytest.fixture
def time():
    steps = np.random.default_rng(0).uniform(0.0017, 0.0023, 1500)
    return 100.0 + np.cumsum(steps)


def test_derivatives_of_positions_are_those_of_the_known_motion(time):
    motion = smoothed_motion(time, swing(time)[0])
    expected = np.hstack(swing(time[motion.rows]))
    assert len(motion.rows) == 1500 - 2 * 15 and motion.Y is None
    np.testing.assert_allclose(motion.X[:, :4], expected[:, :4], atol=1e-4)
    np.testing.assert_allclose(motion.X[:, 4:], expected[:, 4:], atol=0.01)


def test_of_coarse_positions_measured_velocities_give_better_accelerations(time):
    position, velocity, _ = swing(time)
    coarse = np.round(position, 3)
    expected = swing(time)[2]
    errors = [
        np.sqrt(np.mean((motion.X[:, 4:] - expected[motion.rows]) ** 2))
        for motion in (smoothed_motion(time, coarse), smoothed_motion(time, coarse, velocity))
    ]
    assert errors[1] < 0.01 < 0.1 * errors[0]


def test_samples_are_those_that_the_learner_makes_of_a_recording():
    stamp = 2_000_000 * np.arange(1000)
    position = swing(1e-9 * stamp)[0]
    torque = np.cos(3.0 * position)
    settings = SampleSettings(effort_delay=0.0, filter_window=0.05)
    expected = training_samples(
        Recording(
            joint_names=("a", "b"),
            stamp=stamp,
            position=position,
            velocity=np.full_like(position, np.nan),
            torque=torque,
            commanded=False,
            driver_compensates_gravity=False,
            rejected=Counter(),
        ),
        settings,
    )
    motion = smoothed_motion(1e-9 * stamp, position, torque=torque, settings=settings)
    np.testing.assert_allclose(1e-9 * stamp[motion.rows], expected.time)
    np.testing.assert_allclose(motion.X, expected.X, atol=1e-7)
    np.testing.assert_allclose(motion.Y, expected.Y, atol=1e-12)


def test_filter_does_not_reach_across_a_gap(time):
    kept = np.r_[0:700, 760:770, 800:1500]
    motion = smoothed_motion(time[kept], swing(time[kept])[0])
    rows = kept[motion.rows]
    np.testing.assert_array_equal(rows, np.r_[15:685, 815:1485])
    np.testing.assert_allclose(motion.X[:, 4:], swing(time)[2][rows], atol=0.01)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"time": np.zeros(50)}, "does not increase strictly"),
        ({"time": np.zeros((50, 1))}, r"shapes \(50, 1\) and \(50, 2\)"),
        ({"position": np.zeros(50)}, r"expected \(n_rows,\) and \(n_rows, n_joints\)"),
        ({"velocity": np.zeros((50, 3))}, r"expected \(n_rows,\) and \(n_rows, 2\)"),
        ({"torque": np.zeros((49, 2))}, r"time and torque have the shapes \(50,\) and \(49, 2\)"),
        ({"torque": np.full((50, 2), np.nan)}, "time and torque are not finite"),
        ({"time": np.linspace(0.0, 50.0, 50), "position": np.zeros((50, 0))}, "shapes"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(changes, text):
    arrays = {"time": 0.002 * np.arange(50), "position": np.zeros((50, 2)), **changes}
    with pytest.raises(InvalidDataError, match=text):
        smoothed_motion(**arrays)


@pytest.mark.parametrize("n", [0, 1, 20])
def test_fewer_rows_than_a_window_are_refused(n):
    with pytest.raises(InvalidDataError, match=rf"has {n} rows; expected at least"):
        smoothed_motion(0.002 * np.arange(n), np.zeros((n, 2)))


def test_settings_are_checked():
    with pytest.raises(InvalidParameterError, match="filter_window is -1"):
        smoothed_motion(
            np.arange(50.0), np.zeros((50, 1)), settings=SampleSettings(filter_window=-1)
        )
