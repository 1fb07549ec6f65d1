# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The estimator follows what the tool carries, and takes nothing else for it."""

import numpy as np
import pytest
from payloads import box

from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.payload_dynamics import PayloadDynamics
from ilr_dynamics.robot.payload_estimator import PayloadEstimator
from ilr_dynamics.robot.payload_posterior import PayloadPrior
from ilr_dynamics.robot.pseudo_inertia import pseudo_inertia
from ilr_dynamics.robot.pseudo_inertia_prior import PseudoInertiaPrior

ARM = load_description("wam4")
DYNAMICS = PayloadDynamics(ARM)
STD = np.array([0.3, 0.4, 0.2, 0.1])
PERIOD = 0.1
PAYLOAD = box(0.6, [0.03, -0.02, 0.04], [0.08, 0.08, 0.12])
CENTRE = np.array([0.0, 0.7, 0.0, 1.8])
RATES = np.array([1.0, 1.3, 0.7, 1.6])


PRIOR = PayloadPrior.of_arm(PseudoInertiaPrior(1.0, 0.15), ARM.torque_limit)


@pytest.fixture
def estimator():
    return PayloadEstimator(PRIOR)


class Motion:
    """All joints swing; the model errs by a function of the state, and by a noise besides."""

    def __init__(self, seed=0):
        self._random = np.random.default_rng(seed)
        self._phases = self._random.uniform(0.0, 2.0 * np.pi, (3, 4))
        self._time = 0.0

    def swing(self, estimator, seconds, payload=None, friction=0.0):
        for _ in range(round(seconds / PERIOD)):
            self._time += PERIOD
            angle = RATES * self._time
            position, velocity = CENTRE + 0.4 * np.sin(angle), 0.4 * RATES * np.cos(angle)
            columns = DYNAMICS.columns(position, velocity, -(RATES**2) * (position - CENTRE))
            error = STD * np.sin(10.0 * position + self._phases[0])
            residual = error + 0.3 * STD * self._random.normal(size=4)
            residual += friction * np.tanh(velocity / 0.03) * (1.0 + np.abs(velocity))
            if payload is not None:
                residual += columns @ payload.parameters
            estimator.add(position, velocity, columns, residual, STD)


def mass_and_std(estimator):
    posterior = estimator.posterior
    return posterior.parameters[0], np.sqrt(posterior.covariance[0, 0])


def test_payload_is_known_within_ten_seconds_and_surer_later(estimator):
    motion = Motion()
    motion.swing(estimator, 10.0, PAYLOAD)
    mass, early = mass_and_std(estimator)
    assert mass == pytest.approx(0.6, abs=0.06)
    assert abs(mass - 0.6) < 4.0 * early
    assert estimator.posterior.log_odds > 50.0
    motion.swing(estimator, 40.0, PAYLOAD)
    mass, late = mass_and_std(estimator)
    assert mass == pytest.approx(0.6, abs=0.03)
    assert late < early
    first = estimator.posterior.parameters[1:4]
    np.testing.assert_allclose(first, 0.6 * PAYLOAD.com, atol=0.01)


def test_what_is_picked_up_and_put_down_is_followed(estimator):
    motion = Motion(1)
    motion.swing(estimator, 30.0)
    assert estimator.posterior.log_odds < 0.0
    motion.swing(estimator, 10.0, PAYLOAD)
    assert mass_and_std(estimator)[0] == pytest.approx(0.6, abs=0.06)
    motion.swing(estimator, 10.0)
    assert estimator.posterior.log_odds < 0.0


@pytest.mark.parametrize("seed", range(3))
def test_no_payload_is_seen_without_one(estimator, seed):
    motion = Motion(seed)
    for _ in range(20):
        motion.swing(estimator, 4.0)
        assert estimator.posterior.log_odds < 3.0


