# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Both estimators among scikit-learn's tools, which they know of but do not need."""

import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.base import clone, is_regressor  # noqa: E402
from sklearn.exceptions import NotFittedError as SklearnNotFittedError  # noqa: E402
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402
from sklearn.utils.validation import check_is_fitted  # noqa: E402

from ilr_dynamics.exceptions import InvalidDataError, NotFittedError  # noqa: E402
from ilr_dynamics.regression import (  # noqa: E402
    HILR,
    ILR,
    BatchInference,
    Prior,
    Scaling,
    StochasticInference,
)

# A check that is listed here and passes fails the test, so this list cannot grow old. Checks of
# one-dimensional targets do not appear: the tag single_output=False says that Y always has two
# dimensions, and scikit-learn then reshapes the targets of its checks.
EXPECTED_FAILURES = {
    # It wants scikit-learn's own NotFittedError, not its base classes, which ours has too. To
    # derive from it, scikit-learn would have to be imported. `check_is_fitted`, which is what its
    # tools call, does raise scikit-learn's: see test_before_the_first_fit below.
    "check_estimators_unfitted": "ours is a NotFittedError that does not need scikit-learn",
    # The words are the ones it looks for, but it wants a TypeError. Here whatever is wrong with an
    # array is one class, InvalidDataError, and that is a ValueError.
    "check_dtype_object": "an object that is no number is an InvalidDataError, not a TypeError",
    # They call fit(X, y=...) and score(X, y=...). The outputs are a matrix and named Y in the
    # whole package; scikit-learn's tools pass them by position. What the checks look for is
    # tested by test_a_weight_counts_as_repetition and test_columns_are_counted.
    "check_sample_weight_equivalence_on_dense_data": "the outputs are named Y, not y",
    "check_n_features_in_after_fitting": "the outputs are named Y, not y",
}


@parametrize_with_checks(
    [kind(n_components=4, inference=BatchInference(max_iterations=5)) for kind in (ILR, HILR)],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES,
)
def test_scikit_learn_finds_its_conventions_kept(estimator, check):
    check(estimator)


def test_a_weight_counts_as_repetition():
    # One component, as the seeds of several are drawn at random among the rows.
    generator = np.random.default_rng(2)
    X, Y = generator.normal(size=(15, 3)), generator.normal(size=(15, 2))
    weights = generator.integers(0, 5, 15)
    weighted = ILR(n_components=1).fit(X, Y, sample_weight=weights)
    repeated = ILR(n_components=1).fit(
        np.repeat(X, weights, axis=0), np.repeat(Y, weights, axis=0)
    )
    for mine, other in zip(
        weighted.predict(X, return_std=True), repeated.predict(X, return_std=True), strict=True
    ):
        np.testing.assert_allclose(mine, other, rtol=1e-9)


def test_columns_are_counted(motion):
    X, Y = motion
    model = ILR(n_components=2).fit(X, Y)
    assert model.n_features_in_ == 2
    calls = [model.predict, lambda X: model.score(X, Y), lambda X: model.partial_fit(X, Y)]
    for call in calls:
        with pytest.raises(ValueError, match=r"X has 1 features, but \w+ is expecting 2 features"):
            call(X[:, :1])


def test_a_clone_has_the_parameters_and_nothing_learned(motion):
    generator = np.random.default_rng(5)
    model = ILR(
        n_components=5, random_state=generator, scaling=Scaling(input_scale=np.array([1.0, 2.0]))
    )
    copy = clone(model.fit(*motion))
    assert copy.n_components == 5
    np.testing.assert_array_equal(copy.scaling.input_scale, [1.0, 2.0])
    assert copy.scaling is not model.scaling
    assert copy.random_state is not generator
    assert not hasattr(copy, "posterior_")
    np.testing.assert_array_equal(
        clone(copy).fit(*motion).statistics_, clone(copy).fit(*motion).statistics_
    )


def test_before_the_first_fit():
    model = ILR()
    with pytest.raises(SklearnNotFittedError):
        check_is_fitted(model)
    with pytest.raises(NotFittedError) as caught:
        model.predict([[0.0]])
    # Who does not have scikit-learn's class catches its base classes.
    assert all(isinstance(caught.value, base) for base in SklearnNotFittedError.__bases__)


