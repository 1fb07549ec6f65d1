# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""A global model behind the mixture: a linear regression of the tests' own, kept as sums."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.stats import multivariate_t
from scipy.stats import t as student_t

from ilr_dynamics.exceptions import InvalidDataError, InvalidParameterError, SnapshotError
from ilr_dynamics.regression import (
    HILR,
    ILR,
    BatchInference,
    GlobalModel,
    GlobalPrediction,
    Predictor,
    load_snapshot,
)
from ilr_dynamics.regression.shared import global_model

# So far from all data that the unseen component has all the weight but for the last digits.
FAR = np.array([[1e14, 0.0], [3.0, -1e16], [-1e15, 1e17]])


def line_class():
    @dataclass(frozen=True, eq=False)
    class Line(GlobalModel):
        """Y = B [x, 1] by ridge regression; `n_calls` counts how often it learned."""

        gram: np.ndarray
        pull: np.ndarray
        square: np.ndarray
        weight: float
        n_calls: int = 0

        name = "line"

        @classmethod
        def empty(cls, m=2, d=2):
            return cls(np.zeros((m + 1, m + 1)), np.zeros((m + 1, d)), np.zeros((d, d)), 0.0)

        def updated(self, X, Y, weights):
            U = np.column_stack([X, np.ones(len(X))])
            return replace(
                self,
                gram=self.gram + (weights * U.T) @ U,
                pull=self.pull + (weights * U.T) @ Y,
                square=self.square + (weights * Y.T) @ Y,
                weight=self.weight + weights.sum(),
                n_calls=self.n_calls + 1,
            )

        def discounted(self, factor):
            return replace(
                self,
                gram=factor * self.gram,
                pull=factor * self.pull,
                square=factor * self.square,
                weight=factor * self.weight,
            )

        @property
        def precision(self):
            return self.gram + 1e-3 * np.eye(len(self.gram))

        def predict(self, X):
            U = np.column_stack([X, np.ones(len(X))])
            mean = U @ np.linalg.solve(self.precision, self.pull)
            doubt = np.sum(U * np.linalg.solve(self.precision, U.T).T, axis=1)
            return GlobalPrediction(mean, 1.0 + doubt)

        @property
        def noise_shape(self):
            explained = self.pull.T @ np.linalg.solve(self.precision, self.pull)
            return (np.eye(len(self.square)) + self.square - explained) / self.dof

        @property
        def dof(self):
            return 3.0 + self.weight

        def arrays(self):
            return {
                "gram": self.gram,
                "pull": self.pull,
                "square": self.square,
                "weight": np.array(self.weight),
            }

        @classmethod
        def from_arrays(cls, arrays):
            sums = {name: arrays[name] for name in ("gram", "pull", "square")}
            return cls(**sums, weight=float(arrays["weight"]))

    return Line


