# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What the arm carries: estimated, set and cleared over DDS, without a jump of the torque."""

import time

import numpy as np
import pytest
from _payload_arm import described_with
from controller_bench import CYCLE, RATE_LIMIT
from lifecycle_msgs.msg import Transition
from std_srvs.srv import Trigger

from ilr_dynamics.nodes.shared import qos
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.payload import Payload
from ilr_dynamics.robot.plant import WamPlant
from ilr_dynamics.robot.plant_config import load_plant_config
from ilr_dynamics_msgs.msg import ControllerState, PayloadEstimate
from ilr_dynamics_msgs.srv import EstimatePayload, SetPayload

POINT = [0.0] * 6
HEAVY = Payload(1.0, [0.02, 0.0, 0.03], [2e-3, 0.0, 0.0, 2e-3, 0.0, 2e-3])


@pytest.fixture
def loaded(bench, tmp_path):
    """An arm with a kilogram at its tool, of which the active node knows nothing."""
    bare = bench.plant
    description = described_with(load_description("wam4"), HEAVY, tmp_path)
    bench.plant = WamPlant(description, load_plant_config("wam4"), seed=0)
    bench.measured = bench.plant.reset(bench.eight.positions[0])
    assert bench.change_state(Transition.TRANSITION_ACTIVATE)
    bench.run(0.12)
    yield bench
    bench.plant = bare


def set_payload(arm, mass, com=(0.0, 0.0, 0.0), inertia=POINT):
    return arm.ask(SetPayload, "set_payload", mass=mass, com=list(com), inertia=list(inertia))


def changes_of(arm, seconds=0.3):
    """Torques of cycles from now on, after the one before them."""
    return np.diff(np.vstack([arm.torques[-1].effort, arm.run(seconds)]), axis=0)


def test_payload_is_estimated_in_motion_and_fed_forward_without_a_jump(loaded):
    told = []
    loaded.node.create_subscription(PayloadEstimate, "/inverse_dynamics/payload", told.append, 10)
    at_rest = loaded.ask(EstimatePayload, "estimate_payload", restart=False)
    assert not at_rest.success and at_rest.message.startswith("not known yet")
    began = loaded.ask(EstimatePayload, "estimate_payload", restart=True)
    assert began.success and "new estimate begins" in began.message
    before = [np.mean(np.square(loaded.follow_eight())) for _ in range(2)][-1]
    answer = loaded.ask(EstimatePayload, "estimate_payload", restart=False)
    assert answer.success, answer.message
    # The analytic model knows nothing of friction, and that is what its deviation says.
    assert abs(answer.mass - 1.0) < 4.0 * answer.std[0] < 1.0
    assert (changes_of(loaded) <= RATE_LIMIT * CYCLE + 1e-9).all()
    after = np.mean(np.square(loaded.follow_eight()))
    assert after < 0.5 * before
    assert told[-1].verdict == PayloadEstimate.PAYLOAD
    assert (told[-1].source, told[-1].used_mass) == ("estimated", answer.mass)
    assert told[-1].header.frame_id == load_description("wam4").tool_frame
    # Put into use by hand and taken out again, also without a jump.
    assert loaded.ask(Trigger, "clear_payload").success
    changes = np.abs(changes_of(loaded))
    assert (changes <= RATE_LIMIT * CYCLE + 1e-9).all()


def test_payload_is_followed_by_itself_where_that_is_asked_for(loaded):
    assert loaded.set_parameters(payload__estimation="automatic").successful
    told = []
    loaded.node.create_subscription(PayloadEstimate, "/inverse_dynamics/payload", told.append, 10)
    for _ in range(3):
        loaded.follow_eight()
    assert told[-1].source == "estimated"
    assert told[-1].used_mass == pytest.approx(1.0, abs=0.4)


