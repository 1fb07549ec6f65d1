# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""How much the states of a recording say that others do not."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from ilr_dynamics.inspection.evidence import ALIKE_MOTION, Evidence
from ilr_dynamics.recording import Recording, SampleSettings

PERIOD, LASTING = 0.002, 0.15


@pytest.fixture
def evidence():
    """Ten seconds in which one joint creeps, one is quick and one rests."""
    time = PERIOD * np.arange(5000)
    velocity = np.tile([0.05, 2.0, 0.0], (5000, 1))
    stamp = np.round(1e9 * time).astype(np.int64) + 10**18
    position = velocity * time[:, np.newaxis]
    torque = np.ones_like(position)
    recording = Recording(
        ("a", "b", "c"), stamp, position, velocity, torque, True, False, Counter(), ()
    )
    return Evidence(recording, SampleSettings(sample_rate=None), None, False)


def test_independent_states_are_counted_by_time_and_in_slow_motion_by_distance(evidence):
    creeping, quick, resting = evidence.independent_share(LASTING).sum(axis=0)
    assert creeping == pytest.approx(10.0 * 0.05 / ALIKE_MOTION, rel=0.05)
    assert quick == pytest.approx(10.0 / LASTING, rel=0.05)
    assert resting == pytest.approx(0.0, abs=0.05)
