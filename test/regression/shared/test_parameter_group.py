# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest

from ilr_dynamics.exceptions import InvalidParameterError
from ilr_dynamics.regression import (
    BatchInference,
    Prior,
    Scaling,
    StochasticInference,
    TwoLevelPrior,
)

GROUPS = [Prior, TwoLevelPrior, BatchInference, StochasticInference, Scaling]


@pytest.mark.parametrize("group", GROUPS)
def test_parameters_make_the_same_group(group):
    assert group(**group().get_params()) == group()
    assert group().get_params(deep=False) == group().get_params()
    assert list(group().get_params()) == [field.name for field in fields(group)]


@pytest.mark.parametrize("group", GROUPS)
def test_the_text_shows_what_differs_from_the_defaults_and_makes_the_same_group(group):
    assert repr(group()) == f"{group.__name__}()"
    name = fields(group)[0].name
    changed = group(**{name: 3})
    assert repr(changed) == f"{group.__name__}({name}=3)"
    assert eval(repr(changed)) == changed


@pytest.mark.parametrize("group", GROUPS)
def test_parameters_cannot_be_changed_only_replaced(group):
    original = group()
    name = fields(group)[0].name
    with pytest.raises(FrozenInstanceError):
        setattr(original, name, 3)
    changed = original.with_params(**{name: 3})
    assert type(changed) is group
    assert getattr(changed, name) == 3
    assert original == group()


@pytest.mark.parametrize("group", GROUPS)
def test_unknown_parameters_are_refused_with_the_known_ones(group):
    known = fields(group)[0].name
    with pytest.raises(InvalidParameterError, match=f"no parameter 'depth'.*'{known}'"):
        group().with_params(depth=3)


def test_what_is_out_of_range_is_refused_when_it_is_replaced_too():
    with pytest.raises(InvalidParameterError, match="noise_std"):
        Prior().with_params(noise_std=-1.0)


def test_arrays_are_shown():
    text = repr(Scaling(input_scale=np.array([1.0, 2.0])))
    assert text == "Scaling(input_scale=array([1., 2.]))"
