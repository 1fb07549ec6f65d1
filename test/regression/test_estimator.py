# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import inspect

import numpy as np
import pytest

from ilr_dynamics.exceptions import InvalidParameterError
from ilr_dynamics.regression import ILR, Prior, Scaling


def test_parameters_are_those_of_the_constructor():
    names = set(inspect.signature(ILR).parameters)
    assert set(ILR().get_params()) == names
    assert ILR(prior=Prior(noise_std=0.3)).get_params(deep=False)["noise_std"] == 0.3


def test_parameters_are_kept_as_they_were_given():
    scale = [1.0, 2.0]
    assert ILR(scaling=Scaling(input_scale=scale)).get_params()["input_scale"] is scale


def test_set_params_changes_what_it_names_and_returns_the_model():
    model = ILR()
    assert model.set_params(n_components=7, noise_std=0.5) is model
    assert (model.n_components, model.noise_std) == (7, 0.5)
    assert model.concentration == ILR().concentration


def test_unknown_parameters_are_refused_by_name():
    with pytest.raises(InvalidParameterError, match="'depth'"):
        ILR().set_params(depth=3)


def test_the_text_shows_what_differs_from_the_defaults():
    assert repr(ILR()) == "ILR()"
    assert (
        repr(ILR(n_components=5, prior=Prior(noise_std=0.2)))
        == "ILR(n_components=5, noise_std=0.2)"
    )
    assert "array([1., 2.])" in repr(ILR(scaling=Scaling(input_scale=np.array([1.0, 2.0]))))


def test_a_text_makes_the_same_model():
    model = ILR(n_components=5, random_state=None, scaling=Scaling(input_scale=[1.0, 2.0]))
    assert eval(repr(model)).get_params() == model.get_params()
