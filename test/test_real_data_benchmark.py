# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The benchmark `real_data` measures what it says, of peers that are what they say."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from scipy.stats import norm, t

from ilr_dynamics.robot.description import DESCRIPTION_FOLDER

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(autouse=True)
def benchmarks(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])


@pytest.fixture
def one_thread():
    """Threads that wait for each other beside other programs take minutes for what takes 1 s."""
    pytest.importorskip("sklearn")
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        yield


def test_the_interval_score_of_a_normal_distribution_is_that_in_closed_form():
    from _intervals import interval_score

    # 2 z from the width, 2 (2 / alpha) (pdf(z) - z alpha / 2) from what lies outside.
    std, z = np.array([1.0, 3.0]), norm.ppf(0.975)
    n = 200_000
    Y = norm.ppf((np.arange(n) + 0.5) / n)[:, None] * std
    half = np.broadcast_to(z * std, Y.shape)
    score = interval_score(-half, half, Y)
    np.testing.assert_allclose(score, 4.0 * norm.pdf(z) / 0.05 * std, rtol=1e-4)
    for factor in (0.8, 1.25):
        assert (interval_score(-factor * half, factor * half, Y) > score).all()


def test_interval_score_and_coverage_of_single_samples():
    from _intervals import coverage, interval_score

    Y = np.array([[0.0, 1.0], [0.5, 3.0], [-2.0, 2.0], [1.0, 0.0]])
    lower, upper = np.full(Y.shape, -1.0), np.ones(Y.shape)
    # Outside by one below, and by two and one above.
    expected = [2.0 + 40.0 * 1.0 / 4.0, 2.0 + 40.0 * 3.0 / 4.0]
    np.testing.assert_allclose(interval_score(lower, upper, Y), expected)
    np.testing.assert_array_equal(coverage(lower, upper, Y), [0.75, 0.5])


def _recording(folder, name, **more):
    random = np.random.default_rng(0)
    q, qd, qdd = random.standard_normal((3, 120, 2))
    tau = np.sin(q) + 0.3 * qd + 0.01 * random.standard_normal(q.shape)
    is_test = np.arange(len(q)) % 5 == 0
    np.savez(folder / name, q=q, qd=qd, qdd=qdd, tau=tau, is_test=is_test, **more)
    return np.hstack([q, qd, qdd]), tau, is_test


@pytest.mark.parametrize("are_named", [False, True])
def test_new_motions_are_those_that_the_file_names_or_else_the_last_fifth(tmp_path, are_named):
    from _real_data_sets import Recording

    is_new = np.arange(120) >= 96
    if are_named:
        is_new = (np.arange(120) >= 40) & (np.arange(120) < 70)
    X, Y, is_test = _recording(
        tmp_path, "some.npz", **({"is_new_motion": is_new} if are_named else {})
    )
    recording = Recording.of_file(tmp_path / "some.npz")
    splits = recording.splits()
    for protocol, test in (("interpolation", is_test), ("extrapolation", is_new)):
        split = splits[protocol]
        for found, expected in zip(
            (split.X, split.Y, split.X_test, split.Y_test),
            (X[~test], Y[~test], X[test], Y[test]),
            strict=True,
        ):
            np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(recording.never_tested_on()[0], X[~is_test & ~is_new])


def test_a_description_may_stand_beside_its_recording(tmp_path):
    from _real_data_sets import SETS

    baxter = SETS["real_baxter7"]
    assert baxter.missing(tmp_path) == ["real_baxter7.npz", "baxter_arm.urdf"]
    (tmp_path / "real_baxter7.npz").touch()
    urdf = next(DESCRIPTION_FOLDER.rglob("wam7.urdf"))
    shutil.copy(urdf, tmp_path / "baxter_arm.urdf")
    assert baxter.missing(tmp_path) == []
    assert baxter.description(tmp_path).urdf_path == tmp_path / "baxter_arm.urdf"
    assert SETS["real_barrett_wam7"].missing(tmp_path) == ["real_barrett_wam7.npz"]
    assert SETS["real_barrett_wam7"].description(tmp_path).n_joints == 7
    assert SETS["real_sarcos_small"].description(tmp_path) is None


def _problem(n):
    random = np.random.default_rng(1)
    X = random.standard_normal((n, 3)) * [1.0, 5.0, 0.1] + [0.0, 2.0, 1.0]
    Y = np.column_stack([np.sin(X[:, 0]), 10.0 + 3.0 * X[:, 1] * X[:, 2]])
    return X, Y + 0.1 * random.standard_normal(Y.shape)


