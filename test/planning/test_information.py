# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What a motion tells, against the same from whole covariances."""

import numpy as np
import pytest
from known_arm import known_dynamics

from ilr_dynamics.planning.information import Knowledge, Region
from ilr_dynamics.robot.dynamics_regressor import parameter_indices
from ilr_dynamics.robot.representative_samples import RepresentativeSamples


@pytest.fixture(scope="module")
def dynamics():
    return known_dynamics()


def states(n_states, seed):
    random = np.random.default_rng(seed)
    home = np.array([0.0, 0.7, 0.0, 1.8])
    return np.hstack([home + random.normal(size=(n_states, 4)), random.normal(size=(n_states, 8))])


def columns(dynamics, X):
    """Columns (m n, P) of all parameters, joint by joint."""
    indices = parameter_indices(4)
    whole = np.zeros((4, len(X), len(dynamics.parameters)))
    for joint in range(4):
        whole[joint][:, indices[joint]] = dynamics.regressor(X)[:, joint]
    return whole.reshape(-1, whole.shape[2])


def test_information_is_that_of_the_covariance_of_the_torques(dynamics):
    """log det(I + Phi P Phi' / sigma^2) / 2 with each torque counted by its worth."""
    X, mass = states(12, 1), 10.0
    knowledge = Knowledge.of_model(dynamics, Region.of_states(dynamics, states(5, 2)))
    after = knowledge.after(X, mass)
    both = dynamics.representatives.with_others(
        RepresentativeSamples(X, np.zeros((12, 4)), np.full(12, mass), np.ones(12))
    )
    worth = both.weighed(dynamics.correlation).worth[-12:]
    count = mass * worth[:, None] * dynamics.informative_share(X)
    noise = (dynamics.noise.of_slipping / count).T.ravel()
    phi = columns(dynamics, X)
    prior = np.linalg.inv(dynamics.parameter_precision)
    gain = np.eye(len(phi)) + (phi @ prior @ phi.T) / np.sqrt(np.outer(noise, noise))
    expected = 0.5 * np.linalg.slogdet(gain)[1]
    found = after.information() - knowledge.information()
    assert expected > 1.0
    assert found == pytest.approx(expected, rel=1e-6)


def test_doubt_is_the_mean_entropy_of_torques_in_the_region(dynamics):
    X, there = states(8, 3), states(6, 4)
    knowledge = Knowledge.of_model(dynamics, Region.of_states(dynamics, there)).after(X, 10.0)
    covariance = np.linalg.inv(knowledge.precision)
    seen = np.concatenate([dynamics.representatives.states, X[:, :8]])
    nearest = dynamics.correlation.between(there[:, :8], seen).max(axis=1)
    residual = 1.0 - dynamics.correlation.share * nearest**2
    total = 0.0
    for joint, own in enumerate(parameter_indices(4)):
        phi = dynamics.regressor(there)[:, joint]
        by_parameters = np.einsum("mp,pq,mq->m", phi, covariance[np.ix_(own, own)], phi)
        noise = dynamics.noise.of_slipping[joint]
        total += 0.5 * np.mean(np.log((by_parameters + noise * residual) / noise))
    assert knowledge.doubt() == pytest.approx(total, rel=1e-6)


def test_a_motion_never_adds_doubt_and_tells_less_the_second_time(dynamics):
    knowledge = Knowledge.of_model(dynamics, Region.of_states(dynamics, states(40, 5)))
    X = states(20, 6)
    once = knowledge.after(X, 10.0)
    twice = once.after(X, 10.0)
    first, second = knowledge.doubt() - once.doubt(), once.doubt() - twice.doubt()
    assert first > 0.1
    assert 0.0 <= second < 0.3 * first
    assert twice.information() > once.information() > knowledge.information()


def test_samples_of_one_state_count_as_few(dynamics):
    """A hundred times as many samples at the same states tell little more."""
    knowledge = Knowledge.of_model(dynamics, Region.of_states(dynamics, states(5, 7)))
    X = states(10, 8)
    few, many = (knowledge.after(X, mass).information() for mass in (10.0, 1000.0))
    independent = 0.5 * np.log(100.0) * 4 * len(X)
    assert many - few < 0.2 * independent


def test_a_joint_that_sticks_tells_nearly_nothing(dynamics):
    knowledge = Knowledge.of_model(dynamics, Region.of_states(dynamics, states(5, 9)))
    moving = states(10, 10)
    still = moving.copy()
    still[:, 4:] = 0.0
    gains = [
        knowledge.after(X, 10.0).information() - knowledge.information() for X in (still, moving)
    ]
    assert gains[0] < 0.5 * gains[1]


def test_what_is_known_of_a_model_without_samples(dynamics):
    described = dynamics.discounted(0.0)
    knowledge = Knowledge.of_model(described, Region.of_states(described, states(5, 11)))
    assert knowledge.after(states(5, 12), 10.0).doubt() < knowledge.doubt()
