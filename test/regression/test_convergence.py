# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Fits that do not converge say so."""

import re
import warnings

import numpy as np
import pytest

from ilr_dynamics.exceptions import ConvergenceWarning
from ilr_dynamics.regression import HILR, ILR, BatchInference, StochasticInference

DRAW = np.random.default_rng(0)
X = DRAW.uniform(-3.0, 3.0, (400, 1))
Y = np.sin(2.0 * X) + 0.1 * DRAW.normal(size=X.shape)


@pytest.mark.parametrize("kind", [ILR, HILR])
@pytest.mark.parametrize("learn", ["fit", "partial_fit", "partial_fit again"])
def test_a_fit_that_ends_early_warns_its_caller_with_the_figures(kind, learn):
    model = kind(30, inference=BatchInference(max_iterations=4))
    if learn == "partial_fit again":
        with pytest.warns(ConvergenceWarning):
            model.fit(X, Y)
    with pytest.warns(ConvergenceWarning) as caught:
        getattr(model, learn.split()[0])(X, Y)
    (warning,) = caught
    assert warning.filename == __file__
    growth = np.diff(model.lower_bounds_)[-1] / 400.0
    assert f"number 4, which changed the lower bound by {growth:.2g} nats" in str(warning.message)
    assert "at most 0.0001 (tolerance): raise max_iterations" in str(warning.message)
    assert not model.converged_


def test_a_fit_that_converges_is_silent():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = ILR(30).fit(X, Y)
    assert model.converged_ and model.lower_bounds_.size < 200


def test_of_one_iteration_no_change_is_claimed():
    with pytest.warns(ConvergenceWarning, match="number 1, which had none before it to compare"):
        ILR(5, inference=BatchInference(max_iterations=1)).fit(X, Y)


def test_a_bound_that_settled_too_early_to_be_sure_is_told_from_one_that_grows():
    inference = BatchInference(max_iterations=3, tolerance=1e3)
    with pytest.warns(ConvergenceWarning, match="expected as little once scales have moved"):
        ILR(30, inference=inference).fit(X, Y)
    inference = BatchInference(max_iterations=5, tolerance=1e3)
    assert ILR(30, inference=inference).fit(X, Y).lower_bounds_.size == 5


def test_passes_over_minibatches_that_still_differ_warn_too():
    inference = StochasticInference(max_iterations=3, batch_size=100)
    with pytest.warns(ConvergenceWarning) as caught:
        ILR(10, inference=inference).fit(X, Y)
    change = re.search(r"by (\S+) nats", str(caught[0].message))
    assert abs(float(change[1])) > 1e-4


def test_a_trial_model_of_the_calibration_does_not_warn_a_second_time():
    model = ILR(30, calibration_share=0.2, inference=BatchInference(max_iterations=5))
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(X, Y)
    assert len(caught) == 1
