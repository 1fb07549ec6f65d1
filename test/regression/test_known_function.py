# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""A global model that is known beforehand: components learn what it leaves."""

from dataclasses import dataclass

import numpy as np
import pytest

from ilr_dynamics.exceptions import InvalidDataError, SnapshotError
from ilr_dynamics.regression import (
    ILR,
    GlobalModel,
    GlobalPrediction,
    Predictor,
    Prior,
    Scaling,
    load_snapshot,
)
from ilr_dynamics.regression.shared import global_model

SLOPE, OFFSET = np.array([[2.0, 0.01], [-30.0, 0.2]]), np.array([1.0, -5.0])
NOISE = np.array([0.1, 5.0])


def known_class():
    @dataclass(frozen=True)
    class Known(GlobalModel):
        """Y = B x + b, but for a noise of these standard deviations."""

        slope: np.ndarray
        offset: np.ndarray
        noise: np.ndarray

        name = "known"
        dof = 1e3

        def updated(self, X, Y, weights):
            return self

        def discounted(self, factor):
            return self

        def predict(self, X):
            return GlobalPrediction(X @ self.slope.T + self.offset, np.ones(len(X)))

        @property
        def noise_shape(self):
            return np.diag(self.noise**2)

        def arrays(self):
            return {"slope": self.slope, "offset": self.offset, "noise": self.noise}

        @classmethod
        def from_arrays(cls, arrays):
            return cls(arrays["slope"], arrays["offset"], arrays["noise"])

    return Known


