# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Errors of torques, against loops that follow the definitions word by word."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ilr_dynamics.cli.torque_errors import (
    LEAST_SHARE,
    covered_share,
    torque_errors,
    worst_seconds,
)


def drawn(seed: int, size: int, n_joints: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times with gaps, torques, and what was predicted."""
    random = np.random.default_rng(seed)
    steps = random.choice([0.01, 0.013, 0.4, 2.5], size=size, p=[0.6, 0.3, 0.06, 0.04])
    torque, predicted = random.normal(size=(2, size, n_joints))
    return np.cumsum(steps), torque, predicted * random.gamma(1.0, size=(size, 1))


def slowly_found(time, errors):
    """Every second that begins with a sample, and of those that are full the worst."""
    windows = [
        [row for row in range(len(time)) if begin <= time[row] < begin + 1.0] for begin in time
    ]
    most = max(map(len, windows))
    full = [rows for rows in windows if len(rows) >= LEAST_SHARE * most]
    found = []
    for joint in range(errors.shape[1]):
        rms = [float(np.sqrt(np.mean([errors[row, joint] ** 2 for row in w]))) for w in full]
        found.append((max(rms), {time[w[0]]: value for w, value in zip(full, rms, strict=True)}))
    return found


@given(st.integers(0, 10**6), st.integers(1, 120), st.integers(1, 3))
@settings(max_examples=40)
def test_the_worst_second_is_the_worst_of_all_seconds(seed, size, n_joints):
    time, torque, predicted = drawn(seed, size, n_joints)
    errors = predicted - torque
    found = worst_seconds(time, errors)
    for (rms, begin), (worst, by_begin) in zip(found, slowly_found(time, errors), strict=True):
        assert rms == pytest.approx(worst, rel=1e-6, abs=1e-9)
        # Where two are equally bad, either may be named.
        assert by_begin[begin] == pytest.approx(worst, rel=1e-6, abs=1e-9)


@given(st.integers(0, 10**6), st.lists(st.integers(2, 60), min_size=1, max_size=3))
@settings(max_examples=30)
def test_errors_of_several_recordings_are_those_of_all_their_samples(seed, sizes):
    parts = [drawn(seed + k, size, 2) for k, size in enumerate(sizes)]
    found = torque_errors(*zip(*parts, strict=True))
    for joint in range(2):
        square = [
            (p[joint] - y[joint]) ** 2 for _, Y, P in parts for y, p in zip(Y, P, strict=True)
        ]
        torque = [y[joint] for _, Y, _ in parts for y in Y]
        assert found.rms[joint] ** 2 == pytest.approx(np.mean(square))
        assert found.normalized[joint] == pytest.approx(np.mean(square) / np.var(torque))
        alone = [torque_errors([t], [Y], [P]).worst[joint].rms for t, Y, P in parts]
        assert found.worst[joint].rms == max(alone)
        assert found.worst[joint].recording == int(np.argmax(alone))
    assert found.total_rms == pytest.approx(np.sqrt(np.mean(found.rms**2)))


def test_a_burst_of_errors_is_found_where_it_is():
    time = np.arange(0.0, 20.0, 0.01)
    torque = np.sin(time)[:, None]
    predicted = torque.copy()
    predicted[730:830] += 2.0
    ((rms, begin),) = worst_seconds(time, predicted - torque)
    assert rms == pytest.approx(2.0)
    assert begin == pytest.approx(7.3)


def test_few_samples_before_a_gap_are_no_second():
    time = np.append(np.arange(0.0, 3.0, 0.01), [50.0, 50.01])
    errors = np.full((len(time), 1), 0.1)
    errors[-2:] = 9.0
    ((rms, begin),) = worst_seconds(time, errors)
    assert rms == pytest.approx(0.1) and begin < 3.0


def test_a_torque_that_never_changes_has_no_normalized_error():
    time, Y = np.arange(5.0), np.ones((5, 1))
    assert np.isnan(torque_errors([time], [Y], [Y + 0.5]).normalized).all()


def test_the_ends_of_an_interval_are_in_it():
    Y = np.array([[0.0], [1.0], [2.0], [3.0]])
    np.testing.assert_array_equal(
        covered_share(Y, np.full((4, 1), 1.0), np.full((4, 1), 2.0)), 0.5
    )
