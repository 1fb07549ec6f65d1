# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Local models behind a global one that finds out by itself which outputs have changed."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from ilr_dynamics.regression import ILR, GlobalModel, GlobalPrediction
from ilr_dynamics.regression.shared.change import Change

NOISE = 0.02


@dataclass(frozen=True, eq=False)
class Offsets(GlobalModel):
    """An offset of each of two outputs; those that have moved are forgotten."""

    total: np.ndarray
    weight: np.ndarray

    name = "offsets_of_a_test"

    @classmethod
    def none(cls):
        return cls(np.zeros(2), np.full(2, 1e-6))

    @property
    def offset(self):
        return self.total / self.weight

    def updated(self, X, Y, weights):
        return replace(self, total=self.total + weights @ Y, weight=self.weight + np.sum(weights))

    def adapted(self, X, Y, weights):
        moved = np.abs(np.average(Y, axis=0, weights=weights) - self.offset) > 0.5
        kept = np.where(moved, 1e-6, 1.0)
        known = replace(self, total=kept * self.total, weight=kept * self.weight)
        forgotten = {f"offset {output + 1}": 1.0 for output in np.flatnonzero(moved)}
        change = Change(10.0, forgotten, tuple(np.flatnonzero(moved).tolist()))
        return known.updated(X, Y, weights), change

    def discounted(self, factor):
        return replace(self, total=factor * self.total, weight=factor * self.weight)

    def predict(self, X):
        return GlobalPrediction(np.tile(self.offset, (len(X), 1)), np.ones(len(X)))

    @property
    def noise_shape(self):
        return 0.5 * np.eye(2)

    @property
    def dof(self):
        return 100.0

    def arrays(self):
        return {"total": self.total, "weight": self.weight}

    @classmethod
    def from_arrays(cls, arrays):
        return cls(arrays["total"], arrays["weight"])


def drawn(n, seed, offsets, sizes=(0.3, 0.3), first=-3.0, last=3.0):
    generator = np.random.default_rng(seed)
    X = generator.uniform(first, last, (n, 1))
    Y = np.asarray(offsets) + np.asarray(sizes) * np.column_stack([np.sin(2 * X), np.cos(2 * X)])
    return X, Y + NOISE * generator.normal(size=Y.shape)


def learned(**others):
    chosen = {"learn_residual": True, "forgetting_factor": "auto", **others}
    model = ILR(n_components=20, global_model=Offsets.none(), **chosen)
    return model.fit(*drawn(600, 0, [0.0, 0.0]))


def error(model, offsets, sizes=(0.3, 0.3)):
    X, Y = drawn(300, 9, offsets, sizes)
    return np.sqrt(np.mean((model.predict(X) - Y) ** 2, axis=0))


def test_corrections_that_still_hold_are_kept_where_there_are_no_new_samples():
    # Over a period, so that the offset is not that of the sine.
    period = {"first": -0.5 * np.pi, "last": 0.5 * np.pi}
    model = learned().partial_fit(*drawn(300, 1, [0.0, 5.0], **period))
    assert list(model.change_.forgotten) == ["offset 2"]
    assert np.all(error(model, [0.0, 5.0]) < [2.0 * NOISE, 4.0 * NOISE])


def test_corrections_that_hold_no_more_are_dropped_for_that_output_alone():
    new = drawn(300, 1, [0.0, 5.0], sizes=[0.3, -0.3])
    model = learned().partial_fit(*new)
    assert list(model.change_.forgotten) == ["offset 2", "local models of output 2"]
    assert error(model, [0.0, 5.0], [0.3, -0.3])[0] < 2.0 * NOISE
    keeping = learned(forgetting_factor=1.0).partial_fit(*new)
    of_both = [error(each, [0.0, 5.0], [0.3, -0.3])[1] for each in (model, keeping)]
    assert of_both[0] < 0.5 * of_both[1]


def test_local_models_of_the_outputs_themselves_follow_the_global_one():
    new = drawn(100, 1, [0.0, 5.0], first=-1.0, last=1.0)
    model = learned(learn_residual=False).partial_fit(*new)
    known = learned(learn_residual=False)
    X = np.linspace(1.5, 2.5, 50)[:, None]
    moved = np.mean(model.predict(X) - known.predict(X), axis=0)
    np.testing.assert_allclose(moved, [0.0, 5.0], atol=0.5)


@pytest.mark.parametrize("learn_residual", [True, False])
def test_of_what_has_not_changed_all_is_kept(learn_residual):
    new = drawn(300, 1, [0.0, 0.0])
    model, keeping = (
        learned(learn_residual=learn_residual, forgetting_factor=factor).partial_fit(*new)
        for factor in ("auto", 1.0)
    )
    assert model.change_.forgotten == {}
    np.testing.assert_array_equal(model.statistics_, keeping.statistics_)
