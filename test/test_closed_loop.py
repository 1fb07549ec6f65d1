# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The tracking benchmark goes on when a controller cannot."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def closed_loop(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    import closed_loop

    return closed_loop


def test_a_fault_is_the_result_of_a_controller_and_ends_nothing_else(closed_loop, capsys):
    def throw_the_elbow(arm):
        return closed_loop.LearnedTorque(lambda x: [0.0, 0.0, 0.0, 40.0])

    fault = closed_loop.outcome(throw_the_elbow, 3)
    assert closed_loop.report("thrown", [fault]) is None
    assert "fault: seed 3: fault at" in (shown := capsys.readouterr().out)
    assert "joint j4" in shown