@pytest.mark.usefixtures("one_thread")
def test_random_fourier_features_are_bayesian_ridge_regression_chosen_by_leaving_one_out():
    from _peers.random_fourier_features import RandomFourierFeatures
    from sklearn.linear_model import Ridge
    from sklearn.model_selection import LeaveOneOut, cross_val_predict

    class Small(RandomFourierFeatures):
        n_features = 30
        bandwidths = (0.25, 1.0)
        ridges = (1e-3, 1e-1, 10.0)

    X, Y = _problem(80)
    peer = Small(random_state=3).fit(X, Y)
    x, y = peer.inputs.apply(X), peer.outputs.apply(Y)

    # Each choice of one alone, so that its features are at hand.
    errors = {}
    for bandwidth in Small.bandwidths:
        one = Small(random_state=3)
        one.bandwidths, one.ridges = (bandwidth,), (1.0,)
        features = one.fit(X, Y)._features(x)
        for ridge in Small.ridges:
            model = Ridge(alpha=ridge, fit_intercept=False)
            left_out = cross_val_predict(model, features, y, cv=LeaveOneOut())
            errors[bandwidth, ridge] = np.mean((left_out - y) ** 2)
    assert (peer.bandwidth, peer.ridge) == min(errors, key=errors.__getitem__)

    features = peer._features(x)
    covariance = np.linalg.inv(features.T @ features + peer.ridge * np.eye(30))
    weights = covariance @ features.T @ y
    variance = np.mean(y * (y - features @ weights), axis=0)
    new = _problem(100)[0]
    mean, std = peer.predict(new)
    phi = peer._features(peer.inputs.apply(new))
    np.testing.assert_allclose(mean, peer.outputs.undo(phi @ weights), rtol=1e-7)
    spread = np.einsum("ni,ij,nj->n", phi, covariance, phi)
    scale = np.sqrt((1.0 + spread)[:, None] * variance) * peer.outputs.std
    np.testing.assert_allclose(norm.ppf(0.975) * std, t.ppf(0.975, 80) * scale, rtol=1e-7)
    np.testing.assert_allclose(peer.predict_one(new[0]), mean[0])


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("correlation", ["squared_exponential", "matern_5_2", "matern_3_2"])
def test_a_full_gaussian_process_has_the_likelihood_of_scikit_learn_s(correlation):
    from _peers.gaussian_process import GaussianProcess
    from _peers.kernels import negative_log_likelihood

    X, Y = _problem(120)
    peer = GaussianProcess(correlation=correlation).fit(X, Y)
    for process in peer.processes:
        assert len(process.X_train_) == len(X)
        for parameters in (process.kernel_.theta, process.kernel_.theta + 0.3):
            expected, slope = process.log_marginal_likelihood(parameters, eval_gradient=True)
            samples = process.X_train_, process.y_train_
            found, gradient = negative_log_likelihood(parameters, *samples, correlation)
            assert found == pytest.approx(-expected, rel=1e-6)
            np.testing.assert_allclose(gradient, -slope, rtol=1e-6, atol=1e-6)
            # The first are the most likely.
            assert expected <= process.log_marginal_likelihood_value_
    new, truth = _problem(160)[0][120:], _problem(160)[1][120:]
    mean, std = peer.predict(new)
    np.testing.assert_allclose(peer.predict_one(new[0]), mean[0], rtol=1e-6)
    # Of 80 values few are further off than three deviations.
    assert np.mean(np.abs(mean - truth) < 3.0 * std) > 0.9


@pytest.mark.usefixtures("one_thread")
def test_gradient_boosting_has_300_trees_for_each_output():
    from _peers.gradient_boosting import GradientBoosting

    X, Y = _problem(200)
    peer = GradientBoosting().fit(X, Y)
    assert [regressor.n_iter_ for regressor in peer.regressors] == [300, 300]
    mean, std = peer.predict(X)
    assert std is None
    assert (np.mean((mean - Y) ** 2, axis=0) < 0.1 * Y.var(axis=0)).all()
    np.testing.assert_array_equal(peer.predict_one(X[0]), mean[0])


def _figures(error, coverage=None, score=None):
    of = {} if coverage is None else {"interpolation": coverage}
    scores = {} if score is None else {"interpolation": score}
    return {"interpolation": error, "coverage": of, "interval_score": scores}


def test_targets_are_met_by_error_best_peer_coverage_and_score():
    from _real_data_targets import add_best_peers, fulfilled

    def held(ours, name="real_sarcos_small"):
        models = {
            "ilr": ours,
            "ilr_300": _figures(0.001, [0.95, 0.9], 0.1),
            "linear": _figures(0.1, [0.95, 0.9], 2.0),
            "nearest_neighbours": _figures(0.02),
            "random_fourier_features": _figures(0.03, [0.99, 0.99], 1.0),
        }
        add_best_peers(models)
        best = models["ilr"]["best_peer"]["interpolation"]
        assert (best["model"], best["nmse"]) == ("nearest_neighbours", 0.02)
        assert best["ratio"] == pytest.approx(ours["interpolation"] / 0.02, rel=1e-3)
        return fulfilled(name, "interpolation", "ilr", models)

    everything = {"error": True, "peers": True, "coverage": True, "score": True}
    assert held(_figures(0.0204, [0.93, 0.85], 1.0)) == everything
    assert held(_figures(0.0218, [0.95, 0.9], 1.0)) == everything | {"peers": False}
    assert held(_figures(0.03, [0.95, 0.9], 1.0)) == everything | {"error": False, "peers": False}
    assert held(_figures(0.01, [0.98, 0.9], 1.0)) == everything | {"coverage": False}
    assert held(_figures(0.01, [0.95, 0.84], 1.0)) == everything | {"coverage": False}
    assert held(_figures(0.01, [0.95, 0.9], 1.1)) == everything | {"score": False}
    assert held(_figures(0.01, [0.95, 0.9], 1.1), "simulated_wam4") == {}


