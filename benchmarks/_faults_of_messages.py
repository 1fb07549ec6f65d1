# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Faults of messages: lost ones, strange ones, and clocks."""

from __future__ import annotations

import numpy as np
from _fault import FULL, SIMULATED, TRIES, Fault, draw_moving, names
from _fault_arms import Arm
from _fault_ranges import RANGES, YEAR
from _fault_recordings import NANOSECONDS, Setup, Stream, draw_setup, record
from numpy.random import Generator

__all__ = ["clock_set_back", "dropouts", "position_jump", "wrong_stamp"]


def dropouts(random: Generator, arm: Arm, storage: str) -> Fault:
    setup = draw_setup(random, arm, storage, simulated=SIMULATED)
    recorded, share = record(setup), RANGES["dropouts"].draw(random)
    n = len(recorded.states.stamp)
    longest = min(0.5 * setup.rate, share * n)
    length = max(1, round(np.exp(random.uniform(0.0, np.log(longest)))))
    lost = np.zeros(n, dtype=bool)
    while np.count_nonzero(lost) < share * n:
        first = int(random.integers(round(0.02 * n), round(0.98 * n) - length))
        lost[first : first + length] = True
    both = recorded.commands is not None and random.uniform() < 0.5
    recorded.states = recorded.states.taken(~lost)
    if both:
        recorded.commands = recorded.commands.taken(~lost)
    variant = f"bursts of {length}{', commands too' if both else ''}"
    return Fault("dropouts", variant, float(lost.mean()), recorded)


def position_jump(random: Generator, arm: Arm, storage: str) -> Fault:
    turning = {"wam7": 4, "arm6": 5}.get(arm.name)
    variants = ["zeros", "sender", "slip"] + ["wrap"] * (turning is not None)
    variant = str(random.choice(variants))
    if variant == "wrap":
        return _wrapped(random, arm, storage, turning)
    if variant == "slip":
        return _slipped(random, arm, storage)
    for _ in range(TRIES):
        setup = draw_setup(random, arm, storage, simulated=SIMULATED)
        if np.abs(setup.sketch()[0]).max(axis=1).min() > 0.3:
            break
    else:
        raise RuntimeError("no motion found away from zero")
    recorded = record(setup)
    states = recorded.states
    distance = float(np.abs(states.position).max(axis=1).min())
    if variant == "zeros":
        number = int(random.integers(1, 31))
        rows = random.choice(len(states.stamp) // 20 - 2, number, replace=False) * 20 + 20
        for values in (states.position, states.velocity, states.effort):
            if values is not None:
                values[rows] = 0.0
        return Fault("position_jump", f"{number} states of zeros", distance, recorded)
    rate = setup.rate * float(np.exp(random.uniform(np.log(0.1), 0.0)))
    other = _other_sender(random, setup, states, rate)
    recorded.states = states.joined(other)
    return Fault("position_jump", f"another sender at {rate:.0f} Hz", distance, recorded)


def _other_sender(random: Generator, setup: Setup, states: Stream, rate: float) -> Stream:
    """Zeros, or near them a posture, from somebody with a timer of his own."""
    late = random.uniform(0.3, 0.7) * setup.period
    sent = np.arange(states.sent[0] + late, states.sent[-1], 1.0 / rate)
    first = states.stamp[0] - round(NANOSECONDS * (states.sent[0] - late))
    stamp = first + np.round(NANOSECONDS * (sent - late)).astype(np.int64)
    n, n_joints = len(sent), setup.arm.n_joints
    zeros = np.zeros((n, n_joints))
    return Stream(
        stamp,
        stamp + 200_000,
        sent,
        position=zeros,
        velocity=None if states.velocity is None else zeros,
        effort=zeros,
    )


def _wrapped(random: Generator, arm: Arm, storage: str, joint: int) -> Fault:
    """Angles of a joint that turns past pi, as one that only knows -pi to pi gives them."""
    # The range of joint 5 of the WAM holds -pi, that of the six-joint arm's last either.
    at = -np.pi if arm.name == "wam7" else np.pi
    for _ in range(TRIES):
        near = at + random.uniform(-0.1, 0.1)
        setup = draw_setup(random, arm, storage, FULL[:2], centre={joint: near})
        q = setup.sketch()[0][:, joint]
        if q.min() < at - 0.05 and q.max() > at + 0.05:
            break
    else:
        raise RuntimeError("no motion found past pi")
    recorded = record(setup)
    position = recorded.states.position
    position[:, joint] = (position[:, joint] + np.pi) % (2.0 * np.pi) - np.pi
    return Fault("position_jump", "wrap", 2.0 * np.pi, recorded, names(setup, joint))


def _slipped(random: Generator, arm: Arm, storage: str) -> Fault:
    """An encoder that lost counts: from then on a joint's position is beside."""
    setup, [joint] = draw_moving(random, arm, storage, simulated=SIMULATED)
    low = RANGES["position_jump"].low
    by = float(np.exp(random.uniform(np.log(low), np.log(0.5)))) * random.choice([-1.0, 1.0])
    recorded = record(setup)
    row = int(random.uniform(0.2, 0.8) * len(recorded.states.stamp))
    recorded.states.position[row:, joint] += by
    return Fault("position_jump", "slip", abs(by), recorded, names(setup, joint))


def clock_set_back(random: Generator, arm: Arm, storage: str) -> Fault:
    setup = draw_setup(random, arm, storage, simulated=SIMULATED)
    recorded, back = record(setup), RANGES["clock_set_back"].draw(random)
    row = int(random.uniform(0.2, 0.8) * len(recorded.states.stamp))
    moment = recorded.states.sent[row] - 0.05 * setup.period
    receipt = random.uniform() < 0.5
    for stream in recorded.streams:
        # A command has the stamp of the state that it answers.
        stream.stamp[row:] -= round(NANOSECONDS * back)
        if receipt:
            stream.received[stream.sent >= moment] -= round(NANOSECONDS * back)
    variant = "receipt too" if receipt else "receipt steady"
    return Fault("clock_set_back", variant, back, recorded)


def wrong_stamp(random: Generator, arm: Arm, storage: str) -> Fault:
    setup = draw_setup(random, arm, storage, simulated=SIMULATED)
    recorded = record(setup)
    variant = str(random.choice(["ahead", "behind", "years ahead", "zero"]))
    number = int(random.choice([1, 1, 2, 3, 5]))
    n = len(recorded.states.stamp)
    rows = random.choice(n // 30 - 2, number, replace=False) * 30 + 30
    if variant == "zero":
        by = -recorded.states.stamp[rows]
    else:
        low, high = (YEAR, 10.0 * YEAR) if variant == "years ahead" else (0.2, 5.0)
        seconds = np.exp(random.uniform(np.log(low), np.log(high), number))
        sign = -1.0 if variant == "behind" else 1.0
        by = np.round(sign * NANOSECONDS * seconds).astype(np.int64)
    answered = random.uniform() < 0.5
    for stream in recorded.streams[: 2 if answered else 1]:
        stream.stamp[rows] += by
    if random.uniform() < 0.3:
        # The clock of the receipt was wrong for them as well.
        recorded.states.received[rows] = np.maximum(recorded.states.received[rows] + by, 0)
    return Fault(
        "wrong_stamp", f"{number} {variant}", float(np.abs(by).min() / NANOSECONDS), recorded
    )
