# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The tracking benchmarks go on when a controller cannot."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(autouse=True)
def benchmarks(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])


def test_a_fault_is_the_result_of_a_controller_and_ends_nothing_else():
    from _closed_loop import outcome, table_rows, track_tests
    from _learners import LearnedTorque
    from _simulated_motion import Arm

    throw_the_elbow = LearnedTorque(lambda x: [0.0, 0.0, 0.0, 40.0])
    fault = outcome(lambda: track_tests(Arm(3), throw_the_elbow), "seed 3")
    rows, figures = table_rows("thrown", [fault])
    assert figures is None
    assert "fault: seed 3: fault at" in rows[0]
    assert "joint j4" in rows[0]