@pytest.mark.parametrize(
    ("mass", "com", "inertia", "text"),
    [
        (3.5, (0.0, 0.0, 0.0), POINT, "expected at most 3 kg (payload.max_mass)"),
        (0.0, (0.0, 0.0, 0.0), POINT, "mass of the payload is 0 kg: expected a positive number"),
        (np.nan, (0.0, 0.0, 0.0), POINT, "expected a positive number"),
        (1.0, (np.inf, 0.0, 0.0), POINT, "com of the payload"),
        (1.0, (0.0, 0.0, 0.0), [1, 0, 0, 1, 0, 3], "larger than the sum of the other two"),
    ],
)
def test_payloads_that_cannot_be_are_refused_and_change_nothing(arm, mass, com, inertia, text):
    before = arm.run(0.1)[-1]
    answer = set_payload(arm, mass, com, inertia)
    assert not answer.success
    assert text in answer.message
    np.testing.assert_allclose(arm.run(0.2)[-1], before, atol=0.2)


def test_a_payload_set_by_hand_is_held_up(arm):
    assert set_payload(arm, 1.0, HEAVY.com, HEAVY.inertia).success
    changes = np.abs(changes_of(arm))
    assert (changes <= RATE_LIMIT * CYCLE + 1e-9).all()
    # Its weight at the shoulder's second joint, some 0.6 m away.
    state = arm.state()
    assert arm.ask(Trigger, "clear_payload").message == "payload cleared"
    arm.run(0.3)
    of_payload = np.array(state.feedforward_torque) - arm.state().feedforward_torque
    assert 5.0 < abs(of_payload[1]) < 8.0


def test_nothing_about_the_payload_changes_in_a_fault_or_without_a_controller(arm):
    arm.time += 1.0
    assert arm.state().mode == ControllerState.FAULT
    answers = [
        set_payload(arm, 1.0),
        arm.ask(EstimatePayload, "estimate_payload", restart=True),
        arm.ask(EstimatePayload, "estimate_payload", restart=False),
        arm.ask(Trigger, "clear_payload"),
    ]
    for answer in answers:
        assert not answer.success
        assert "in a fault (joint states are" in answer.message
        assert "call ~/hold first" in answer.message
    assert arm.ask(Trigger, "hold").message == "holding"
    assert set_payload(arm, 1.0).success
    assert arm.change_state(Transition.TRANSITION_DEACTIVATE)
    assert arm.change_state(Transition.TRANSITION_CLEANUP)
    answer = arm.ask(Trigger, "clear_payload", moving=False)
    assert not answer.success and "not configured" in answer.message


def used_payload(arm):
    """What somebody who asks only now is told of the payload that is fed forward."""
    told = []
    topic = "/inverse_dynamics/payload"
    late = arm.node.create_subscription(PayloadEstimate, topic, told.append, qos.LATCHED)
    deadline = time.monotonic() + 30.0
    while not told:
        assert time.monotonic() < deadline, "nothing is told of the payload"
        arm.spin(0.05)
    arm.node.destroy_subscription(late)
    return told[-1].source, told[-1].used_mass, list(told[-1].used_com)


def test_whoever_asks_is_told_what_is_fed_forward_without_motion_or_estimate(arm):
    nothing = ("none", 0.0, [0.0] * 3)
    assert arm.set_parameters(payload__estimation="off").successful
    assert used_payload(arm) == nothing
    assert set_payload(arm, 0.5, HEAVY.com).success
    assert used_payload(arm) == ("set", 0.5, list(HEAVY.com))
    assert arm.ask(Trigger, "clear_payload").success
    assert used_payload(arm) == nothing
    assert set_payload(arm, 0.5, HEAVY.com).success
    assert arm.change_state(Transition.TRANSITION_DEACTIVATE)
    assert used_payload(arm)[0] == "set"
    assert arm.change_state(Transition.TRANSITION_CLEANUP)
    assert used_payload(arm) == nothing


def test_estimates_are_off_where_that_is_asked_for(arm):
    assert arm.set_parameters(payload__estimation="off").successful
    answer = arm.ask(EstimatePayload, "estimate_payload", restart=False)
    assert not answer.success and "payload.estimation is off" in answer.message
    assert set_payload(arm, 0.5).success
