# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Two and more senders of joint states: none is followed that is not the arm."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ilr_dynamics.control import (
    FeedForwardTorque,
    Gains,
    JointLimits,
    Mode,
    Supervision,
    TrackingController,
)

TIMEOUT = 0.1
PERIOD = 0.002
HOME = np.array([0.4, -0.8])
ZEROS = np.zeros(2)
LIMITS = JointLimits(
    ("j1", "j2"), [-2.0, -1.5], [2.0, 1.5], [2.0, 2.0], [20.0, 10.0], [200.0, 100.0]
)
SUPERVISION = Supervision([0.1, 0.1], [0.5, 0.5], [3.0, 3.0], input_timeout=TIMEOUT)


class Gravity:
    """A torque that tells the position it is for."""

    def __call__(self, reference):
        return FeedForwardTorque(5.0 * np.cos(reference.position), np.zeros(2))


@dataclass
class Sender:
    """States at a rate, from a start to an end, with stamps of its own."""

    name: str
    position: np.ndarray
    period: float = PERIOD
    begin: float = 0.0
    end: float = np.inf
    stamp_offset: float = 1000.0
    sway: float = 0.0

    def states(self, until):
        # A bit apart in time, whoever comes first by the order of the list.
        n = int((min(until, self.end) - self.begin) / self.period)
        for k in range(max(n, 0)):
            now = self.begin + k * self.period
            yield now, self, self.position + self.sway * np.sin(6.0 * now) * np.ones(2)


class Network:
    """A controller that hears all senders in the order of time, then of the list."""

    def __init__(self, *senders, identities=True, several=False, graph=False):
        self.senders, self.identities = senders, identities
        self.controller = TrackingController(
            LIMITS,
            Gains([40.0, 20.0], [3.0, 1.0]),
            SUPERVISION,
            Gravity(),
            Gravity(),
            period=PERIOD,
            is_present=self.is_present if graph else None,
        )
        self.controller.reset(several_senders=several)
        self.answers, self.faulty_since = [], None
        self.now = 0.0

    def is_present(self, name):
        return any(s.name == name and s.begin <= self.now < s.end for s in self.senders)

    def run(self, until):
        states = [state for sender in self.senders for state in sender.states(until)]
        for now, sender, position in sorted(states, key=lambda state: state[0]):
            if now < self.now:
                continue
            self.now = now
            command = self.controller.step(
                sender.stamp_offset + now,
                position,
                np.zeros(2),
                sender=sender.name if self.identities else None,
                received=now,
            )
            if command is not None:
                self.answers.append((now, sender.name, command))
            if self.faulty_since is None and "contradict" in self.controller.fault:
                self.faulty_since = now
        self.now = until

    def answered(self, name, since=-1.0):
        return [command for now, who, command in self.answers if who == name and now >= since]


def arm(**fields):
    return Sender("arm", HOME, sway=0.02, **fields)


@pytest.mark.parametrize("identities", [True, False])
def test_zeros_with_the_same_stamps_that_come_first_are_a_fault(identities):
    network = Network(Sender("zeros", ZEROS), arm(), identities=identities)
    network.run(1.0)
    assert network.controller.mode is Mode.FAULT
    assert network.controller.fault.startswith(
        "two senders of joint states contradict each other: joint j2 is at "
    )
    assert network.faulty_since < TIMEOUT + 0.01
    # The first state is answered, and without identities the second, with next to no torque.
    torques = [np.abs(command.torque).max() for command in network.answered("zeros")]
    assert len(torques) <= 2 and max(torques) < 0.05
    assert not network.answered("arm")


@pytest.mark.parametrize("first", ["zeros", "arm"])
def test_none_is_answered_where_several_were_known_at_the_start(first):
    senders = [Sender("zeros", ZEROS), arm()]
    network = Network(*(senders if first == "zeros" else senders[::-1]), several=True)
    network.run(1.0)
    assert not network.answers
    assert "contradict" in network.controller.fault
    assert network.controller.step_release() is None


def test_one_sender_of_several_publishers_is_answered_once_it_was_alone():
    network = Network(arm(), several=True)
    network.run(1.5)
    assert network.controller.mode is Mode.HOLDING
    assert 1.0 - 1e-6 < network.answers[0][0] < 1.01


@settings(max_examples=12, deadline=None)
@example((0.0, -0.5), 0.001, 0.0007, 999.9, False, False, False, False)
@given(
    posture=st.tuples(st.floats(-1.5, 0.2), st.floats(-0.6, 1.4)),
    period=st.sampled_from([0.001, 0.002, 0.0033, 0.01, 0.05, 0.1, 0.3]),
    late=st.sampled_from([-0.5, 0.0, 0.0007, 0.5, 1.0]),
    stamps=st.sampled_from([1000.0, 999.9, 1000.001, 0.0, 5e6]),
    arm_first=st.booleans(),
    several=st.booleans(),
    third=st.booleans(),
    graph=st.booleans(),
)
def test_whoever_interferes_is_not_followed(
    posture, period, late, stamps, arm_first, several, third, graph
):
    begin = 1.0
    senders = [
        Sender("intruder", np.array(posture), period, begin + late, stamp_offset=stamps),
        arm(begin=begin),
    ]
    if third:
        senders.append(Sender("third", ZEROS, begin=begin + 0.3))
    network = Network(*(senders[::-1] if arm_first else senders), several=several, graph=graph)
    network.run(3.0)
    # Alone it may be taken for the arm; as soon as the arm is heard it is not.
    together = max(begin, begin + late)
    of_intruder = network.answered("intruder", since=together + 1e-9)
    assert len(of_intruder) <= (late == 0.0 and not several)
    assert not network.answered("third")
    assert network.faulty_since is not None
    both = min(together, begin + 0.3) if third and late > 0.3 else together
    assert network.faulty_since - both <= TIMEOUT + 2.0 * period + 0.01
    assert all(now <= network.faulty_since for now, _, _ in network.answers)