def test_after_a_fit_or_an_update(motion):
    for model in (ILR(n_components=3).fit(*motion), ILR(n_components=3).partial_fit(*motion)):
        check_is_fitted(model)
        assert is_regressor(model)


def test_targets_of_one_dimension_are_refused_with_what_to_do(motion):
    X, Y = motion
    with pytest.raises(InvalidDataError, match=r"Y must have two dim.*Reshape.*\[:, np.newaxis\]"):
        ILR().fit(X, Y[:, 0])


def test_grid_search_finds_that_more_components_explain_more(motion):
    X, Y = motion
    # Shuffled: a component more does not help where a whole stretch of the motion is missing.
    folds = KFold(3, shuffle=True, random_state=0)
    search = GridSearchCV(
        ILR(random_state=1), {"n_components": [1, 15]}, cv=folds, error_score="raise"
    )
    search.fit(X, Y, sample_weight=np.ones(len(X)))
    assert search.best_params_ == {"n_components": 15}
    assert search.predict(X).shape == Y.shape
    np.testing.assert_array_equal(
        search.predict(X), ILR(n_components=15, random_state=1).fit(X, Y).predict(X)
    )


def test_grid_search_reaches_into_groups(motion):
    X, Y = motion
    grid = {
        "prior": [Prior(), Prior(noise_std=0.3)],
        "prior__input_spread": [0.15, 3.0],
        "inference": ["batch", StochasticInference(batch_size=50)],
        "inference__max_iterations": [5],
    }
    folds = KFold(3, shuffle=True, random_state=0)
    search = GridSearchCV(ILR(15, random_state=1), grid, cv=folds, error_score="raise").fit(X, Y)
    assert len(search.cv_results_["params"]) == 8
    assert search.best_params_["prior__input_spread"] == 0.15
    assert search.best_estimator_.prior.input_spread == 0.15
    assert search.best_estimator_.inference.max_iterations == 5


def test_a_clone_of_a_group_is_equal():
    for group in (Prior(noise_std=0.3), StochasticInference(batch_size=7), Scaling(1.0)):
        assert clone(group) == group
        assert clone(group) is not group


def test_a_pipeline_passes_data_and_options_on(motion):
    X, Y = motion
    pipeline = make_pipeline(StandardScaler(), ILR(n_components=15))
    with pytest.raises(SklearnNotFittedError):
        check_is_fitted(pipeline)
    pipeline.set_params(ilr__prior__noise_std=0.2).fit(X, Y, ilr__sample_weight=np.ones(len(X)))
    mean, std = pipeline.predict(X, return_std=True)
    assert mean.shape == std.shape == Y.shape
    assert pipeline.score(X, Y) > 0.9
    assert "ILR(n_components=15, prior=Prior(noise_std=0.2))" in repr(pipeline)


@pytest.mark.parametrize("scoring", [None, "r2"])
def test_cross_validation_scores_held_out_data(motion, scoring):
    X, Y = motion
    scores = cross_val_score(
        ILR(n_components=15), X, Y, cv=3, scoring=scoring, error_score="raise"
    )
    first = np.arange(len(X)) < np.ceil(len(X) / 3)
    held_out = ILR(n_components=15).fit(X[~first], Y[~first]).score(X[first], Y[first])
    assert scores.shape == (3,)
    assert scores[0] == pytest.approx(held_out, rel=1e-12)


def test_scikit_learn_is_not_imported():
    script = """
import sys
from ilr_dynamics.regression import ILR
model = ILR(n_components=2)
model.set_params(prior__noise_std=0.2).fit([[0.0], [1.0]], [[0.0], [1.0]])
model.predict([[0.5]], return_std=True), model.score([[0.0]], [[0.0]]), repr(model)
try:
    ILR().predict([[0.5]])
except ValueError:
    pass
sys.exit("sklearn" in sys.modules)
"""
    subprocess.run([sys.executable, "-c", script], check=True)
