# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The benchmark of planned motions: its rival, its ratios, its verdict."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.identified_dynamics import IdentifiedDynamics

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(autouse=True)
def benchmarks(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])


def test_base_columns_span_all_columns_and_depend_on_no_other():
    from _condition_motion import _columns, base_columns, condition_number

    dynamics = IdentifiedDynamics.from_description(load_description("wam4"))
    random = np.random.default_rng(0)
    states = random.uniform(-1.0, 1.0, (200, 12))
    whole = _columns(dynamics.regressor, states)
    base = base_columns(dynamics.regressor, states)
    assert len(base) == np.linalg.matrix_rank(whole, tol=1e-6 * np.linalg.norm(whole))
    assert len(base) < whole.shape[1] == 4 * 13
    others = np.linalg.lstsq(whole[:, base], whole, rcond=None)[0]
    np.testing.assert_allclose(whole[:, base] @ others, whole, atol=1e-6)
    number = condition_number(dynamics.regressor, base, states)
    assert number == pytest.approx(np.linalg.cond(whole[:, base]), rel=1e-6)
    # Joints that move by little tell them apart worse.
    assert condition_number(dynamics.regressor, base, 0.1 * states) > 2.0 * number


def errors(**of_paths):
    return {path: {"mse": mse} for path, mse in of_paths.items()}


def results(planned):
    return {
        "first eight": [errors(T1=9.0, A=9.0)] * 3,
        "eights": [errors(T1=1.0, A=10.0)] * 3,
        "random postures": [errors(T1=0.1, A=5.0)] * 3,
        "planned": planned,
    }


def test_ratios_are_of_medians_and_t1_is_held_against_eights_alone(capsys):
    from plan import report

    planned = [errors(T1=t1, A=a) for t1, a in ((1.2, 3.0), (0.1, 4.0), (9.0, 5.0))]
    found = report("own", results(planned), ("T1", "A"))
    assert found["ratios"] == {
        "eights": {"T1": 1.2, "A": 0.4},
        "random postures": {"T1": 12.0, "A": 0.8},
    }
    assert found["met"] is True and found["faults"] == 0
    assert "planned / eights" in capsys.readouterr().out
    worse = [errors(T1=1.2, A=4.5)] * 3
    assert report("own", results(worse), ("T1", "A"))["met"] is False


def test_a_fault_is_no_success_and_is_told(capsys):
    from plan import report

    planned = [errors(T1=0.1, A=0.1), errors(T1=0.1, A=0.1), {**errors(T1=0.1), "A": {}}]
    planned[2]["A"] = {"fault": "while recording: the arm left its limits"}
    found = report("own", results(planned), ("T1", "A"))
    assert found["met"] is False and found["faults"] == 1
    assert found["mse"]["planned"]["A"] is None
    assert "planned, seed 2, A: while recording: the arm left" in capsys.readouterr().out
