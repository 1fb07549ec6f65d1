# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Parameters and classes under the names of before: answered for one minor version."""

import warnings

import numpy as np
import pytest

from ilr_dynamics import regression
from ilr_dynamics.exceptions import InvalidParameterError
from ilr_dynamics.regression import (
    HILR,
    ILR,
    BatchInference,
    GlobalModel,
    GlobalPrediction,
    LinearGlobalModel,
    Prior,
    Scaling,
    StochasticInference,
)
from ilr_dynamics.regression.former_names import FORMER_NAMES

# A value of each other than its default, which the group takes.
VALUES = {
    "max_iterations": 7,
    "n_restarts": 2,
    "fit_scales": "outputs",
    "fit_concentration": True,
    "merge": True,
    "batch_size": 50,
    "fallback": LinearGlobalModel(),
}


def empty(name):
    """Estimator that has the parameter."""
    stochastic = name in ("batch_size", "step_delay", "step_rate")
    kind = HILR if name.startswith("upper") else ILR
    return kind(inference="stochastic" if stochastic else "batch")


@pytest.mark.parametrize("name", FORMER_NAMES)
def test_a_former_name_sets_the_present_parameter_and_says_so(name):
    value, present = VALUES.get(name, 0.75), FORMER_NAMES[name]
    expected = empty(name).set_params(**{present: value})
    assert expected.get_params()[present] is value
    with pytest.warns(DeprecationWarning, match=f"{name} of .*ILR is called {present}"):
        by_constructor = type(expected)(inference=empty(name).inference, **{name: value})
    with pytest.warns(DeprecationWarning, match=f"{name} of .*ILR is called {present}"):
        by_setting = empty(name).set_params(**{name: value})
    assert by_constructor.get_params() == by_setting.get_params() == expected.get_params()


def test_every_parameter_of_a_group_had_a_former_name():
    groups = {"prior": HILR().default_prior, "scaling": Scaling(), "inference": BatchInference()}
    present = {f"{k}__{name}" for k, group in groups.items() for name in group.get_params()}
    present |= {f"inference__{name}" for name in StochasticInference().get_params()}
    assert set(FORMER_NAMES.values()) == present | {"global_model"}


def test_the_warning_points_at_the_line_that_uses_the_name():
    for use in (lambda: ILR(noise_std=0.3), lambda: ILR().set_params(noise_std=0.3)):
        with pytest.warns(DeprecationWarning) as caught:
            use()
        assert [warning.filename for warning in caught] == [__file__]


def test_present_names_say_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ILR(prior=Prior(noise_std=0.2)).set_params(inference__merge=True, global_model=None)


def test_a_model_under_former_names_learns_the_same(motion):
    with pytest.warns(DeprecationWarning):
        former = ILR(5, noise_std=0.2, fit_scales=False, input_scale=[1.0, 200.0])
    present = ILR(
        5,
        prior=Prior(noise_std=0.2),
        inference=BatchInference(fit_scales=False),
        scaling=Scaling(input_scale=[1.0, 200.0]),
    )
    np.testing.assert_array_equal(
        former.fit(*motion).statistics_, present.fit(*motion).statistics_
    )


def test_a_value_out_of_range_is_refused_under_its_former_name_too():
    with pytest.warns(DeprecationWarning), pytest.raises(InvalidParameterError, match="noise_std"):
        ILR(noise_std=-1.0)


def test_names_that_never_were_are_refused():
    with pytest.raises(InvalidParameterError, match="ILR has no parameter 'depth'; it has"):
        ILR(depth=3)


@pytest.mark.parametrize("value", [None, 3.0])
def test_a_prior_mean_is_refused_with_what_takes_its_place(value):
    message = "prior_mean has gone: .*global_model=.*learn_residual=True.*docs/python.md"
    for use in (lambda: ILR(prior_mean=value), lambda: HILR().set_params(prior_mean=value)):
        with pytest.raises(InvalidParameterError, match=message):
            use()


@pytest.mark.parametrize(
    ("name", "present"),
    [
        ("Fallback", GlobalModel),
        ("FallbackPrediction", GlobalPrediction),
        ("LinearFallback", LinearGlobalModel),
    ],
)
def test_a_class_under_its_former_name_is_the_present_one(name, present):
    with pytest.warns(DeprecationWarning, match=f"{name} is called {present.__name__}") as caught:
        assert getattr(regression, name) is present
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.parametrize("name", ["PriorMean", "LinearPriorMean"])
def test_classes_of_prior_means_are_refused_with_what_takes_their_place(name):
    with pytest.raises(ImportError, match=f"{name} has gone: .*GlobalModel.*docs/python.md"):
        exec(f"from ilr_dynamics.regression import {name}")


def test_other_names_of_the_package_are_unknown_as_usual():
    with pytest.raises(AttributeError, match="has no attribute 'Depth'"):
        regression.Depth  # noqa: B018