@pytest.mark.usefixtures("one_thread")
def test_models_peers_and_numbers_of_components_are_measured(tmp_path, monkeypatch, capsys):
    import _real_data_models
    import real_data

    _recording(tmp_path, "real_sarcos_small.npz")
    monkeypatch.setitem(_real_data_models.CONFIGURATION, "n_components", 5)
    arguments = ["--data-dir", str(tmp_path), "--figures", str(tmp_path), "--seeds", "1"]
    sets = ["--sets", "real_baxter7", "real_sarcos_small"]
    models = ["--models", "ilr", "linear", "nearest_neighbours", "--components", "2", "4"]
    monkeypatch.setattr(sys, "argv", ["real_data", *arguments, *sets, *models])
    assert real_data.main() == 0
    lines = capsys.readouterr().out.splitlines()
    assert "no real_baxter7.npz, no baxter_arm.urdf in" in lines[0]
    report = json.loads(lines[-1])
    assert report.keys() == {"benchmark", "real_sarcos_small", "components"}
    of_set = report["real_sarcos_small"]
    for protocol in ("interpolation", "extrapolation"):
        assert of_set["ilr"]["best_peer"][protocol]["model"] in ("linear", "nearest_neighbours")
        for model in ("ilr", "linear"):
            figures = of_set[model]
            outputs = figures["coverage_of_outputs"][protocol]
            assert figures["coverage"][protocol] == pytest.approx(
                [np.mean(outputs), np.min(outputs)], rel=1e-3
            )
            assert figures["interval_score"][protocol] > 0.0
        assert of_set["nearest_neighbours"]["coverage"] == {}
        assert report["components"]["real_sarcos_small"][protocol].keys() == {"2", "4"}
    table = "\n".join(lines)
    assert "score" in table
    assert "coverage NO" in table or "coverage yes" in table
    assert (tmp_path / "real_data_real_sarcos_small.png").is_file()


def test_a_search_tries_a_method_s_own_settings_first_and_keeps_what_errs_least(one_thread):
    from _peer_search import best_settings, drawn_settings
    from _peers import NearestNeighbours, Peer
    from _real_data_sets import Split

    class Neighbours(NearestNeighbours):
        n_neighbours = 60
        choices: ClassVar = {"n_neighbours": (60, 1, 100)}

    class Fixed(Peer):
        pass

    assert drawn_settings(Fixed, 8) == [{}]
    tried = drawn_settings(Neighbours, 8)
    assert tried[0] == {"n_neighbours": 60}
    assert sorted(settings["n_neighbours"] for settings in tried) == [1, 60, 100]
    random = np.random.default_rng(0)
    X = random.uniform(-1.0, 1.0, (400, 1))
    Y = np.sin(9.0 * X)
    # Test rows that would choose a hundred.
    split = Split(X, Y, X, np.full_like(Y, Y.mean()))
    # Without noise the next one is best, of noise alone the mean of many.
    assert best_settings(Neighbours, split, "interpolation", 3)["n_neighbours"] == 1
    noise = Split(X, random.standard_normal(Y.shape), X, Y)
    assert best_settings(Neighbours, noise, "interpolation", 3)["n_neighbours"] > 1
    with pytest.raises(ValueError, match="no setting 'n_trees'; expected of"):
        Neighbours(n_trees=3)


@pytest.mark.parametrize("protocol", ["interpolation", "extrapolation"])
def test_a_search_holds_out_training_rows_as_the_protocol_does(protocol):
    from _peer_search import SEARCH_ROWS, held_out_of
    from _real_data_sets import Split

    X = np.arange(2.5 * SEARCH_ROWS)[:, None]
    part = held_out_of(Split(X, X, X[:1], X[:1]), protocol)
    held, kept = part.X_test[:, 0], part.X[:, 0]
    assert len(held) == (len(held) + len(kept)) // 5
    assert len(held) + len(kept) <= SEARCH_ROWS
    assert not set(held) & set(kept)
    assert bool(held.min() > kept.max()) is (protocol == "extrapolation")
