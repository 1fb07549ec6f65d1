# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Samples of an arm with friction, as they are and with the mistakes that people make."""

import re
import warnings
from dataclasses import replace

import numpy as np
import pytest

from ilr_dynamics.exceptions import DoubtfulDataWarning, InvalidDataError
from ilr_dynamics.regression import ILR, BatchInference
from ilr_dynamics.robot import IdentifiedDynamics, load_description

DYNAMICS = {
    arm: IdentifiedDynamics.from_description(load_description(arm)) for arm in ("wam4", "wam7")
}


def samples(arm, seed=0, *, masses=1.0, friction=1.0, gravity=None):
    """Inputs and torques of an arm along sums of sines, with friction."""
    dynamics = DYNAMICS[arm]
    draw = np.random.default_rng(seed)
    time, n = np.linspace(0.0, 60.0, 1200)[:, None], dynamics.n_joints
    rate, size, phase = (draw.uniform(*r, (3, n)) for r in ((0.5, 3.0), (0.1, 0.5), (0.0, 6.0)))
    waves = [rate[k] * time + phase[k] for k in range(3)]
    q = draw.uniform(-0.8, 0.8, n) + sum(size[k] * np.sin(waves[k]) for k in range(3))
    qd = sum(size[k] * rate[k] * np.cos(waves[k]) for k in range(3))
    qdd = -sum(size[k] * rate[k] ** 2 * np.sin(waves[k]) for k in range(3))
    X = np.hstack([q, qd, qdd])
    arm = dynamics if gravity is None else replace(dynamics, gravity=np.array(gravity))
    dry = friction * draw.uniform(0.3, 1.5, n)
    Y = masses * arm.expected(X) + dry * np.tanh(30.0 * qd) + 0.1 * friction * qd
    return X, Y + 0.05 * draw.normal(size=Y.shape)


def reordered(X, order):
    return X.reshape(len(X), 3, -1)[:, :, order].reshape(X.shape)


@pytest.mark.parametrize("arm", DYNAMICS)
@pytest.mark.parametrize(
    "arm_differs", [{}, {"masses": 1.6}, {"masses": 0.6}, {"friction": 3.0}], ids=str
)
def test_samples_of_the_arm_are_not_doubted_however_wrong_its_masses(arm, arm_differs):
    assert DYNAMICS[arm].doubts(*samples(arm, 1, **arm_differs)) == []


SWAPPED = [1, 0, 2, 3]
MISTAKES = {
    "degrees": (lambda X, Y: (np.rad2deg(X), Y), "were X in degrees"),
    "hundredths": (lambda X, Y: (X, Y / 100.0), "were they 100 times as large"),
    "tenfold": (lambda X, Y: (X, 10.0 * Y), "were they 0.1 times as large"),
    "signs": (lambda X, Y: (X, -Y), "were all signs of the torques turned round"),
    "a sign": (lambda X, Y: (X, Y * [1.0, -1.0, 1.0, 1.0]), "sign of the torque of joint 2"),
    "order of Y": (lambda X, Y: (X, Y[:, SWAPPED]), r"joints of Y in the order \[2, 1, 3, 4\]"),
    "order of both": (
        lambda X, Y: (reordered(X, [3, 2, 1, 0]), Y[:, ::-1]),
        r"joints of X and Y in the order \[4, 3, 2, 1\]",
    ),
    "columns": (
        lambda X, Y: (X.reshape(len(X), 3, 4).swapaxes(1, 2).reshape(X.shape), Y),
        "columns of X .* one joint after the other",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_the_samples_is_named(mistake):
    change, text = MISTAKES[mistake]
    X, Y = change(*samples("wam4"))
    (doubt,) = DYNAMICS["wam4"].doubts(np.ascontiguousarray(X), np.ascontiguousarray(Y))
    assert "the torques do not fit the description, which leaves" in doubt
    assert re.search(text, doubt), doubt


@pytest.mark.parametrize("gravity", [(0.0, 0.0, 0.0), (0.0, 0.0, 9.81), (9.81, 0.0, 0.0)])
def test_another_gravity_than_the_described_one_is_named(gravity):
    (doubt,) = DYNAMICS["wam7"].doubts(*samples("wam7", gravity=gravity))
    assert f"were gravity {list(gravity)} m/s^2" in doubt
    described = replace(DYNAMICS["wam7"], gravity=np.array(gravity))
    assert described.doubts(*samples("wam7", gravity=gravity)) == []


def test_torques_that_no_reading_explains_are_doubted_by_their_distance():
    X, Y = samples("wam4")
    noise = 100.0 * np.random.default_rng(3).normal(size=Y.shape)
    (doubt,) = DYNAMICS["wam4"].doubts(X, noise)
    assert re.search("are .* times as far from those of the description as zero torque", doubt)


@pytest.fixture
def model():
    return ILR(
        4,
        global_model=DYNAMICS["wam4"],
        learn_residual=True,
        inference=BatchInference(max_iterations=2),
    )


def test_estimators_warn_the_caller_before_they_learn(model):
    X, Y = samples("wam4")
    with warnings.catch_warnings():
        warnings.simplefilter("error", DoubtfulDataWarning)
        model.fit(X, Y)
    with pytest.warns(DoubtfulDataWarning, match="all signs of the torques") as caught:
        model.partial_fit(X, -Y)
    (warning,) = (w for w in caught if w.category is DoubtfulDataWarning)
    assert warning.filename == __file__
    with pytest.warns(DoubtfulDataWarning, match="were X in degrees"):
        model.fit(np.rad2deg(X), Y)


def test_samples_of_another_number_of_joints_are_refused_as_ever(model):
    X, Y = samples("wam7")
    assert DYNAMICS["wam4"].doubts(X, Y) == []
    with pytest.raises(InvalidDataError, match="of 4 joints expect 12 inputs"):
        model.fit(X, Y)


def test_joints_without_any_torque_are_no_error():
    X, Y = samples("wam4")
    for n in (1, 2, len(X)):
        assert DYNAMICS["wam4"].doubts(X[:n], np.zeros_like(Y[:n])) == []