@settings(max_examples=15, deadline=None)
@given(
    posture=st.tuples(st.floats(-1.5, 0.2), st.floats(-0.6, 1.4)),
    period=st.sampled_from([0.001, 0.002, 0.0033, 0.01]),
    late=st.sampled_from([0.0, 0.0007, 0.5]),
    stamps=st.sampled_from([1000.0, 0.0, 5e6]),
)
def test_nobody_is_followed_for_long_where_identities_are_unknown(posture, period, late, stamps):
    intruder = Sender("intruder", np.array(posture), period, 1.0 + late, stamp_offset=stamps)
    network = Network(intruder, arm(begin=1.0), identities=False)
    network.run(3.0)
    assert len(network.answered("intruder")) <= 3
    assert "contradict" in network.controller.fault
    assert network.faulty_since - 1.0 - late <= TIMEOUT + 2.0 * period + 0.02
    assert all(now <= network.faulty_since for now, _, _ in network.answers)


@pytest.mark.parametrize(
    ("identities", "graph", "until"), [(True, True, 1.05), (True, False, 2.3), (False, False, 2.3)]
)
@pytest.mark.parametrize("order", [1, -1])
def test_arm_is_held_on_request_once_the_intruder_is_gone(identities, graph, until, order):
    senders = [Sender("zeros", ZEROS, end=1.0), arm()]
    network = Network(*senders[::order], identities=identities, graph=graph)
    network.run(0.9)
    assert network.controller.contradicted
    network.controller.hold()
    assert network.controller.mode is Mode.FAULT
    network.run(until)
    assert network.controller.mode is Mode.FAULT and not network.controller.contradicted
    assert "contradict" in network.controller.fault
    network.controller.hold()
    network.run(until + 1.0)
    assert network.controller.mode is Mode.HOLDING
    command = network.answers[-1][2]
    np.testing.assert_allclose(command.reference.position, HOME, atol=0.05)
    np.testing.assert_allclose(
        command.feedforward.torque, 5.0 * np.cos(command.reference.position)
    )


def test_torque_is_taken_back_at_the_rate_limit_in_the_fault():
    network = Network(arm(), Sender("zeros", ZEROS, begin=1.0))
    network.run(2.0)
    torques = [network.answers[-1][2].torque]
    assert torques[0].any()
    while (torque := network.controller.step_blind(1.0)) is not None:
        torques.append(torque)
    assert not torques[-1].any()
    assert (np.abs(np.diff(torques, axis=0)) <= LIMITS.torque_rate * PERIOD + 1e-12).all()
    assert np.abs(np.diff(np.abs(torques), axis=0)).any()
    assert "contradict" in network.controller.fault


@pytest.mark.parametrize("offset", [0.0, 0.004])
def test_sender_that_says_the_same_does_no_harm(offset):
    network = Network(arm(), Sender("relay", HOME + offset, sway=0.02, begin=0.0011))
    network.run(2.0)
    assert network.controller.mode is Mode.HOLDING
    assert len(network.answered("arm")) == 1000
    assert not network.answered("relay")


def test_one_stray_state_of_another_is_passed_over():
    network = Network(arm(), Sender("stray", ZEROS, begin=1.0, end=1.003))
    network.run(2.0)
    assert network.controller.mode is Mode.HOLDING
    assert len(network.answered("arm")) == 1000


@pytest.mark.parametrize("after", [0.0007, 0.5])
def test_driver_that_comes_back_under_another_identity_is_a_late_one(after):
    network = Network(arm(end=1.0), Sender("new", HOME, begin=1.0 + after))
    network.run(3.0)
    assert "s apart" in network.controller.fault
    assert network.answered("new", since=1.5 + TIMEOUT)
    network.controller.hold()
    network.run(3.1)
    assert network.controller.mode is Mode.HOLDING


@pytest.mark.parametrize("hidden", ["zeros", "arm"])
def test_sender_that_is_hidden_by_another_is_not_taken_for_gone(hidden):
    # In step with each other, of a hundred states of the first the middleware delivers one.
    senders = [Sender("zeros", ZEROS), arm()]
    next(sender for sender in senders if sender.name == hidden).period = 100 * PERIOD
    network = Network(*senders, graph=True, several=True)
    network.run(3.0)
    assert "contradict" in network.controller.fault
    assert not network.answers
