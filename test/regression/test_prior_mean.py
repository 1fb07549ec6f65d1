# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from ilr_dynamics.exceptions import InvalidDataError, InvalidParameterError, SnapshotError
from ilr_dynamics.regression import (
    ILR,
    LinearPriorMean,
    Predictor,
    PriorMean,
    Scaling,
    load_snapshot,
    prior_mean,
)

SLOPE, OFFSET = np.array([[2.0, 0.01], [-30.0, 0.2]]), np.array([1.0, -5.0])


@pytest.fixture
def known(monkeypatch):
    """Let one test define prior means without others learning their names."""
    monkeypatch.setattr(prior_mean._REGISTRY, "_classes", dict(prior_mean._REGISTRY._classes))


@pytest.fixture(scope="module")
def expected():
    return LinearPriorMean(SLOPE, OFFSET)


@pytest.fixture(scope="module")
def model(motion, expected):
    return ILR(n_components=10, prior_mean=expected).fit(*motion)


@pytest.fixture(scope="module")
def of_residual(motion, expected):
    return ILR(n_components=10, scaling=Scaling(output_location=0.0)).fit(
        motion[0], motion[1] - expected(motion[0])
    )


def test_a_linear_prior_mean_is_a_matrix_and_an_offset(expected):
    X = np.array([[1.0, 2.0], [0.0, 0.0], [-3.0, 5.0]])
    found = expected(X)
    for x, y in zip(X, found, strict=True):
        np.testing.assert_allclose(y, SLOPE @ x + OFFSET)


def test_learning_is_learning_the_residual(model, of_residual, motion, expected):
    X, Y = motion
    np.testing.assert_array_equal(model.statistics_, of_residual.statistics_)
    queries = np.concatenate([X[::20], [[10.0, 2000.0]]])
    added = expected(queries)
    for mode in ("mean", "mode"):
        mean, std = model.predict(queries, return_std=True, mode=mode)
        other_mean, other_std = of_residual.predict(queries, return_std=True, mode=mode)
        np.testing.assert_allclose(mean, other_mean + added, rtol=1e-12)
        np.testing.assert_array_equal(std, other_std)
    for found, other in zip(
        model.predict_interval(queries), of_residual.predict_interval(queries), strict=True
    ):
        np.testing.assert_allclose(found, other + added, rtol=1e-12)
    weights, means, covariances = model.predict_components(queries)
    other_weights, other_means, other_covariances = of_residual.predict_components(queries)
    np.testing.assert_array_equal(weights, other_weights)
    np.testing.assert_allclose(means, other_means + added[:, None, :], rtol=1e-9)
    np.testing.assert_array_equal(covariances, other_covariances)
    np.testing.assert_allclose(
        model.log_predictive_density(X, Y),
        of_residual.log_predictive_density(X, Y - expected(X)),
        rtol=1e-9,
        atol=1e-9,
    )


def test_learning_on_is_learning_the_residual(motion, expected):
    X, Y = motion
    with_mean = ILR(n_components=10, prior_mean=expected).fit(X[:200], Y[:200])
    without = ILR(n_components=10, scaling=Scaling(output_location=0.0)).fit(
        X[:200], Y[:200] - expected(X[:200])
    )
    with_mean.partial_fit(X[200:], Y[200:])
    without.partial_fit(X[200:], Y[200:] - expected(X[200:]))
    np.testing.assert_array_equal(with_mean.statistics_, without.statistics_)
    assert with_mean.score(X, Y) > 0.95


def test_what_the_first_fit_took_stays_when_the_parameter_changes(motion, expected):
    X, Y = motion
    model = ILR(n_components=4, prior_mean=expected).fit(X, Y)
    model.set_params(prior_mean=None).partial_fit(X, Y)
    assert model.prior_mean_ is expected
    assert model.fit(X, Y).prior_mean_ is None


def test_far_from_all_data_the_prediction_returns_to_the_prior_mean(motion, expected):
    X, Y = motion
    far = np.array([[1e7, 0.0], [3.0, -1e9], [-1e8, 1e10]])
    model = ILR(n_components=10, prior_mean=expected).fit(X, Y)
    np.testing.assert_allclose(model.predict(far), expected(far), rtol=1e-6)


def test_an_exact_prior_mean_leaves_little_to_be_learned():
    generator = np.random.default_rng(0)
    X = generator.uniform(-1.0, 1.0, (200, 1))
    truth = LinearPriorMean(np.array([[50.0]]), np.array([10.0]))
    Y = truth(X) + 0.1 * generator.normal(size=X.shape)
    model = ILR(n_components=10, prior_mean=truth, scaling=Scaling(output_scale=1.0)).fit(X, Y)
    elsewhere = np.array([[-4.0], [5.0]])
    mean, std = model.predict(elsewhere, return_std=True)
    np.testing.assert_allclose(mean, truth(elsewhere), atol=2.0)
    assert np.all(np.abs(mean - truth(elsewhere)) < 3.0 * std)


