# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import naive_ilr as naive
import numpy as np
import pytest
from naive_predictive import draw_parameters

from ilr_dynamics.regression import Prior

SETTINGS = {
    "concentration": 4.0,
    "input_spread": 0.3,
    "input_strength": 5.0,
    "centre_spread": 2.5,
    "noise_std": 0.2,
    "noise_strength": 6.0,
    "slope_scale": 1.5,
}


@pytest.fixture(scope="module")
def drawn():
    prior = Prior(**SETTINGS).base_distribution(3, 0, 2)
    component = naive.components_of(prior.region, prior.regression)[0]
    return draw_parameters(component, np.random.default_rng(1), 20_000)


def assert_mean(values, expected):
    error = values.std(axis=0) / np.sqrt(len(values))
    assert np.all(np.abs(values.mean(axis=0) - expected) < 4.0 * error + 1e-12)


def test_inputs_of_a_component_have_the_spread_asked_for(drawn):
    _, precisions, _, _ = drawn
    assert_mean(np.linalg.inv(precisions), 0.3**2 * np.eye(3))


def test_centres_have_the_deviation_asked_for(drawn):
    centres, *_ = drawn
    assert_mean(centres, 0.0)
    assert_mean(centres**2, 2.5**2)


def test_noise_has_the_deviation_asked_for(drawn):
    *_, noises = drawn
    assert_mean(np.linalg.inv(noises), 0.2**2 * np.eye(2))


def test_outputs_move_by_the_slope_scale_when_all_inputs_move_by_one(drawn):
    _, _, maps, _ = drawn
    assert_mean(maps[:, :, :3].sum(axis=2) ** 2, 1.5**2)


def test_offsets_have_unit_deviation(drawn):
    _, _, maps, _ = drawn
    assert_mean(maps[:, :, 3] ** 2, 1.0)


@pytest.mark.parametrize("sizes", [(1, 1), (12, 4), (21, 7)])
def test_spread_of_the_prior_predictive_is_finite(sizes):
    prior = Prior(**{**SETTINGS, "noise_strength": 0.01}).base_distribution(sizes[0], 0, sizes[1])
    assert prior.regression.predictive_dof()[0] > 2.0
    assert prior.concentration == 4.0