def test_more_friction_is_not_taken_for_a_payload(estimator):
    motion = Motion(2)
    motion.swing(estimator, 20.0)
    for _ in range(6):
        motion.swing(estimator, 5.0, friction=2.0)
        assert estimator.posterior.log_odds < 3.0
    assert estimator.posterior.friction[:, 1] == pytest.approx(np.full(4, 2.0), abs=0.6)


def test_an_arm_at_rest_tells_nothing(estimator):
    columns = DYNAMICS.columns(CENTRE, np.zeros(4), np.zeros(4))
    before = estimator.posterior
    for _ in range(100):
        torque = columns @ PAYLOAD.parameters
        assert not estimator.add(CENTRE, np.full(4, 0.001), columns, torque, STD)
    assert estimator.posterior is before and estimator.n_samples == 0


@pytest.mark.parametrize(("n_at_rest", "is_known"), [(3, True), (6, False)])
def test_what_was_seen_just_before_a_rest_is_not_mixed_with_what_comes_after(
    estimator, n_at_rest, is_known
):
    """Things are taken up at rest: a short move before says nothing of the payload after it."""
    Motion(1).swing(estimator, 0.4)
    for _ in range(n_at_rest):
        estimator.add(CENTRE, np.full(4, 0.001), np.zeros((4, 10)), np.zeros(4), STD)
    assert estimator.n_samples == (4 if is_known else 0)
    Motion(2).swing(estimator, 8.0, PAYLOAD)
    alone = PayloadEstimator(PRIOR)
    Motion(2).swing(alone, 8.0, PAYLOAD)
    off = np.abs(estimator.posterior.parameters - alone.posterior.parameters)
    assert (off.max() > 1e-6) == is_known


def test_a_rest_leaves_what_longer_motion_has_told(estimator):
    Motion().swing(estimator, 12.0, PAYLOAD)
    known, n_samples = estimator.posterior, estimator.n_samples
    for _ in range(100):
        estimator.add(CENTRE, np.full(4, 0.001), np.zeros((4, 10)), np.zeros(4), STD)
    assert estimator.posterior is known and estimator.n_samples == n_samples


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_torque_that_is_no_number_is_left_out(estimator, value):
    velocity = np.full(4, 0.5)
    columns = DYNAMICS.columns(CENTRE, velocity, np.zeros(4))
    torque = np.array([0.0, value, 0.0, 0.0])
    assert not estimator.add(CENTRE, velocity, columns, torque, STD)
    assert not estimator.add(CENTRE, velocity, columns, np.zeros(4), STD + torque)
    assert estimator.n_samples == 0


def test_a_repeated_motion_tells_what_one_round_does(estimator):
    """One state again and again: a thousand samples are worth hardly more than one."""
    velocity = np.full(4, 0.5)
    columns = DYNAMICS.columns(CENTRE, velocity, np.zeros(4))
    deviations = []
    for n in (8, 800):
        estimator.restart()
        for _ in range(n):
            estimator.add(CENTRE, velocity, columns, columns @ PAYLOAD.parameters, STD)
        deviations.append(mass_and_std(estimator)[1])
    assert deviations[1] > 0.5 * deviations[0]


def test_any_torque_leaves_a_real_body(estimator):
    random = np.random.default_rng(3)
    for _ in range(200):
        position, velocity, acceleration = random.normal(size=(3, 4))
        columns = DYNAMICS.columns(position, velocity, acceleration)
        estimator.add(position, velocity, columns, 50.0 * random.normal(size=4), STD)
        body = pseudo_inertia(estimator.posterior.parameters)
        assert np.linalg.eigvalsh(body).min() > 0.0


def test_restart_forgets(estimator):
    Motion().swing(estimator, 10.0, PAYLOAD)
    estimator.restart()
    assert estimator.n_samples == 0
    assert estimator.posterior.log_odds == 0.0
    Motion().swing(estimator, 10.0)
    assert estimator.posterior.log_odds < 0.0
