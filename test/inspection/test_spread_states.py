# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from ilr_dynamics.inspection.evidence import Evidence
from ilr_dynamics.inspection.spread_states import spread_states
from ilr_dynamics.recording import Recording, SampleSettings

N, PERIOD = 400_000, 0.002


@pytest.fixture(scope="module")
def hour():
    """A long motion, with one fast stroke to where no other goes."""
    rng = np.random.default_rng(0)
    time = PERIOD * np.arange(N)
    q = np.column_stack([np.sin(0.7 * time), 0.5 * np.cos(0.3 * time)])
    stroke = slice(200_123, 200_323)
    q[stroke, 1] += 2.0 * np.sin(np.pi * np.arange(200) / 200) ** 2
    stamp = np.round(1e9 * (time + 0.2 * PERIOD * rng.uniform(-1.0, 1.0, N))).astype(np.int64)
    velocity = np.gradient(q, PERIOD, axis=0).astype(np.float32)
    return Recording(
        ("a", "b"), stamp + 10**18, q, velocity, q + 1.0, True, False, Counter(), (150_000,)
    )


def test_a_short_recording_is_looked_at_whole(hour):
    spread = spread_states(hour, SampleSettings(), enough=5000)
    assert spread.recording is hour and spread.centres is None


def test_stretches_lie_around_states_spread_over_the_recording(hour):
    spread = spread_states(hour, SampleSettings(), enough=100)
    stretches = spread.recording
    assert 10_000 < len(stretches.stamp) < 30_000
    np.testing.assert_array_equal(
        spread.centres, hour.stamp[np.linspace(0, N - 1, 100).round().astype(int)]
    )
    assert np.isin(spread.centres, stretches.stamp).all()
    (begin,) = stretches.breaks
    assert stretches.stamp[begin - 1] < hour.stamp[150_000] <= stretches.stamp[begin]


def test_range_and_speed_are_those_of_the_whole(hour, monkeypatch):
    monkeypatch.setattr("ilr_dynamics.inspection.evidence.ENOUGH", 100)
    evidence = Evidence(hour, SampleSettings(), None, compensated=False)
    assert evidence.samples.n_used < 30_000
    position, velocity, _ = np.split(evidence.samples.X, 3, axis=1)
    np.testing.assert_allclose(np.ptp(position, axis=0), np.ptp(hour.position, axis=0), rtol=1e-3)
    fastest = np.abs(hour.velocity).max(axis=0)
    # Stamps have jitter.
    np.testing.assert_allclose(np.abs(velocity).max(axis=0), fastest, rtol=0.05)


def test_rows_are_the_states_around_which_the_stretches_lie(hour, monkeypatch):
    monkeypatch.setattr("ilr_dynamics.inspection.evidence.ENOUGH", 100)
    evidence = Evidence(hour, SampleSettings(), None, compensated=False)
    # The first and the last have no full window.
    assert len(evidence.rows) == 98
    assert evidence.duration == pytest.approx(N * PERIOD, rel=1e-3)
    for delay in (-0.02, 0.042):
        torque, known = evidence.torque(delay)
        assert known.all()
        place = np.searchsorted(hour.time, evidence.samples.time[evidence.rows] - delay)
        np.testing.assert_allclose(torque, hour.torque[place], atol=0.02)
