# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The tracking benchmark of arms that no term describes: its paths, its counts, its tables."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(autouse=True)
def benchmarks(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])


@pytest.fixture
def arm():
    from _simulated_motion import Arm

    return Arm(0)


def sampled(path, step=0.002):
    times = np.arange(path.start, path.end + 0.5 * step, step)
    states = [path.sample(time) for time in times]
    return times - path.start, *(np.array(values) for values in zip(*states, strict=True))


def test_path_a_is_an_upright_circle_in_the_base_frame(arm):
    from _plant_paths import plant_path

    times, q, _, _ = sampled(plant_path("A", arm), 0.05)
    assert times[-1] == pytest.approx(20.0)
    points = np.array([arm.model.tool_position(position) for position in q])
    angle = 2.0 * np.pi * times / 2.5
    circle = np.column_stack([np.sin(angle), np.zeros_like(times), np.cos(angle)])
    ramp = np.clip(times / 1.5, 0.0, 1.0)
    blend = (ramp**2 * (3.0 - 2.0 * ramp))[:, None]
    np.testing.assert_allclose(points, [0.5, 0.2, 0.25] + 0.09 * blend * circle, atol=2e-6)


def test_motions_from_rest_to_rest_have_their_postures_pauses_and_speeds(arm):
    from _plant_paths import plant_path

    home, postures = np.array([0.0, 0.7, 0.0, 1.8]), []
    for name in ("R11", "R12", "R13"):
        path = plant_path(name, arm)
        times, q, qd, qdd = sampled(path)
        np.testing.assert_allclose(q[0], home)
        assert path.degree == 5
        assert np.max(np.abs(q - home)) <= 0.4 + 1e-9
        still = np.max(np.abs(qd), axis=1) + np.max(np.abs(qdd), axis=1) < 1e-9
        edges = np.flatnonzero(np.diff(np.concatenate([[0], still, [0]])))
        pauses = [(a, b) for a, b in edges.reshape(-1, 2) if b - a > 2]
        assert len(pauses) == 8
        begin = 0
        for a, b in pauses:
            assert 0.002 * (b - a) == pytest.approx(0.5, abs=0.0041)
            peak, duration = np.max(np.abs(qd[begin:a])), times[a] - times[begin]
            assert peak == pytest.approx(1.0, abs=2e-4) or (
                peak < 1.0 and duration == pytest.approx(0.8, abs=0.0041)
            )
            begin = b - 1
            postures.append(q[a])
    assert len(np.unique(np.round(postures, 6), axis=0)) == 24


def test_intervals_are_judged_where_joints_move():
    from _interval_figures import interval_figures

    Y = np.array([[1.0, 5.0], [2.0, 0.0], [-3.0, 0.0]])
    velocity = np.array([[0.1, 0.0], [-0.06, 0.04], [0.2, 0.3]])
    figures = interval_figures(Y, velocity, np.full((3, 2), -1.0), np.full((3, 2), 1.5))
    # 1 inside, 2 above by 0.5, -3 below by 2, 0 inside; 5 is of a joint at rest.
    assert figures["coverage"] == 0.5
    assert figures["interval_width"] == 2.5
    assert figures["interval_score"] == pytest.approx(2.5 + 40.0 * (0.5 + 2.0) / 4.0)


def test_stretches_count_where_the_learned_torque_is_wrong_and_the_gate_may_know_it():
    from _interval_figures import gate_where_wrong

    # Six stretches of four samples and a short one; the second joint's torque is 10 Nm, rms.
    Y = np.tile([0.0, 10.0], (26, 1))
    learned, analytic, gate = Y.copy(), Y + 0.2, np.ones(26)
    learned[0:4, 0] += 0.49  # not enough of an error
    learned[4:8, 0] += 0.51  # wrong, and the gate is open
    learned[8:12, 1] += 1.4  # not enough for this joint
    learned[12:16, 1] += 1.6  # wrong, and the gate is half open
    gate[12:16] = [1.0, 0.0, 1.0, 0.0]
    learned[16:20] += 3.0  # no more than twice as wrong as the analytic model
    analytic[16:20] += 1.4
    learned[20, 0] += 1.1  # wrong by its root mean square, and refused
    gate[20:24] = 0.0
    learned[24:] += 9.0  # the rest is no stretch
    counts = gate_where_wrong(Y, learned, analytic, gate, 4)
    assert counts == {"stretches": 3, "gate_at_most_half": 2}


def of_paths(**figures):
    from _plant_paths import PATHS

    return {path: dict(figures) for path in PATHS}


