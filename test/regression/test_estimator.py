# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import inspect

import numpy as np
import pytest

from ilr_dynamics.exceptions import InvalidParameterError
from ilr_dynamics.regression import (
    HILR,
    ILR,
    BatchInference,
    Prior,
    Scaling,
    StochasticInference,
    TwoLevelPrior,
)


def test_parameters_are_those_of_the_constructor():
    names = set(inspect.signature(ILR).parameters)
    assert set(ILR().get_params()) == names
    assert ILR(degree=2).get_params(deep=False)["degree"] == 2


@pytest.mark.parametrize("kind", [ILR, HILR])
def test_there_are_few_enough_parameters_to_remember(kind):
    assert len(kind().get_params()) <= 12


def test_parameters_of_groups_are_given_too_unless_asked_otherwise():
    model = ILR(prior=Prior(noise_std=0.3), inference=StochasticInference(batch_size=20))
    deep, shallow = model.get_params(), model.get_params(deep=False)
    assert deep["prior__noise_std"] == 0.3
    assert deep["inference__batch_size"] == 20
    assert {name for name in deep if "__" not in name} == set(shallow)
    assert shallow["prior"] is deep["prior"] is model.prior


def test_parameters_are_kept_as_they_were_given():
    scale = [1.0, 2.0]
    scaling = Scaling(input_scale=scale)
    model = ILR(scaling=scaling)
    assert model.get_params()["scaling__input_scale"] is scale
    assert model.scaling is scaling


def test_parameters_make_the_same_model():
    model = HILR(5, prior=TwoLevelPrior(upper_concentration=2.0), scaling=Scaling(0.0, 1.0))
    for deep in (False, True):
        assert HILR(**model.get_params(deep)).get_params() == model.get_params()


def test_set_params_changes_what_it_names_and_returns_the_model():
    model = ILR(prior=Prior(concentration=3.0))
    assert model.set_params(n_components=7, prior__noise_std=0.5) is model
    assert (model.n_components, model.prior) == (7, Prior(concentration=3.0, noise_std=0.5))
    assert model.inference == ILR().inference


def test_set_params_changes_groups_that_are_as_by_default():
    model = HILR(inference="stochastic")
    model.set_params(prior__noise_std=0.5, inference__batch_size=9, scaling__output_scale=2.0)
    assert model.prior == TwoLevelPrior(noise_std=0.5)
    assert model.inference == StochasticInference(batch_size=9)
    assert model.scaling == Scaling(output_scale=2.0)


def test_set_params_leaves_groups_that_others_hold_as_they_were():
    prior = Prior()
    models = [ILR(prior=prior).set_params(prior__noise_std=std) for std in (0.2, 0.3)]
    assert prior == Prior()
    assert [model.prior.noise_std for model in models] == [0.2, 0.3]


def test_a_new_group_comes_before_its_parameters():
    model = ILR().set_params(inference__batch_size=9, inference="stochastic")
    assert model.inference == StochasticInference(batch_size=9)
    assert ILR().set_params(prior__noise_std=0.5, prior=Prior(2.0)).prior == Prior(
        2.0, noise_std=0.5
    )


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("depth", "'depth'"),
        ("depth__of_it", "'depth__of_it'"),
        ("prior__depth", "Prior has no parameter 'depth'"),
        ("inference__batch_size", "BatchInference has no parameter 'batch_size'"),
        ("features__degree", "features must be a group of parameters"),
        ("scaling__input_scale__first", "Scaling has no parameter 'input_scale__first'"),
    ],
)
def test_unknown_parameters_are_refused_by_name_and_change_nothing(name, message):
    model = ILR()
    with pytest.raises(InvalidParameterError, match=message):
        model.set_params(**{"n_components": 3, "prior__noise_std": 0.5, name: 3})
    assert model.get_params() == ILR().get_params()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"prior": TwoLevelPrior()}, "prior must be of type Prior, got TwoLevelPrior"),
        ({"prior": 0.1}, "prior must be a group of parameters"),
        ({"prior": BatchInference()}, "prior must be of type Prior, got BatchInference"),
        ({"inference": Prior()}, "inference must be of type Inference, got Prior"),
        ({"scaling": Prior()}, "scaling must be of type Scaling, got Prior"),
        ({"scaling": 2.0}, "scaling must be a group of parameters"),
    ],
    ids=str,
)
def test_groups_of_another_kind_are_refused(parameters, message):
    with pytest.raises(InvalidParameterError, match=message):
        ILR(**parameters).fit([[0.0]], [[1.0]])


def test_a_hierarchy_takes_a_prior_of_two_levels_only():
    with pytest.raises(InvalidParameterError, match="prior must be of type TwoLevelPrior"):
        HILR(prior=Prior()).fit([[0.0]], [[1.0]])


def test_the_text_shows_what_differs_from_the_defaults():
    assert repr(ILR()) == "ILR()"
    assert (
        repr(ILR(n_components=5, prior=Prior(noise_std=0.2)))
        == "ILR(n_components=5, prior=Prior(noise_std=0.2))"
    )
    assert "array([1., 2.])" in repr(ILR(scaling=Scaling(input_scale=np.array([1.0, 2.0]))))


def test_a_text_makes_the_same_model():
    model = ILR(
        n_components=5,
        random_state=None,
        scaling=Scaling(input_scale=[1.0, 2.0]),
        inference=StochasticInference(batch_size=3),
    )
    assert eval(repr(model)).get_params() == model.get_params()


def test_a_class_derived_from_an_estimator_may_have_parameters_of_its_own():
    class Sized(ILR):
        def __init__(self, size=2, random_state=0):
            super().__init__(n_components=3 * size, random_state=random_state)
            self.size = size

    X = np.linspace(-1.0, 1.0, 30)[:, None]
    model = Sized(1).set_params(size=1, random_state=4).fit(X, X)
    expected = ILR(3, random_state=4).fit(X, X)
    np.testing.assert_array_equal(model.statistics_, expected.statistics_)
