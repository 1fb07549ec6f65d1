# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What an arm in simulation seems to carry, and what of that its feed-forward gets."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from ilr_dynamics.control import (
    Gains,
    JointLimits,
    JointPath,
    Mode,
    NoFeedForward,
    Reference,
    RigidBodyFeedForward,
    Supervision,
    TrackingController,
)
from ilr_dynamics.control.carried_payload import CarriedPayload, Verdict
from ilr_dynamics.control.feedforward import FeedForwardTorque
from ilr_dynamics.control.payload_observer import PayloadObserver
from ilr_dynamics.control.residual_observer import ResidualObserver
from ilr_dynamics.exceptions import InvalidParameterError
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.payload import Payload
from ilr_dynamics.robot.payload_dynamics import PayloadDynamics
from ilr_dynamics.robot.payload_estimator import PayloadEstimator
from ilr_dynamics.robot.payload_posterior import PayloadPrior
from ilr_dynamics.robot.pseudo_inertia_prior import PseudoInertiaPrior
from ilr_dynamics.robot.rigid_body import RigidBodyModel
from ilr_dynamics.robot.tool_paths import figure_eight, joint_path

ARM = load_description("wam4")
PERIOD = 0.002
PAYLOAD = Payload(0.8, [0.02, 0.0, 0.03], [1e-3, 0.0, 0.0, 1e-3, 0.0, 1e-3])
REST = Reference.at_rest([0.0, 0.7, 0.0, 1.8])


@pytest.fixture
def physics():
    return RigidBodyFeedForward(RigidBodyModel(ARM))


@pytest.fixture
def carried(physics):
    dynamics = PayloadDynamics(ARM)
    prior = PayloadPrior.of_arm(PseudoInertiaPrior(1.0, 0.15), ARM.torque_limit)
    residuals = ResidualObserver(dynamics, ARM.torque_limit, PERIOD)
    observer = PayloadObserver(PayloadEstimator(prior), 0.002 * ARM.torque_limit)
    found = CarriedPayload(dynamics, residuals, observer, max_mass=3.0)
    found.feedforward(physics)
    return found


def followed(carried, torque, seconds=8.0, mode=Mode.TRACKING):
    """Let the estimate see an arm that follows an eight as if by this law of torques."""
    path = JointPath(*joint_path(figure_eight(3.4), RigidBodyModel(ARM), rate=50.0))
    news = 0
    for cycle in range(round(seconds / PERIOD)):
        time = cycle * PERIOD
        # The torque at work is what was commanded one and two cycles before.
        of_motion, later = path.sample(time), path.sample(time + 1.5 * PERIOD)
        command = SimpleNamespace(
            time=time, mode=mode, position=of_motion.position, torque=torque(later)
        )
        news += carried.observe(command)
    return news


def torque_with(payload, physics, share=1.0):
    of_payload = PayloadDynamics(ARM).torque_of(payload)
    return lambda state: physics(state).torque + share * of_payload(*state)


def test_a_guided_arm_is_carried_with_what_its_tool_carries_then(carried, physics):
    model, of_arm = carried.carrying(physics), physics(REST).torque
    np.testing.assert_array_equal(model(REST).torque, of_arm)
    carried.set(PAYLOAD)
    weight = PayloadDynamics(ARM).torque_of(PAYLOAD)(*REST)
    assert np.abs(weight).max() > 1.0
    np.testing.assert_allclose(model(REST).torque, of_arm + weight)
    heavier = Payload(1.2, [0.0, 0.0, 0.03], [1e-3, 0.0, 0.0, 1e-3, 0.0, 1e-3])
    carried.set(heavier)
    weight = PayloadDynamics(ARM).torque_of(heavier)(*REST)
    np.testing.assert_allclose(model(REST).torque, of_arm + weight)
    carried.clear()
    np.testing.assert_array_equal(model(REST).torque, of_arm)


def test_a_payload_has_torques_at_several_states(carried):
    states = Reference(*np.random.default_rng(0).normal(size=(3, 5, 4)))

    def nothing(states):
        return FeedForwardTorque(np.zeros_like(states.position), np.ones_like(states.position))

    carried.set(PAYLOAD)
    of_one = PayloadDynamics(ARM).torque_of(PAYLOAD)
    expected = [of_one(*state) for state in zip(*states, strict=True)]
    np.testing.assert_array_equal(carried.carrying(nothing)(states).torque, expected)


def test_payload_is_estimated_taken_and_cleared(carried, physics):
    assert carried.estimate().verdict is Verdict.UNKNOWN
    assert followed(carried, torque_with(PAYLOAD, physics)) > 10
    estimate = carried.estimate()
    assert estimate.verdict is Verdict.PAYLOAD
    assert abs(estimate.payload.mass - 0.8) < 4.0 * estimate.std[0] < 0.3
    assert "kg at [" in estimate.text
    carried.take(estimate)
    assert carried.source == "estimated"
    more = carried.renewed()(REST).torque - physics(REST).torque
    np.testing.assert_allclose(
        more, PayloadDynamics(ARM).torque_of(estimate.payload)(*REST), atol=1e-9
    )
    # Put down again: with a new estimate it is known that there is nothing.
    carried.restart()
    followed(carried, lambda state: physics(state).torque)
    assert carried.follow(carried.estimate())
    assert (carried.payload, carried.source) == (None, "none")
    assert carried.renewed() is physics


