# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What earlier samples weigh where only the new ones tell whether they still hold."""

import numpy as np
import pytest

from ilr_dynamics.exceptions import InvalidParameterError
from ilr_dynamics.regression import HILR, ILR, LinearGlobalModel, load_snapshot

NOISE = 0.05


def wave(n, seed, size=1.0, first=-3.0, last=3.0):
    generator = np.random.default_rng(seed)
    X = generator.uniform(first, last, (n, 1))
    return X, size * np.sin(2.0 * X) + NOISE * generator.normal(size=X.shape)


def learned(kind=ILR, factor="auto", **others):
    return kind(n_components=20, forgetting_factor=factor, **others).fit(*wave(400, 0))


def error(model, **others):
    X, Y = wave(300, 9, **others)
    return np.sqrt(np.mean((model.predict(X) - Y) ** 2))


@pytest.mark.parametrize("kind", [ILR, HILR])
@pytest.mark.parametrize("others", [{}, {"global_model": LinearGlobalModel()}])
def test_what_has_not_changed_is_learned_on_top_as_ever(kind, others):
    deciding, keeping = (learned(kind, factor, **others) for factor in ("auto", 1.0))
    for seed in range(1, 4):
        deciding.partial_fit(*wave(200, seed))
        keeping.partial_fit(*wave(200, seed))
        assert deciding.change_.forgotten == {}
        assert deciding.change_.log_odds < 0.0
    np.testing.assert_array_equal(deciding.statistics_, keeping.statistics_)
    assert keeping.change_ is None


def test_samples_elsewhere_contradict_nothing():
    model = learned().partial_fit(*wave(200, 1, size=3.0, first=10.0, last=13.0))
    assert model.change_.forgotten == {}
    assert error(model) < 2.0 * NOISE


@pytest.mark.parametrize("kind", [ILR, HILR])
@pytest.mark.parametrize(
    "others",
    [
        {},
        {"global_model": LinearGlobalModel()},
        {"global_model": LinearGlobalModel(), "learn_residual": True},
    ],
)
def test_what_has_changed_is_forgotten_and_said_so(kind, others):
    new = wave(200, 1, size=2.0)
    model = learned(kind, **others).partial_fit(*new)
    keeping = learned(kind, 1.0, **others).partial_fit(*new)
    assert model.change_.forgotten["everything"] > 0.5
    assert model.change_.outputs == (0,)
    assert "everything" in str(model.change_)
    assert error(model, size=2.0) < 0.5 * error(keeping, size=2.0)


def test_a_first_fit_decides_nothing():
    assert learned().change_ is None
    assert ILR(forgetting_factor="auto").partial_fit(*wave(100, 0)).change_ is None


def test_samples_without_weight_contradict_nothing():
    X, Y = wave(200, 1, size=2.0)
    same = wave(100, 2)
    together = np.concatenate([X, same[0]]), np.concatenate([Y, same[1]])
    weights = np.repeat([0.0, 1.0], [200, 100])
    assert learned().partial_fit(*together, weights).change_.forgotten == {}


def test_a_snapshot_goes_on_deciding(tmp_path):
    learned().save(tmp_path / "model.npz")
    model = load_snapshot(tmp_path / "model.npz")
    assert model.forgetting_factor == "auto"
    assert model.partial_fit(*wave(200, 1, size=2.0)).change_.forgotten


@pytest.mark.parametrize("value", ["Auto", "", None, [1.0], np.ones(2), 1.5, 0.0])
def test_what_is_neither_a_number_nor_auto_is_refused_and_changes_nothing(value):
    model = learned()
    before = model.statistics_
    with pytest.raises(InvalidParameterError, match='forgetting_factor.*or "auto"'):
        model.set_params(forgetting_factor=value).partial_fit(*wave(50, 1))
    assert model.statistics_ is before