def test_a_predictor_adds_the_prior_mean_also_from_a_file(model, motion, tmp_path):
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


def test_a_loaded_model_says_the_same_bits_and_learns_on(motion, expected, tmp_path):
    X, Y = motion
    model = ILR(n_components=10, prior_mean=expected).fit(X[:200], Y[:200])
    model.save(tmp_path / "model.npz")
    loaded = load_snapshot(tmp_path / "model.npz")
    assert isinstance(loaded.prior_mean, LinearPriorMean)
    assert loaded.prior_mean_ is loaded.prior_mean
    np.testing.assert_array_equal(loaded.prior_mean_.slope, SLOPE)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    for m in (model, loaded):
        m.partial_fit(X[200:], Y[200:])
    np.testing.assert_array_equal(loaded.statistics_, model.statistics_)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_array_equal(loaded.fit(X, Y).predict(X), model.fit(X, Y).predict(X))


def pendulum_class():
    class Pendulum(PriorMean):
        name = "pendulum"

        def __init__(self, weight):
            self.weight = weight

        def __call__(self, X):
            return self.weight * np.sin(X)

        def arrays(self):
            return {"weight": np.array([self.weight])}

        @classmethod
        def from_arrays(cls, arrays):
            return cls(float(arrays["weight"][0]))

    return Pendulum


def test_a_class_of_ones_own_comes_back_by_its_name(motion, tmp_path, known):
    X, Y = motion
    model = ILR(n_components=4, prior_mean=pendulum_class()(4.5)).fit(X, Y)
    model.save(tmp_path / "model.npz")
    loaded = load_snapshot(tmp_path / "model.npz")
    assert loaded.prior_mean_.weight == 4.5
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_files_are_refused_where_the_class_is_not_known(motion, tmp_path, known, monkeypatch):
    model = ILR(n_components=2, prior_mean=pendulum_class()(4.5)).fit(*motion)
    model.save(tmp_path / "model.npz")
    model.predictor().save(tmp_path / "model.predictor")
    monkeypatch.delitem(prior_mean._REGISTRY._classes, "pendulum")
    with pytest.raises(SnapshotError, match="'pendulum'.*import"):
        load_snapshot(tmp_path / "model.npz")
    with pytest.raises(SnapshotError, match="'pendulum'.*import"):
        Predictor.open(tmp_path / "model.predictor")


def test_a_class_that_could_not_be_found_again_is_not_saved(motion, tmp_path, known):
    class Doubled(LinearPriorMean):
        """Without a name of its own it would come back as the class it derives from."""

        def __call__(self, X):
            return 2.0 * super().__call__(X)

    model = ILR(n_components=2, prior_mean=Doubled(SLOPE, OFFSET)).fit(*motion)
    for write in (model.save, model.predictor().save):
        with pytest.raises(SnapshotError, match="Doubled cannot be saved"):
            write(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_linear_prior_mean_shows_what_it_is():
    expected = LinearPriorMean([[2.0, 0.5]], [1.0])
    assert repr(expected) == "LinearPriorMean(slope=[[2.0, 0.5]], offset=[1.0])"
    assert repr(ILR(prior_mean=expected)) == f"ILR(prior_mean={expected!r})"


@pytest.mark.parametrize(
    ("slope", "offset"),
    [(np.ones(2), np.ones(2)), (np.ones((2, 2)), np.ones(3)), (np.ones((2, 2)), np.ones((2, 1)))],
)
def test_linear_prior_means_of_odd_shapes_are_refused(slope, offset):
    with pytest.raises(InvalidParameterError, match="n_outputs, n_inputs"):
        LinearPriorMean(slope, offset)


@pytest.mark.parametrize("value", ["linear", SLOPE, LinearPriorMean])
def test_what_is_no_prior_mean_is_refused(motion, value):
    with pytest.raises(InvalidParameterError, match="prior_mean must be a PriorMean or None"):
        ILR(prior_mean=value).fit(*motion)


def test_prior_means_that_do_not_fit_the_data_are_refused(motion):
    of_three_inputs = LinearPriorMean(np.ones((2, 3)), np.ones(2))
    with pytest.raises(InvalidDataError, match="takes 3 inputs, got 2"):
        ILR(prior_mean=of_three_inputs).fit(*motion)
    of_three_outputs = LinearPriorMean(np.ones((3, 2)), np.ones(3))
    with pytest.raises(InvalidDataError, match=r"must have shape \(400, 2\), got \(400, 3\)"):
        ILR(prior_mean=of_three_outputs).fit(*motion)
    without_value = LinearPriorMean(np.full((2, 2), np.nan), np.ones(2))
    with pytest.raises(InvalidDataError, match="prior mean is not finite"):
        ILR(prior_mean=without_value).fit(*motion)
