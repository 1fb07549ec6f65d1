# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The covering protocol of the tracking benchmark: its law of motions, distances and tables."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
from _covering_law import Box, box_around, covering_path, distance_ratios, states_of  # noqa: E402

sys.path.remove(str(BENCHMARKS))


@pytest.fixture(autouse=True)
def benchmarks(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])


BOX = Box(*np.array([[-0.2, 0.5], [0.3, 0.9], [0.4, 0.9], [1.4, 3.0]]))


def drawn(seed, duration, box=BOX):
    start = 0.5 * (box.lower + box.upper)
    return covering_path(box, start, duration, np.random.default_rng(seed))


def scaled(states, box=BOX):
    """States in shares of the box, from -1 to 1."""
    centre = np.concatenate([0.5 * (box.lower + box.upper), np.zeros(2 * len(box.lower))])
    return (states - centre) / box.half_widths


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 2**32),
    st.floats(0.05, 3.0),
    st.floats(0.05, 5.0),
    st.floats(0.1, 50.0),
    st.floats(0.0, 1.0),
)
def test_motions_stay_in_their_box_whatever_its_size(seed, width, speed, acceleration, where):
    box = Box(*np.array([[1.0, -width], [1.0 + width, width], [speed, 1.0], [acceleration, 4.0]]))
    start = box.lower + where * (box.upper - box.lower)
    path = covering_path(box, start, 8.0, np.random.default_rng(seed))
    assert path.end == pytest.approx(8.0)
    states = states_of(path)
    np.testing.assert_allclose(states[0], [*start, 0.0, 0.0, 0.0, 0.0], atol=1e-9)
    assert np.max(np.abs(scaled(states, box))) < 1.0 + 1e-6


def test_velocities_and_accelerations_are_derivatives_between_the_knots_too():
    path, step = drawn(3, 10.0), 1e-4
    times = np.arange(0.02, 9.9, 0.0173)
    before, at, after = (
        np.array([np.stack(path.sample(t + shift)) for t in times]) for shift in (-step, 0.0, step)
    )
    central = (after - before) / (2.0 * step)
    np.testing.assert_allclose(central[:, 0], at[:, 1], atol=1e-5)
    np.testing.assert_allclose(central[:, 1], at[:, 2], atol=1e-4)


def test_motions_fill_the_box_evenly_in_position_speed_and_acceleration():
    shares = scaled(np.concatenate([states_of(drawn(seed, 150.0)) for seed in range(3)]))
    for coordinate in shares.T:
        counts, _ = np.histogram(coordinate, 5, (-1.0, 1.0))
        assert np.min(counts) > 0.1 * len(shares)
    # One joint does not tell of another.
    across = np.corrcoef(shares.T)[::2, 1::2]
    assert np.max(np.abs(across)) < 0.2


def test_a_seed_draws_a_motion_of_its_own():
    np.testing.assert_array_equal(states_of(drawn(5, 3.0)), states_of(drawn(5, 3.0)))
    assert np.max(np.abs(states_of(drawn(5, 3.0)) - states_of(drawn(6, 3.0)))) > 0.05


def test_a_box_holds_the_states_of_its_paths_and_no_more():
    paths = [drawn(seed, 20.0) for seed in range(2)]
    box = box_around(paths)
    shares = np.concatenate([scaled(states_of(path), box) for path in paths])
    np.testing.assert_allclose(shares[:, :2].max(axis=0), 1.0)
    np.testing.assert_allclose(shares[:, :2].min(axis=0), -1.0)
    np.testing.assert_allclose(np.abs(shares[:, 2:]).max(axis=0), 1.0)