@pytest.fixture(scope="module")
def line():
    """Let the tests of this module define global models without others learning their names."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(global_model, "_CLASSES", dict(global_model._CLASSES))
        yield line_class().empty()


@pytest.fixture(scope="module", params=[False, True], ids=["outputs", "residuals"])
def model(motion, line, request):
    return ILR(n_components=10, global_model=line, learn_residual=request.param).fit(*motion)


@pytest.fixture(scope="module")
def learned(motion, line):
    """What the global model must be after all samples."""
    return line.updated(*motion, np.ones(len(motion[0])))


def assert_same_sums(found, expected):
    for name, array in expected.arrays().items():
        np.testing.assert_allclose(found.arrays()[name], array, rtol=1e-12, err_msg=name)


def deviations(line, X):
    """Standard deviations (n, d) of the Student-t that a global model predicts."""
    variances = np.diagonal(line.noise_shape) * line.dof / (line.dof - 2.0)
    return np.sqrt(line.predict(X).factor[:, None] * variances)


def test_far_queries_return_to_the_global_model(model, learned):
    assert_same_sums(model.global_model_, learned)
    np.testing.assert_allclose(model.responsibilities(FAR)[:, -1], 1.0, atol=1e-12)
    for mode in ("mean", "mode"):
        mean, std = model.predict(FAR, return_std=True, mode=mode)
        np.testing.assert_allclose(mean, learned.predict(FAR).mean, rtol=1e-7)
        np.testing.assert_allclose(std, deviations(learned, FAR), rtol=1e-7)


def test_only_where_nothing_is_known_the_global_model_predicts(motion, line):
    X, Y = motion
    model, alone = (ILR(10, global_model=used).fit(X, Y) for used in (line, None))
    np.testing.assert_array_equal(model.statistics_, alone.statistics_)
    np.testing.assert_array_equal(model.responsibilities(X), alone.responsibilities(X))
    for found, expected in zip(
        model.predict_components(X), alone.predict_components(X), strict=True
    ):
        np.testing.assert_array_equal(found[:, :-1], expected[:, :-1])


def test_the_last_component_is_the_global_model(model, learned, motion):
    X = np.concatenate([motion[0][::40], FAR])
    _, means, covariances = model.predict_components(X)
    prediction = learned.predict(X)
    np.testing.assert_allclose(means[:, -1], prediction.mean, rtol=1e-9, atol=1e-9)
    covariance = learned.noise_shape * learned.dof / (learned.dof - 2.0)
    expected = prediction.factor[:, None, None] * covariance
    np.testing.assert_allclose(covariances[:, -1], expected, rtol=1e-9)


def test_the_last_component_of_a_hierarchy_is_it_too(motion, line, learned):
    model = HILR(
        n_components=5, global_model=line, inference=BatchInference(max_iterations=10)
    ).fit(*motion)
    _, means, _ = model.predict_components(motion[0][::40])
    expected = learned.predict(motion[0][::40]).mean
    np.testing.assert_allclose(means[:, -1], expected, rtol=1e-9, atol=1e-9)


def test_a_predictor_says_the_same_near_and_far_also_from_a_file(model, motion, tmp_path):
    model.predictor().save(tmp_path / "model.predictor")
    mapped = Predictor.open(tmp_path / "model.predictor")
    # Near, where the mixture ends, far away, and where nothing else counts.
    queries = np.concatenate([motion[0][::50], [[6.0, 100.0], [40.0, -900.0], [1e4, -1e6]], FAR])
    mean, std = model.predict(queries, return_std=True)
    size = np.abs(mean) + model.output_scaling_.scale
    for n, x in enumerate(queries):
        found, again = model.predictor().query(x), mapped.query(x)
        np.testing.assert_array_equal(found.mean, again.mean)
        np.testing.assert_array_equal(found.std, again.std)
        assert np.all(np.abs(found.mean - mean[n]) <= 1e-9 * size[n])
        np.testing.assert_allclose(found.std, std[n], rtol=1e-9)


def test_intervals_and_densities_are_of_the_global_model_where_nothing_is_known(model, learned):
    X = FAR[:1]
    prediction = learned.predict(X)
    shape = prediction.factor[0] * learned.noise_shape
    mean, scale = prediction.mean[0], np.sqrt(np.diagonal(shape))
    lower, upper = model.predict_interval(X, 0.9)
    for found, probability in ((lower, 0.05), (upper, 0.95)):
        expected = mean + scale * student_t.ppf(probability, learned.dof)
        assert np.all(np.abs(found[0] - expected) < 1e-4 * scale)
    Y = mean + scale * [0.5, -1.5]
    expected = multivariate_t(mean, shape, learned.dof).logpdf(Y)
    assert model.log_predictive_density(X, Y[None])[0] == pytest.approx(expected, abs=1e-4)


def test_a_loaded_model_says_the_same_bits_and_learns_on(motion, line, tmp_path):
    X, Y = motion
    model = ILR(n_components=10, global_model=line, forgetting_factor=0.5).fit(X[:200], Y[:200])
    model.save(tmp_path / "model.npz")
    loaded = load_snapshot(tmp_path / "model.npz")
    queries = np.concatenate([X, FAR])
    for learning_on in (False, True):
        if learning_on:
            for m in (model, loaded):
                m.partial_fit(X[200:], Y[200:])
        for found, expected in zip(
            loaded.predict(queries, True), model.predict(queries, True), strict=True
        ):
            np.testing.assert_array_equal(found, expected)
        assert_same_sums(loaded.global_model_, model.global_model_)


def test_another_fit_counts_no_sample_twice(motion, line, learned, tmp_path):
    model = ILR(n_components=5, global_model=line).fit(*motion)
    model.save(tmp_path / "model.npz")
    loaded = load_snapshot(tmp_path / "model.npz")
    assert_same_sums(loaded.global_model_, learned)
    for m in (model, loaded):
        assert m.global_model.weight == 0.0
        assert_same_sums(m.fit(*motion).global_model_, learned)


def test_new_samples_are_passed_on_once_with_their_weights(motion, line):
    X, Y = motion
    weights = np.arange(400) % 3 + 0.5
    weights[::7] = 0.0
    model = ILR(n_components=5, global_model=line, inference=BatchInference(n_restarts=3))
    for n, rows in enumerate((slice(0, 150), slice(150, 300), slice(300, 400))):
        model.partial_fit(X[rows], Y[rows], weights[rows])
        assert model.global_model_.n_calls == n + 1
    assert_same_sums(model.global_model_, line.updated(X, Y, weights))
    assert line.weight == 0.0


def test_the_global_model_forgets_as_the_components_do(motion, line):
    X, Y = motion
    ones = np.ones(200)
    model = ILR(n_components=5, global_model=line, forgetting_factor=0.25)
    model.partial_fit(X[:200], Y[:200]).partial_fit(X[200:], Y[200:])
    earlier = line.updated(X[:200], Y[:200], 0.25 * ones)
    assert_same_sums(model.global_model_, earlier.updated(X[200:], Y[200:], ones))
    total = np.sum(model.prior_.counts(model.statistics_))
    assert model.global_model_.weight == pytest.approx(total, rel=1e-9)


def test_what_the_first_fit_took_stays_when_the_parameter_changes(motion, line, learned):
    model = ILR(n_components=3, global_model=line).fit(*motion)
    model.set_params(global_model=None).partial_fit(*motion)
    assert_same_sums(model.global_model_, learned.updated(*motion, np.ones(400)))
    assert model.fit(*motion).global_model_ is None


def altered(line, **changes):
    """Global model that says something else in some respect; it has no name of its own."""
    prediction = {name: changes.pop(name) for name in ("mean", "factor") if name in changes}
    expected = changes.pop("expected", lambda mean: mean)

    class Altered(type(line)):
        def predict(self, X):
            said = super().predict(X)
            return replace(said, **{k: f(getattr(said, k)) for k, f in prediction.items()})

        def expected(self, X):
            return expected(super().expected(X))

    for name, change in changes.items():
        getter = getattr(type(line), name).fget
        setattr(Altered, name, property(lambda self, g=getter, c=change: c(g(self))))
    return Altered.empty()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mean": lambda mean: mean[:, :1]}, r"mean .* shape \(400, 2\), got \(400, 1\)"),
        ({"mean": lambda mean: mean[0]}, r"mean .* shape \(400, 2\), got \(2,\)"),
        ({"mean": lambda mean: np.where(mean > 0.0, np.nan, mean)}, "mean .* not finite"),
        ({"expected": lambda mean: mean[:, :1]}, r"expected .* \(400, 2\), got \(400, 1\)"),
        ({"expected": lambda mean: np.nan * mean}, "expected .* not finite"),
        ({"factor": lambda factor: factor[:, None]}, r"factor .* \(400,\), got \(400, 1\)"),
        ({"factor": lambda factor: factor + np.inf}, "factor .* not finite"),
        ({"factor": lambda factor: -factor}, "must be positive"),
        ({"noise_shape": np.diagonal}, r"noise_shape .* \(2, 2\), got \(2,\)"),
        ({"noise_shape": lambda shape: np.nan * shape}, "noise_shape .* not finite"),
        ({"dof": lambda dof: [dof]}, r"dof .* shape \(\), got \(1,\)"),
        ({"dof": lambda dof: 2.0}, "dof above 2, got .* 2.0"),
    ],
)
def test_what_does_not_fit_the_model_is_refused(motion, line, changes, message):
    model = ILR(2, global_model=altered(line, **changes), learn_residual=True)
    with pytest.raises(InvalidDataError, match=message):
        model.fit(*motion)


def test_what_does_not_fit_new_samples_is_refused_and_changes_nothing(motion, line):
    X, Y = motion
    holes = altered(line, mean=lambda mean: np.where(len(mean) < 200, np.nan, mean))
    model = ILR(n_components=2, global_model=holes).fit(X[:300], Y[:300])
    statistics, learned = model.statistics_, model.global_model_
    with pytest.raises(InvalidDataError, match="not finite"):
        model.partial_fit(X[300:], Y[300:])
    assert model.statistics_ is statistics
    assert model.global_model_ is learned


@pytest.mark.parametrize("value", ["line", 3.0, GlobalModel, np.eye(2)])
def test_what_is_no_global_model_is_refused(motion, value):
    with pytest.raises(InvalidParameterError, match="global_model must be a GlobalModel or None"):
        ILR(global_model=value).fit(*motion)


def test_files_are_refused_where_the_class_is_not_known(motion, line, tmp_path, monkeypatch):
    model = ILR(n_components=2, global_model=line).fit(*motion)
    model.save(tmp_path / "model.npz")
    model.predictor().save(tmp_path / "model.predictor")
    monkeypatch.delitem(global_model._CLASSES, "line")
    with pytest.raises(SnapshotError, match="no global model 'line'.*import"):
        load_snapshot(tmp_path / "model.npz")
    with pytest.raises(SnapshotError, match="no global model 'line'.*import"):
        Predictor.open(tmp_path / "model.predictor")


def test_files_are_refused_where_the_global_model_does_not_fit(
    motion, line, tmp_path, monkeypatch
):
    model = ILR(n_components=2, global_model=line).fit(*motion)
    model.save(tmp_path / "model.npz")
    model.predictor().save(tmp_path / "model.predictor")
    other = classmethod(lambda cls, arrays: line.empty(2, 3))
    monkeypatch.setattr(type(line), "from_arrays", other)
    with pytest.raises(SnapshotError, match=r"mean of the global model must have shape \(1, 2\)"):
        load_snapshot(tmp_path / "model.npz")
    with pytest.raises(SnapshotError, match=r"mean of the global model must have shape \(1, 2\)"):
        Predictor.open(tmp_path / "model.predictor")


def test_a_class_that_could_not_be_found_again_is_not_saved(motion, line, tmp_path):
    model = ILR(n_components=2, global_model=altered(line)).fit(*motion)
    for write in (model.save, model.predictor().save):
        with pytest.raises(SnapshotError, match="Altered cannot be saved"):
            write(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_name_that_another_class_has_is_refused():
    with pytest.raises(TypeError, match="'linear' is that of .*LinearGlobalModel"):

        class Line(GlobalModel):
            name = "linear"
