# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from ilr_dynamics.exceptions import InvalidParameterError
from ilr_dynamics.learning.recording_weights import recording_weights
from ilr_dynamics.recording import Recording, training_samples
from ilr_dynamics.regression import ILR, LinearGlobalModel, Scaling

SCALES = [0.2, 0.2, 0.4, 0.4, 1.2, 1.2]


@pytest.fixture
def alone():
    return ILR(scaling=Scaling(input_scale=SCALES))


@pytest.fixture
def with_global_model():
    return ILR(global_model=LinearGlobalModel(), scaling=Scaling(input_scale=SCALES))


def moving(*speeds):
    """Two joints far apart from sample to sample, at these speeds."""
    velocity = np.stack([np.broadcast_to(speed, 100) for speed in speeds], axis=1)
    position = np.cumsum(np.full((100, 2), 0.3), axis=0)
    return np.hstack([position, velocity, np.zeros((100, 2))])


@pytest.mark.parametrize("model", ["alone", "with_global_model"])
def test_standing_still_with_noisy_encoders_is_worth_little(model, request):
    generator = np.random.default_rng(0)
    stamp = np.arange(0.0, 10.0, 0.002)
    moved = np.minimum(stamp, 1.0)
    position = 0.3 * moved[:, None] + 1e-4 * generator.normal(size=(stamp.size, 2))
    recording = Recording(
        joint_names=("j1", "j2"),
        stamp=(1e9 * stamp).astype(np.int64),
        position=position,
        velocity=1e-3 * generator.normal(size=position.shape),
        torque=np.ones_like(position),
        commanded=True,
        driver_compensates_gravity=False,
        rejected=Counter(),
    )
    samples = training_samples(recording)
    still = samples.time - samples.time[0] > 1.2
    weights = recording_weights(samples.X, request.getfixturevalue(model))
    assert weights[still].sum() < 0.02 * np.sum(still)
    assert (weights > 0.0).all()


def test_sample_in_which_a_joint_sticks_is_worth_little_to_a_model_that_stands_alone(
    alone, with_global_model
):
    sticking = np.arange(100) % 2 == 0
    X = moving(0.4, np.where(sticking, 0.001, 0.4))
    weights = recording_weights(X, alone)
    assert (weights[sticking] < 0.11).all()
    assert (weights[~sticking] > 0.99).all()
    np.testing.assert_array_equal(recording_weights(X, with_global_model), np.ones(100))


@pytest.mark.parametrize("turns", [[{0}, {1}], [{0}, {1}, {2}, {3}], [{0, 1}, {2, 3}]])
def test_joints_that_move_in_turn_keep_their_samples(turns):
    speeds = np.zeros((120, 4))
    for row in range(120):
        speeds[row, list(turns[row // 5 % len(turns)])] = 0.4
    position = np.cumsum(np.full((120, 4), 0.3), axis=0)
    X = np.hstack([position, speeds, np.zeros((120, 4))])
    assert (recording_weights(X, ILR(scaling=Scaling(input_scale=1.0))) > 0.99).all()


def test_share_of_a_joint_that_moves_seldom_changes_smoothly(alone):
    shares = [
        recording_weights(moving(0.4, 0.4 * (np.arange(100) < n_moving)), alone).mean()
        for n_moving in range(0, 101, 2)
    ]
    assert np.abs(np.diff(shares)).max() < 0.1


def test_scale_that_does_not_fit_is_refused():
    with pytest.raises(InvalidParameterError, match="input_scale must be one finite number or 6"):
        recording_weights(moving(0.4, 0.4), ILR(scaling=Scaling(input_scale=[1.0, 2.0])))


def test_joint_that_never_moves_does_not_silence_the_others(alone):
    assert (recording_weights(moving(0.4, 0.0), alone) > 0.99).all()
    np.testing.assert_array_equal(recording_weights(moving(0.0, 0.0), alone), np.ones(100))