def test_distances_tell_a_copy_from_a_fresh_motion_and_from_one_far_away():
    X = np.concatenate([states_of(drawn(seed, 60.0)) for seed in range(3)])
    times = np.concatenate([100.0 * seed + 0.01 * np.arange(6000) for seed in range(3)])
    assert np.max(distance_ratios(X[500:600], X, times, BOX)) == 0.0
    fresh = states_of(drawn(9, 60.0))[::10]
    assert 0.7 < np.median(distance_ratios(fresh, X, times, BOX)) < 1.4
    far = fresh + np.array([10.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    assert np.min(distance_ratios(far, X, times, BOX)) > 10.0


def test_correlation_times_are_those_of_a_known_process():
    from _covering_oracles import correlation_times

    random, period, time = np.random.default_rng(0), 0.01, 0.2
    kept = np.exp(-period / time)
    noise = np.empty((20_000, 1))
    noise[0] = random.normal()
    for row, shock in enumerate(random.normal(size=len(noise) - 1), 1):
        noise[row] = kept * noise[row - 1] + np.sqrt(1.0 - kept**2) * shock
    X = random.normal(size=(len(noise), 2))
    found = correlation_times(
        X, X[:, :1] + noise, [slice(0, 10_000), slice(10_000, 20_000)], period
    )
    assert found == pytest.approx([time], rel=0.25)


def test_models_of_the_covering_protocol_stand_alone_and_learn_independent_samples():
    from _covering_models import CORRELATION_TIME, MODELS, new_model, weights_of
    from _simulated_motion import Arm

    arm = Arm(0)
    for name in MODELS:
        model = new_model(name, arm, 7)
        assert model.global_model is None
        assert (model.n_components, model.forgetting_factor) == (7, 1.0)
    box = Box(*np.array([[-0.3, 0.4, -0.3, 1.4], [0.3, 1.0, 0.3, 2.2], [0.9] * 4, [3.0] * 4]))
    X = states_of(drawn(1, 50.0, box))
    weights = weights_of(X, arm)
    # These are of 100 Hz.
    assert np.sum(weights) == pytest.approx(0.01 * len(X) / CORRELATION_TIME)


def test_tables_hold_medians_against_pd_and_name_faults(tmp_path, capsys):
    from _covering_tables import report_covering

    def keep(seed, name, results):
        (tmp_path / f"covering_wam4_{seed}_{name}.json").write_text(json.dumps(results))

    after = {"experts": 9, "slopes": 3, "error": [0.3, 0.2, 0.1], "prediction_us": 5.0}
    for seed, factor in enumerate((10.0, 20.0, 40.0)):
        keep(seed, "pd", {"mse": [1.0, 1.0, 2.0], "pd_torque": [4.0] * 3})
        keep(seed, "distances", dict.fromkeys(("T1", "T2", "T3"), [0.1, 0.5, 1.0, 1.5, 2.0]))
        of_model = {**after, "learning_s": 1.0, "mse": [1.0 / factor] * 3, "pd_torque": [1.0] * 3}
        keep(seed, "ilr_pd", of_model)
        keep(seed, "ilr_pd_batches", {"curve": [after] * 15, "fault": "joint j1 left"})
    keep(0, "ilr_pd_sweep", {"rows": [{"most": 10, "new_motion": 0.25, **after}]})
    of_learned = {
        "error": [0.3, 0.2, 0.1], "experts": 9, "unseen": [0.0] * 3, "speaking": [1.0] * 3,
        "distance": [0.9, 1.0, 1.1], "by_distance": [[0.5, 0.1], [0.5, 0.4], [0.0, None]],
    }  # fmt: skip
    weight = {"node": 900.0, "independent": 90.0}
    oracles = {"linear": [0.5, 0.6, 0.7]}
    of_set = {
        "samples": 1000,
        "correlation_s": [0.1],
        "forgotten": [False],
        "weight": weight,
        "oracles": oracles,
        "models": {"node": of_learned},
    }
    keep(0, "limits", {"large": of_set})
    summary = report_covering("wam4", 3, ["pd", "ilr_pd"], tmp_path, tmp_path)
    assert summary["times_below_pd"]["ilr_pd"] == {"T1": 20.0, "T2": 20.0, "T3": 40.0}
    assert summary["experts"] == {"ilr_pd": 9.0}
    assert summary["distances"]["T2"] == [0.1, 0.5, 1.0, 1.5, 2.0]
    printed = capsys.readouterr().out
    assert "ilr_pd_batches    fault, seed 2: joint j1 left" in printed
    assert "50% 0.400          0% -" in printed
    assert (tmp_path / "tracking_wam4_covering.png").stat().st_size > 10_000