def test_figures_with_a_fault_are_none_and_say_so(capsys):
    from _plant_tables import print_plant

    product = [
        of_paths(
            mse=mse, coverage=0.9, interval_width=1.0, interval_score=2.0, gate_mean=1.0,
            stretches=3, gate_at_most_half=1,
        )
        for mse in (1e-4, 2e-4, 4e-4)
    ]  # fmt: skip
    product[2]["A"] = {"fault": "joint j1 threw something"}
    identified = [of_paths(mse=1e-4), of_paths(fault="while learning: lost"), of_paths(mse=1e-4)]
    analytic = [of_paths(mse=2e-4)] * 3
    results = {"physics_ilr_pd": product, "identified_pd": identified, "analytic_pd": analytic}
    figures, ratios = print_plant("made up", results)
    assert figures["physics_ilr_pd"]["T1"] == {
        "mse": 2e-4, "coverage": 0.9, "interval_width": 1.0, "interval_score": 2.0,
        "gate_mean": 1.0,
    }  # fmt: skip
    assert figures["physics_ilr_pd"]["A"]["mse"] is None
    assert figures["physics_ilr_pd"]["A"]["faults"] == 1
    assert figures["identified_pd"]["T1"]["mse"] is None
    # 20 tracked paths; of the best of each seed the last is four times as good.
    assert figures["gate_where_wrong"] == {"stretches": 60, "gate_at_most_half": 20, "faults": 1}
    assert ratios["T1"] == {"median": 1.0, "worst": 4.0}
    assert ratios["A"] == {"median": None, "worst": None}
    printed = capsys.readouterr().out
    assert "identified_pd   fault, seed 1, T1, T2, T3, A, R11, R12, R13: while learning" in printed
    assert "physics_ilr_pd  fault, seed 2, A: joint j1 threw something" in printed


def test_ratios_are_to_the_best_there_is_of_the_same_seeds():
    from _plant_tables import ratios

    results = {
        "physics_ilr_pd": [of_paths(mse=2e-4), of_paths(mse=3e-4)],
        "pd": [of_paths(mse=1e-2), of_paths(mse=1e-2)],
        "analytic_pd": [of_paths(mse=4e-4), of_paths(mse=1e-4)],
    }
    assert ratios("A", results, []) == {"median": 1.0, "worst": 3.0}
    assert ratios("A", results, [1e-4]) == {"median": 2.5, "worst": 3.0}
    assert ratios("A", results, [1e-4, None]) == {"median": 1.0, "worst": 3.0}
    assert ratios("A", results, [5e-5, 1e-4]) == {"median": 3.333, "worst": 4.0}


def test_a_fault_ends_one_path_and_none_of_the_others(arm):
    from _learners import LearnedTorque
    from _plant_experiments import _figures
    from _plant_paths import plant_path

    throw_the_elbow = LearnedTorque(lambda x: [0.0, 0.0, 0.0, 40.0])
    result = _figures(arm, throw_the_elbow, None, plant_path("R11", arm))
    assert list(result) == ["fault"]
    assert "joint j4" in result["fault"]


def test_the_product_goes_through_its_gate_to_the_analytic_torque(arm):
    from _learners import product_feedforward

    from ilr_dynamics.control import Reference, RigidBodyFeedForward
    from ilr_dynamics.regression.predictor import Prediction

    class Unsure:
        has_global_model = True
        prior_std = None

        def query(self, x):
            return Prediction(np.full(4, 7.0), np.full(4, 1e3), np.zeros(4), 0, 0.0)

    reference = Reference.at_rest([0.0, 0.7, 0.0, 1.8])
    answer = product_feedforward(arm, Unsure())(reference)
    assert answer.gate == 0.0
    analytic = RigidBodyFeedForward(arm.model)(reference).torque
    np.testing.assert_allclose(answer.torque, analytic)


def test_joints_carry_what_the_hose_does_not():
    from _hard_plants import HoseInverse, hard_arm, hose_torque, perfect_inverse
    from _plant_inverse import PlantInverse

    pulled, usual = hard_arm("hose", 0), hard_arm("own", 0)
    x = np.concatenate([[0.0, 0.7, 0.0, 1.8], np.zeros(4), np.zeros(4)])
    inverse = perfect_inverse(pulled)
    assert perfect_inverse(usual)(x) == pytest.approx(PlantInverse(usual.plant)(*np.split(x, 3)))
    model, data = pulled.plant._model, pulled.plant._data
    hose = hose_torque(model, data)
    position = pulled.plant.position
    still = np.concatenate([position, np.zeros(8)])
    # At rest there is no friction, and the drives give what the hose does not.
    expected = PlantInverse(usual.plant)(*np.split(still, 3)) - hose
    assert np.max(np.abs(hose)) > 0.5
    np.testing.assert_allclose(inverse(still), expected, atol=1e-9)
    moving = np.concatenate([position, np.ones(4), np.zeros(4)])
    difference = inverse(moving) + hose - PlantInverse(usual.plant)(*np.split(moving, 3))
    loads = [kind(arm.plant)._load(*np.split(moving, 3))
             for kind, arm in ((HoseInverse, pulled), (PlantInverse, usual))]  # fmt: skip
    np.testing.assert_allclose(difference, 0.03 * (np.abs(loads[0]) - np.abs(loads[1])), atol=1e-9)