@pytest.fixture(scope="module")
def known():
    """Let the tests of this module define a global model without others learning its name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(global_model, "_CLASSES", dict(global_model._CLASSES))
        yield known_class()(SLOPE, OFFSET, NOISE)


def learner(known):
    return ILR(n_components=10, global_model=known, learn_residual=True)


def learner_of_residuals():
    return ILR(n_components=10, scaling=Scaling(output_location=0.0))


@pytest.fixture(scope="module")
def model(motion, known):
    return learner(known).fit(*motion)


def test_learning_is_learning_the_residual(model, motion, known):
    X, Y = motion
    of_residual = learner_of_residuals().fit(X, Y - known.expected(X))
    np.testing.assert_array_equal(model.statistics_, of_residual.statistics_)
    queries = np.concatenate([X[::20], [[10.0, 2000.0]]])
    added = known.expected(queries)
    weights, means, covariances = model.predict_components(queries)
    other_weights, other_means, other_covariances = of_residual.predict_components(queries)
    np.testing.assert_array_equal(weights, other_weights)
    np.testing.assert_allclose(means[:, :-1], (other_means + added[:, None])[:, :-1], rtol=1e-9)
    np.testing.assert_array_equal(covariances[:, :-1], other_covariances[:, :-1])
    mode, std = model.predict(X, return_std=True, mode="mode")
    other_mode, other_std = of_residual.predict(X, return_std=True, mode="mode")
    np.testing.assert_allclose(mode, other_mode + known.expected(X), rtol=1e-12)
    np.testing.assert_array_equal(std, other_std)


def test_intervals_and_densities_are_those_of_the_residual_where_components_know(motion, known):
    X, Y = motion
    # So few components are expected that the unseen one has no weight at the data.
    sure = {"prior": Prior(concentration=1e-9)}
    model = learner(known).set_params(**sure).fit(X, Y)
    of_residual = learner_of_residuals().set_params(**sure).fit(X, Y - known.expected(X))
    for found, other in zip(
        model.predict_interval(X), of_residual.predict_interval(X), strict=True
    ):
        np.testing.assert_allclose(found, other + known.expected(X), atol=1e-6)
    np.testing.assert_allclose(
        model.log_predictive_density(X, Y),
        of_residual.log_predictive_density(X, Y - known.expected(X)),
        atol=1e-6,
    )


def test_learning_on_is_learning_the_residual(motion, known):
    X, Y = motion
    model = learner(known).fit(X[:200], Y[:200])
    of_residual = learner_of_residuals().fit(X[:200], Y[:200] - known.expected(X[:200]))
    model.partial_fit(X[200:], Y[200:])
    of_residual.partial_fit(X[200:], Y[200:] - known.expected(X[200:]))
    np.testing.assert_array_equal(model.statistics_, of_residual.statistics_)
    assert model.score(X, Y) > 0.95


def test_far_from_all_data_the_prediction_returns_to_the_function(model, known):
    far = np.array([[1e14, 0.0], [3.0, -1e16], [-1e15, 1e17]])
    mean, std = model.predict(far, return_std=True)
    np.testing.assert_allclose(mean, known.expected(far), rtol=1e-6)
    np.testing.assert_allclose(std, np.tile(NOISE, (3, 1)), rtol=1e-2)


def test_an_exact_function_leaves_little_to_be_learned(known):
    generator = np.random.default_rng(0)
    X = generator.uniform(-1.0, 1.0, (200, 1))
    truth = type(known)(np.array([[50.0]]), np.array([10.0]), np.array([0.1]))
    Y = truth.expected(X) + 0.1 * generator.normal(size=X.shape)
    model = learner(truth).set_params(scaling__output_scale=1.0).fit(X, Y)
    elsewhere = np.array([[-4.0], [5.0]])
    mean, std = model.predict(elsewhere, return_std=True)
    np.testing.assert_allclose(mean, truth.expected(elsewhere), atol=2.0)
    assert np.all(np.abs(mean - truth.expected(elsewhere)) < 3.0 * std)


def test_a_predictor_adds_the_function_also_from_a_file(model, motion, tmp_path):
    model.predictor().save(tmp_path / "model.predictor")
    mapped = Predictor.open(tmp_path / "model.predictor")
    queries = np.concatenate([motion[0][::50], [[1e4, -1e6]]])
    mean, std = model.predict(queries, return_std=True)
    for n, x in enumerate(queries):
        found, again = model.predictor().query(x), mapped.query(x)
        np.testing.assert_array_equal(found.mean, again.mean)
        np.testing.assert_array_equal(found.std, again.std)
        np.testing.assert_allclose(found.mean, mean[n], rtol=1e-9)
        np.testing.assert_allclose(found.std, std[n], rtol=1e-9)


def test_a_class_of_ones_own_comes_back_by_its_name_and_learns_on(motion, known, tmp_path):
    X, Y = motion
    model = learner(known).fit(X[:200], Y[:200])
    model.save(tmp_path / "model.npz")
    loaded = load_snapshot(tmp_path / "model.npz")
    assert type(loaded.global_model) is type(known)
    assert loaded.global_model_ is loaded.global_model
    np.testing.assert_array_equal(loaded.global_model.slope, SLOPE)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    for m in (model, loaded):
        m.partial_fit(X[200:], Y[200:])
    np.testing.assert_array_equal(loaded.statistics_, model.statistics_)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_array_equal(loaded.fit(X, Y).predict(X), model.fit(X, Y).predict(X))


def test_an_installed_package_that_cannot_be_imported_is_named(tmp_path, monkeypatch):
    folder = tmp_path / "theirs-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Name: theirs\nVersion: 1.0\n")
    offered = f"[{global_model.ENTRY_POINTS}]\ntheirs = ilr_no_such_module:Theirs\n"
    offered += "renamed = ilr_dynamics.regression:NoSuchModel\n"
    (folder / "entry_points.txt").write_text(offered)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(SnapshotError, match="'theirs' cannot be imported from ilr_no_such_module"):
        global_model.global_model_from_arrays("theirs", {})
    with pytest.raises(SnapshotError, match="'renamed' cannot be imported from ilr_dynamics.reg"):
        global_model.global_model_from_arrays("renamed", {})
    with pytest.raises(SnapshotError, match="no global model 'ours' is known here"):
        global_model.global_model_from_arrays("ours", {})


@pytest.mark.parametrize(
    ("slope", "offset", "noise", "message"),
    [
        (np.ones((3, 2)), np.ones(3), NOISE, r"mean .* shape \(400, 2\), got \(400, 3\)"),
        (np.full((2, 2), np.nan), OFFSET, NOISE, "mean of the global model is not finite"),
        (SLOPE, OFFSET, np.ones(3), r"noise_shape .* shape \(2, 2\), got \(3, 3\)"),
    ],
)
def test_functions_that_do_not_fit_the_data_are_refused(
    motion, known, slope, offset, noise, message
):
    with pytest.raises(InvalidDataError, match=message):
        learner(type(known)(slope, offset, noise)).fit(*motion)


def test_the_text_of_an_estimator_shows_the_function(known):
    assert repr(known) in repr(learner(known))
