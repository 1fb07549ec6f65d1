# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ilr_dynamics.exceptions import InvalidDataError, InvalidParameterError
from ilr_dynamics.regression import ILR, Scaling, effective_sample_weights


def motion(duration, rate):
    t = np.arange(0.0, duration, 1.0 / rate)
    return np.column_stack([np.sin(2.0 * t), 2.0 * np.cos(2.0 * t), -4.0 * np.sin(2.0 * t)])


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.floats(0.01, 1.0))
def test_each_run_of_samples_near_its_first_weighs_one(seed, resolution):
    X = np.cumsum(0.1 * np.random.default_rng(seed).normal(size=(60, 2)), axis=0)
    weights = effective_sample_weights(X, 1.0, resolution)
    first = 0
    while first < len(X):
        last = first
        while last + 1 < len(X) and np.linalg.norm(X[last + 1] - X[first]) <= resolution:
            last += 1
        np.testing.assert_allclose(weights[first : last + 1].sum(), 1.0)
        first = last + 1


def test_standing_still_weighs_as_much_as_a_moment():
    still = np.full((5000, 3), 0.3) + 1e-3 * np.random.default_rng(0).normal(size=(5000, 3))
    moving = motion(10.0, 50.0)
    weights = effective_sample_weights(np.concatenate([moving, still]), [0.7, 1.4, 2.8])
    np.testing.assert_allclose(weights[: len(moving) - 1], 1.0)
    assert weights[len(moving) :].sum() == pytest.approx(1.0, abs=1e-6)


def test_sampling_faster_than_the_arm_moves_adds_little():
    scale = [0.7, 1.4, 2.8]
    slow, fast = (effective_sample_weights(motion(20.0, rate), scale) for rate in (25.0, 1000.0))
    assert slow.sum() == slow.size
    assert fast.sum() < 0.2 * fast.size


def test_a_model_is_as_unsure_after_a_minute_of_standing_still_as_after_a_moment():
    generator = np.random.default_rng(1)
    X = np.full((6000, 3), 0.3) + 1e-3 * generator.normal(size=(6000, 3))
    # The torque that friction happens to hold the arm with.
    Y = 0.8 + 1e-3 * generator.normal(size=(6000, 1))
    scaling = Scaling(input_location=0.0, input_scale=1.0, output_location=0.0, output_scale=1.0)
    spread = {}
    for name, weights in {
        "moment": effective_sample_weights(X[:100], 1.0),
        "minute": effective_sample_weights(X, 1.0),
        "as if independent": np.ones(len(X)),
    }.items():
        n = len(weights)
        model = ILR(n_components=5, scaling=scaling).fit(X[:n], Y[:n], weights)
        spread[name] = model.predict([[0.3, 0.3, 0.3]], return_std=True)[1][0, 0]
    assert spread["minute"] == pytest.approx(spread["moment"], rel=0.1)
    assert spread["as if independent"] < 0.3 * spread["moment"]


def test_without_resolution_all_samples_count():
    np.testing.assert_array_equal(effective_sample_weights(np.zeros((5, 2)), 1.0, 0.0), 1.0)


def test_an_input_that_never_changes_does_not_hide_the_others():
    X = np.column_stack([motion(10.0, 25.0), np.full(250, 3.0)])
    np.testing.assert_allclose(effective_sample_weights(X, X.std(axis=0)), 1.0)


@pytest.mark.parametrize("scale", [np.nan, -1.0, np.inf, [1.0], [1.0, 1.0, 1.0]])
def test_scales_that_cannot_be_meant_are_refused(scale):
    with pytest.raises(InvalidParameterError, match="scale must be"):
        effective_sample_weights(np.zeros((5, 2)), scale)


def test_odd_arguments_are_refused():
    with pytest.raises(InvalidParameterError, match="resolution"):
        effective_sample_weights(np.zeros((5, 2)), 1.0, -1.0)
    with pytest.raises(InvalidDataError):
        effective_sample_weights(np.zeros(5), 1.0)