@pytest.mark.parametrize("doubt", [None, np.array([0.1, 0.2, 0.3, 0.4])])
def test_all_of_its_deviation_may_be_common_of_a_model_that_does_not_tell(physics, doubt):
    std = np.full(4, 0.5)
    observer = ResidualObserver(PayloadDynamics(ARM), ARM.torque_limit, PERIOD)
    torque, samples = physics(REST).torque, []
    model = lambda _: FeedForwardTorque(torque, std, common_doubt=doubt)  # noqa: E731
    for cycle in range(100):
        command = SimpleNamespace(
            time=cycle * PERIOD, mode=Mode.HOLDING, position=REST.position, torque=torque
        )
        found = observer.add(command, model)
        samples += [] if found is None else [found]
    assert samples
    for sample in samples:
        np.testing.assert_array_equal(sample.common_doubt, std if doubt is None else doubt)


@pytest.mark.parametrize(("deviations", "is_renewed"), [(0.8, False), (1.2, True)])
def test_an_estimate_that_has_moved_by_a_deviation_is_fed_forward(
    carried, physics, deviations, is_renewed
):
    followed(carried, torque_with(PAYLOAD, physics))
    estimate = carried.estimate()
    assert carried.follow(estimate)
    posterior = estimate.posterior
    along = np.linalg.cholesky(posterior.covariance)[:, 0]
    moved = replace(posterior, parameters=posterior.parameters + deviations * along)
    assert carried.follow(replace(estimate, posterior=moved)) == is_renewed


def test_a_payload_beyond_the_rating_is_not_fed_forward(carried, physics):
    followed(
        carried, torque_with(Payload(5.0, [0, 0, 0.02], [0.01, 0, 0, 0.01, 0, 0.01]), physics)
    )
    estimate = carried.estimate()
    assert estimate.verdict is Verdict.TOO_HEAVY
    assert "at most 3 kg (payload.max_mass)" in estimate.text
    carried.take(estimate)
    assert not carried.follow(estimate)
    assert carried.payload is None
    with pytest.raises(InvalidParameterError, match=r"5 kg: expected at most 3 kg"):
        carried.set(Payload(5.0, [0, 0, 0], [0] * 6))
    assert carried.payload is None


def test_what_was_set_by_hand_stays_until_it_is_cleared(carried, physics):
    carried.set(Payload(0.3, [0, 0, 0], [0] * 6))
    followed(carried, torque_with(PAYLOAD, physics))
    assert not carried.follow(carried.estimate())
    assert (carried.payload.mass, carried.source) == (0.3, "set")
    carried.clear()
    assert carried.follow(carried.estimate())
    assert carried.source == "estimated"
    assert not carried.follow(carried.estimate()), "it is in use already"


@pytest.mark.parametrize(
    ("mode", "limit", "text"),
    [
        (Mode.FAULT, np.inf, "not known yet"),
        (Mode.WAITING, np.inf, "not known yet"),
        (Mode.TRACKING, 1.0, "torques at their limits"),
    ],
)
def test_what_tells_nothing_is_not_learned_from(carried, physics, mode, limit, text):
    law = torque_with(PAYLOAD, physics)
    largest = np.minimum(ARM.torque_limit, limit)
    carried.set_limits(3.0, largest)
    news = followed(carried, lambda s: np.clip(law(s), -largest, largest), 4.0, mode)
    assert news == 0
    estimate = carried.estimate()
    assert estimate.verdict is Verdict.UNKNOWN
    assert text in estimate.text


def test_an_arm_at_rest_says_what_is_missing(carried, physics):
    torque = physics(REST).torque
    for cycle in range(2000):
        carried.observe(
            SimpleNamespace(
                time=cycle * PERIOD, mode=Mode.HOLDING, position=REST.position, torque=torque
            )
        )
    text = carried.estimate().text
    assert "at rest dry friction hides" in text
    assert "faster than 0.02 rad/s" in text


def test_by_the_pd_alone_nothing_is_estimated_or_fed_forward(carried):
    nothing = NoFeedForward(4)
    carried.set(PAYLOAD)
    assert carried.feedforward(nothing, is_model=False) is nothing
    assert carried.renewed() is None
    assert "pd has no model" in carried.estimate().text
    assert followed(carried, lambda state: np.zeros(4), 1.0) == 0


def test_another_model_of_the_arm_begins_a_new_estimate_and_keeps_the_payload(carried, physics):
    followed(carried, torque_with(PAYLOAD, physics))
    carried.take(carried.estimate())
    carried.feedforward(RigidBodyFeedForward(RigidBodyModel(ARM)))
    assert carried.estimate().verdict is Verdict.UNKNOWN
    assert carried.source == "estimated"


def test_torque_changes_within_its_rate_whatever_is_set(carried, physics):
    """The payload fades in through the controller's own way from one feed-forward to the next."""
    rate = 5.0 * ARM.torque_limit
    limits = JointLimits(
        ARM.joint_names,
        ARM.position_lower,
        ARM.position_upper,
        ARM.velocity_limit,
        ARM.torque_limit,
        torque_rate=rate,
    )
    controller = TrackingController(
        limits,
        Gains(np.full(4, 40.0), np.full(4, 3.0)),
        Supervision(np.full(4, 0.2), np.full(4, 0.5), np.full(4, 3.0)),
        physics,
    )
    torques = []
    for cycle in range(600):
        if cycle == 300:
            carried.set(Payload(3.0, [0, 0, 0.1], [0] * 6))
            controller.set_feedforward(carried.renewed())
        command = controller.step(PERIOD * (cycle + 1), REST.position, np.zeros(4))
        controller.look_ahead()
        torques.append(command.torque)
    changes = np.abs(np.diff(torques, axis=0))[250:]
    assert (changes <= rate * PERIOD + 1e-9).all()
    # Over 50 cycles of fading, and not at once.
    whole = np.abs(torques[-1] - torques[290])
    assert (changes.max(axis=0) < 0.05 * whole + 1e-9).all()
    assert whole.max() > 10.0
