# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
What goes wrong with recordings: each kind of fault, from how weak to how strong, and why so.

The ranges were written down before anything looked for the faults. The lower end of each changes a
learned torque by 2 % of its rms, or is as weak as the fault can be.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from _fault_arms import Arm, World
from _fault_motions import standstill
from _fault_recordings import (
    COMMAND_DELAY,
    EFFORT_DELAY,
    NANOSECONDS,
    Recorded,
    Setup,
    Stream,
    draw_setup,
    record,
    simulate,
)
from numpy.random import Generator
from numpy.typing import NDArray

__all__ = ["FAULTS", "RANGES", "Fault", "Range", "make_fault"]

Array = NDArray[np.float64]

# Motions in which every joint moves, as where an arm is identified: faults of what the arm weighs
# are told by it.
FULL = ("multisine", "eight", "points")
# Of recordings whose fault is that of messages, not of torques, the share that the plant makes.
SIMULATED = 0.1
# Least change of a learned torque, of its rms.
LEAST_CHANGE = 0.02
# A joint whose rigid bodies take so much torque, of the joint with most, is one that learns more
# than its friction.
SPEAKS = 0.1
# Of the torque limits, with a fault that adds to the torque.
OF_TORQUE_LIMIT = 0.95
# Of the supervised velocities: at twice of those, positions are taken for jumps.
OF_SPEED = 1.8
# Of a stiff controller, rad/s: delays of some milliseconds allow it.
STIFFNESS = 30.0
TRIES = 50
YEAR = 365.25 * 86400.0
DEGREES = 180.0 / np.pi


@dataclass(frozen=True)
class Range:
    """How weak and how strong a fault may be, in which unit, and why no weaker."""

    low: float
    high: float
    unit: str
    reason: str

    def draw(self, random: Generator) -> float:
        """Draw a strength, even in its logarithm."""
        return float(np.exp(random.uniform(np.log(self.low), np.log(self.high))))


RANGES = {
    "dropouts": Range(
        0.01,
        0.3,
        "of the states",
        "floor: torques are interpolated between neighbours, so a loss changes none; 1 % is where "
        "a recorder shows that it cannot keep up (a sound recording loses nothing). Bursts of 1 "
        "state to 0.5 s; commands of lost states are lost in half of the recordings",
    ),
    "position_jump": Range(
        0.05,
        2.0 * np.pi,
        "rad",
        "floor: 0.05 rad within a period of 2 ms are 25 rad/s, ten times what these arms do; "
        "states of zeros differ from the arm's by 0.3 rad at least",
    ),
    "clock_set_back": Range(
        0.05,
        2.0,
        "s",
        "floor: below 0.05 s it is as long as a message may be late, and 25 periods at 500 Hz",
    ),
    "wrong_stamp": Range(
        0.2,
        10.0 * YEAR,
        "s",
        "floor: by 0.1 s messages overtake each other on a network; 0.2 s is twice that. One to "
        "five messages",
    ),
    "zero_effort": Range(1, 7, "joints", "floor: one joint; all of its torque is missing"),
    "effort_scale": Range(
        0.01,
        1000.0,
        "times",
        "floor: units are what they are. The nearest to Nm is percent of the limit, which leaves "
        "a joint of 100 Nm as it is and changes at least one joint of each arm by a third",
    ),
    "zero_velocity": Range(
        1, 7, "joints", "floor: one joint; samples take velocities from the positions"
    ),
    "velocity_scale": Range(
        0.5,
        200.0,
        "times",
        "floor: encoders whose edges are counted once, twice or four times are wrong by 2; no two "
        "units are nearer. Samples take velocities from the positions",
    ),
    "permuted_joints": Range(
        LEAST_CHANGE, 1e3, "of the rms", "2 % of the rms of a torque that the swap changes"
    ),
    "wrong_sign": Range(
        2.0, 2.0, "of the rms", "floor: a sign is right or wrong, and changes a torque by 200 %"
    ),
    "degrees": Range(DEGREES, DEGREES, "times", "floor: the unit is what it is"),
    "base_tilted": Range(
        10.0,
        180.0,
        "degrees",
        "an arm at 10 degrees looks tilted; that is 17 % of the weight, sideways, and 2 % of the "
        "rms of a joint's torque at least (drawn again otherwise)",
    ),
    "gravity_twice": Range(
        0.9, 1.1, "of the weight", "the driver's own model may be wrong by a tenth"
    ),
    "gravity_missing": Range(
        0.9, 1.0, "of the weight", "the driver's own model may be wrong by a tenth"
    ),
    "payload": Range(
        LEAST_CHANGE,
        3.0,
        "kg",
        "from the mass at the tool that changes the torque of one joint, of those whose rigid "
        "bodies take a tenth of the most, by 2 % of its rms (some 0.01 to 0.1 kg)",
    ),
    "torque_delay": Range(
        1.0, 20.0, "ms", "floor: 1 ms is half a period at 500 Hz, and the finest that is asked for"
    ),
    "saturation": Range(
        0.01,
        0.2,
        "of the states",
        "floor: the drives give what is recorded, so no torque is wrong; 1 % of the states is "
        "what a controller does that is at its limit at times, not once",
    ),
    "no_excitation": Range(
        5e-4,
        8e-3,
        "rad",
        "strong is small: the learner refuses ranges below 0.01 rad; a third stand still",
    ),
}
"""Ranges of strength, by kind."""


@dataclass(frozen=True)
class Fault:
    """
    A recording with a fault.

    Attributes
    ----------
    kind : str
    variant : str
        How it shows.
    strength : float
        In the unit of its range.
    recorded : Recorded
    joints : tuple of str
        That have to be named; empty for faults of the whole arm.
    """

    kind: str
    variant: str
    strength: float
    recorded: Recorded
    joints: tuple[str, ...] = ()


def make_fault(kind: str, random: Generator, arm: Arm, storage: str) -> Fault:
    """Draw a recording with a fault of this kind."""
    return FAULTS[kind](random, arm, storage)


def _names(setup: Setup, *joints: int) -> tuple[str, ...]:
    return tuple(setup.arm.description.joint_names[joint] for joint in joints)


def _draw_moving(
    random: Generator, arm: Arm, storage: str, number: int = 1, **options: object
) -> tuple[Setup, list[int]]:
    """Draw a recording, and joints that move in it."""
    for _ in range(TRIES):
        setup = draw_setup(random, arm, storage, **options)
        moving = setup.moving()
        if len(moving) >= number:
            return setup, random.permutation(moving)[:number].tolist()
    raise RuntimeError(f"no motion found in which {number} joints move")


def _dropouts(random: Generator, arm: Arm, storage: str) -> Fault:
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


def _position_jump(random: Generator, arm: Arm, storage: str) -> Fault:
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
    return Fault("position_jump", "wrap", 2.0 * np.pi, recorded, _names(setup, joint))


def _slipped(random: Generator, arm: Arm, storage: str) -> Fault:
    """An encoder that lost counts: from then on a joint's position is beside."""
    setup, [joint] = _draw_moving(random, arm, storage, simulated=SIMULATED)
    low = RANGES["position_jump"].low
    by = float(np.exp(random.uniform(np.log(low), np.log(0.5)))) * random.choice([-1.0, 1.0])
    recorded = record(setup)
    row = int(random.uniform(0.2, 0.8) * len(recorded.states.stamp))
    recorded.states.position[row:, joint] += by
    return Fault("position_jump", "slip", abs(by), recorded, _names(setup, joint))


def _clock_set_back(random: Generator, arm: Arm, storage: str) -> Fault:
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


def _wrong_stamp(random: Generator, arm: Arm, storage: str) -> Fault:
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


def _zero_effort(random: Generator, arm: Arm, storage: str) -> Fault:
    everywhere = random.uniform() < 0.5
    setup, [joint] = _draw_moving(
        random, arm, storage, simulated=SIMULATED, commanded=0.0 if everywhere else 0.7
    )
    recorded = record(setup)
    joints = range(arm.n_joints) if everywhere else [joint]
    limit = arm.description.torque_limit
    constant = random.uniform() < 1.0 / 3.0
    for j in joints:
        value = random.uniform(-0.1, 0.1) * limit[j] if constant else 0.0
        for torque in recorded.torques():
            torque[:, j] = value
    variant = f"{'all' if everywhere else 'one'} {'constant' if constant else 'zero'}"
    named = () if everywhere else _names(setup, joint)
    return Fault("zero_effort", variant, len(joints), recorded, named)


def _effort_scale(random: Generator, arm: Arm, storage: str) -> Fault:
    setup = draw_setup(random, arm, storage, FULL)
    recorded = record(setup)
    limit = arm.description.torque_limit
    factors = {
        "percent of the limit": 100.0 / limit,
        "thousandths of the limit": 1000.0 / limit,
        "shares of the limit": 1.0 / limit,
        # Motors of 0.05 to 0.2 Nm/A behind gears of 20 to 100.
        "mA": 1000.0 / np.exp(random.uniform(np.log(1.0), np.log(20.0), arm.n_joints)),
        "mNm": np.full(arm.n_joints, 1000.0),
        "tenfold": np.full(arm.n_joints, 10.0),
        "a tenth": np.full(arm.n_joints, 0.1),
    }
    variant = str(random.choice(list(factors)))
    for torque in recorded.torques():
        torque *= factors[variant]
    strength = float(np.exp(np.mean(np.log(factors[variant]))))
    return Fault("effort_scale", variant, strength, recorded)


def _zero_velocity(random: Generator, arm: Arm, storage: str) -> Fault:
    setup, [joint] = _draw_moving(random, arm, storage, simulated=SIMULATED, velocities=1.0)
    recorded = record(setup)
    everywhere = random.uniform() < 0.5
    if everywhere:
        recorded.states.velocity[:] = 0.0
        return Fault("zero_velocity", "all", arm.n_joints, recorded)
    recorded.states.velocity[:, joint] = 0.0
    return Fault("zero_velocity", "one", 1, recorded, _names(setup, joint))


def _velocity_scale(random: Generator, arm: Arm, storage: str) -> Fault:
    setup, joints = _draw_moving(
        random, arm, storage, number=2, simulated=SIMULATED, velocities=1.0
    )
    recorded = record(setup)
    velocity = recorded.states.velocity
    variant = str(random.choice(["deg/s", "rpm", "sign", "gear", "edges", "swapped"]))
    if variant == "swapped":
        velocity[:, joints] = velocity[:, joints[::-1]]
        return Fault("velocity_scale", variant, 1.0, recorded, _names(setup, *joints))
    factor = {
        "deg/s": DEGREES,
        "rpm": 30.0 / np.pi,
        "sign": -1.0,
        "gear": float(np.exp(random.uniform(np.log(5.0), np.log(200.0)))),
        "edges": float(random.choice([0.5, 2.0, 4.0])),
    }[variant]
    if variant in ("deg/s", "rpm") or random.uniform() < 0.5:
        velocity *= factor
        return Fault("velocity_scale", f"{variant}, all", factor, recorded)
    velocity[:, joints[0]] *= factor
    return Fault("velocity_scale", variant, factor, recorded, _names(setup, joints[0]))


def _permuted_joints(random: Generator, arm: Arm, storage: str) -> Fault:
    variant = str(random.choice(["motion", "effort"]))
    for _ in range(TRIES):
        setup, joints = _draw_moving(random, arm, storage, number=2, styles=FULL)
        recorded = record(setup)
        other = joints[::-1]
        if variant == "effort":
            swapped = recorded.torque.copy()
            swapped[:, joints] = swapped[:, other]
            change = _change(recorded.torque, swapped)[joints].max()
        else:
            motion = [values.copy() for values in recorded.motion]
            for values in motion:
                values[:, joints] = values[:, other]
            true, wrong = arm.rigid_torque(*recorded.motion), arm.rigid_torque(*motion)
            change = (_rms(wrong - true) / _rms(recorded.torque)).max()
        if change >= LEAST_CHANGE:
            break
    else:
        raise RuntimeError("no joints found whose swap changes a torque")
    if variant == "effort":
        changed = recorded.torques()
    else:
        changed = [recorded.states.position, recorded.states.velocity]
    for values in changed:
        if values is not None:
            values[:, joints] = values[:, other]
    return Fault("permuted_joints", variant, float(change), recorded, _names(setup, *joints))


def _wrong_sign(random: Generator, arm: Arm, storage: str) -> Fault:
    setup, [joint] = _draw_moving(random, arm, storage, styles=FULL)
    recorded = record(setup)
    variant = str(random.choice(["motion", "effort"]))
    changed = recorded.torques()
    if variant == "motion":
        changed = [recorded.states.position, recorded.states.velocity]
    for values in changed:
        if values is not None:
            values[:, joint] *= -1.0
    return Fault("wrong_sign", variant, 2.0, recorded, _names(setup, joint))


def _degrees(random: Generator, arm: Arm, storage: str) -> Fault:
    setup, _ = _draw_moving(random, arm, storage, simulated=SIMULATED)
    recorded = record(setup)
    recorded.states.position *= DEGREES
    both = recorded.states.velocity is not None and random.uniform() < 0.7
    if both:
        recorded.states.velocity *= DEGREES
    variant = "velocities too" if both else "positions only"
    return Fault("degrees", variant, DEGREES, recorded)


def _base_tilted(random: Generator, arm: Arm, storage: str) -> Fault:
    for _ in range(TRIES):
        setup = draw_setup(random, arm, storage, FULL)
        angle = RANGES["base_tilted"].draw(random)
        azimuth = random.uniform(0.0, 2.0 * np.pi)
        sideways = np.sin(np.radians(angle))
        up = (
            float(sideways * np.cos(azimuth)),
            float(sideways * np.sin(azimuth)),
            float(np.cos(np.radians(angle))),
        )
        world = World(up=up)
        torque = setup.arm.torque(*setup.sketch(), setup.drives, np.zeros(arm.n_joints), world)
        if _fits(arm, torque) and _world_changes(setup, world).max() >= LEAST_CHANGE:
            return Fault(
                "base_tilted",
                f"up {up[0]:.2f} {up[1]:.2f} {up[2]:.2f}",
                angle,
                record(setup, world),
            )
    raise RuntimeError("no motion found for a tilted base")


def _gravity(random: Generator, arm: Arm, storage: str, kind: str, sign: float) -> Fault:
    """The driver adds the weight, and so did who commanded; or what it adds was not recorded."""
    share = float(random.uniform(RANGES[kind].low, RANGES[kind].high))
    for _ in range(TRIES):
        setup = draw_setup(random, arm, storage, FULL)
        recorded = record(setup)
        for stream, delay in zip(recorded.streams, (EFFORT_DELAY, COMMAND_DELAY), strict=False):
            q, _, _ = setup.motion.at(recorded.time + delay * setup.period)
            rest = np.zeros_like(q)
            stream.effort += sign * share * arm.rigid_torque(q, rest, rest)
        if all(_fits(arm, torque) for torque in recorded.torques()):
            return Fault(kind, "", share, recorded)
    raise RuntimeError("no motion found that is not too heavy")


def _gravity_twice(random: Generator, arm: Arm, storage: str) -> Fault:
    return _gravity(random, arm, storage, "gravity_twice", 1.0)


def _gravity_missing(random: Generator, arm: Arm, storage: str) -> Fault:
    return _gravity(random, arm, storage, "gravity_missing", -1.0)


def _payload(random: Generator, arm: Arm, storage: str) -> Fault:
    for _ in range(TRIES):
        setup = draw_setup(random, arm, storage, FULL)
        motion, rest = setup.sketch(), np.zeros(arm.n_joints)
        # Torque is linear in a mass, but for friction, which grows with the load.
        low = LEAST_CHANGE / _world_changes(setup, World(payload=1.0)).max()
        mass = float(np.exp(random.uniform(np.log(low), np.log(RANGES["payload"].high))))
        world = World(payload=mass)
        if _fits(arm, arm.torque(*motion, setup.drives, rest, world)):
            return Fault("payload", f"floor {low:.3f} kg", mass, record(setup, world))
    raise RuntimeError("no motion found with a payload")


def _torque_delay(random: Generator, arm: Arm, storage: str) -> Fault:
    for _ in range(TRIES):
        setup = draw_setup(random, arm, storage, FULL)
        if setup.fast():
            extra = RANGES["torque_delay"].draw(random)
            recorded = record(setup, World(extra_delay=1e-3 * extra))
            variant = f"{setup.rate:.0f} Hz, {'command' if setup.commanded else 'effort'}"
            return Fault("torque_delay", variant, extra, recorded)
    raise RuntimeError("no motion found that is fast")


def _saturation(random: Generator, arm: Arm, storage: str) -> Fault:
    if random.uniform() < 0.5:
        return _at_a_stop(random, arm, storage)
    return _pulled(random, arm, storage)


def _at_a_stop(random: Generator, arm: Arm, storage: str) -> Fault:
    """A joint rests at its stop, and is pressed against it with all it has."""
    allowed = RANGES["saturation"]
    for _ in range(TRIES):
        setup = draw_setup(random, arm, storage, FULL)
        setup = replace(setup, measured=False, effort_noise=0.0)
        recorded = record(setup)
        still = np.flatnonzero((np.abs(recorded.motion[1]) < 1e-9).all(axis=1))
        if still.size == 0:
            continue
        runs = np.split(still, np.flatnonzero(np.diff(still) > 1) + 1)
        run = max(runs, key=len)
        begin, end = recorded.time[run[0]] + 0.02, recorded.time[run[-1]] - 0.02
        ramp = 0.1
        share = (end - begin - 2.0 * ramp) / setup.duration
        if not allowed.low <= share <= allowed.high:
            continue
        joint = int(random.integers(arm.n_joints))
        limit = random.choice([-1.0, 1.0]) * arm.description.torque_limit[joint]
        for stream, delay in zip(recorded.streams, (EFFORT_DELAY, COMMAND_DELAY), strict=False):
            acting = recorded.time + delay * setup.period
            pressed = np.clip(np.minimum(acting - begin, end - acting) / ramp, 0.0, 1.0)
            torque = stream.effort[:, joint]
            stream.effort[:, joint] = np.where(
                pressed >= 1.0, limit, (1.0 - pressed) * torque + pressed * limit
            )
        return Fault("saturation", "at a stop", share, recorded, _names(setup, joint))
    raise RuntimeError("no motion found that rests")


def _pulled(random: Generator, arm: Arm, storage: str) -> Fault:
    """Somebody pulls at the reference of a stiff controller."""
    limit, allowed = arm.description.torque_limit, RANGES["saturation"]
    for _ in range(TRIES):
        setup = draw_setup(random, arm, storage, ("multisine", "points"), simulated=1.0)
        setup = replace(setup, measured=False, effort_noise=0.0)
        joint = int(random.integers(arm.n_joints))
        gains, reach, speed = _stiff(setup, joint)
        allowed_speed = np.asarray(arm.settings.samples.velocity_limit)
        if speed > allowed_speed[joint]:
            continue
        n = round(setup.duration * setup.rate) + 1
        steps = np.zeros((n, arm.n_joints))
        every = round(random.uniform(0.5, 1.5) * setup.rate)
        for row in range(round(1.5 * setup.rate), n - every, every):
            length = round(random.uniform(0.3, 0.8) * every)
            side = random.choice([-1.0, 1.0])
            steps[row : row + length, joint] = side * random.uniform(1.1, 2.0) * reach
        recorded = simulate(setup, steps, gains)
        torque = recorded.streams[-1].effort
        share = np.mean(np.abs(torque) >= limit, axis=0)
        any_share = float(np.mean((np.abs(torque) >= limit).any(axis=1)))
        speed = np.abs(np.gradient(recorded.states.position, setup.period, axis=0)).max(axis=0)
        if (speed > OF_SPEED * allowed_speed).any():
            continue
        if share[joint] >= allowed.low and any_share <= allowed.high:
            joints = np.flatnonzero(share >= 0.5 * allowed.low)
            named = _names(setup, joint) if len(joints) == 1 else ()
            return Fault("saturation", "pulled", any_share, recorded, named)
    raise RuntimeError("no motion found that is at its limits")


def _stiff(setup: Setup, joint: int) -> tuple[tuple[Array, Array], float, float]:
    """Gains with one joint stiff.

    And how far its reference must be to ask for its limit, rad, and about how fast the joint then
    gets, rad/s.
    """
    arm = setup.arm
    q = setup.motion.at(np.zeros(1))[0]
    rest, unit = np.zeros_like(q), np.zeros_like(q)
    unit[0, joint] = 1.0
    inertia = (arm.rigid_torque(q, rest, unit) - arm.rigid_torque(q, rest, rest))[0, joint]
    inertia += arm.transmission.reflected_inertia[joint]
    limit = arm.description.torque_limit[joint]
    kp, kd = arm.kp.copy(), arm.kd.copy()
    kp[joint] = max(min(limit / 0.08, STIFFNESS**2 * inertia), kp[joint])
    kd[joint] = max(1.4 * np.sqrt(kp[joint] * inertia), kd[joint])
    reach = float(limit / kp[joint])
    return (kp, kd), reach, 0.6 * float(np.sqrt(kp[joint] / inertia)) * reach


def _no_excitation(random: Generator, arm: Arm, storage: str) -> Fault:
    setup = draw_setup(random, arm, storage, ("multisine", "eight"))
    widest = 0.0
    if random.uniform() < 1.0 / 3.0:
        motion, variant = standstill(setup.motion), "standstill"
    else:
        widest = RANGES["no_excitation"].draw(random)
        motion, variant = setup.motion.smaller(widest), "tiny"
    return Fault("no_excitation", variant, widest, record(replace(setup, motion=motion)))


def _rms(values: Array) -> Array:
    return np.asarray(np.sqrt(np.mean(values**2, axis=0)))


def _change(true: Array, wrong: Array) -> Array:
    return _rms(wrong - true) / _rms(true)


def _world_changes(setup: Setup, world: World) -> Array:
    """By how much each joint's torque differs from that of the description, of its rms.

    Joints that have friction alone, or next to, say nothing (0).
    """
    motion = setup.sketch()
    rigid = setup.arm.rigid_torque(*motion)
    torque = setup.arm.torque(*motion, setup.drives, np.zeros(setup.arm.n_joints))
    change = _rms(setup.arm.rigid_torque(*motion, world) - rigid) / _rms(torque)
    size = _rms(rigid)
    return np.where(size >= SPEAKS * size.max(), change, 0.0)


def _fits(arm: Arm, torque: Array) -> bool:
    return bool((np.abs(torque) < OF_TORQUE_LIMIT * arm.description.torque_limit).all())


FAULTS: dict[str, Callable[[Generator, Arm, str], Fault]] = {
    "dropouts": _dropouts,
    "position_jump": _position_jump,
    "clock_set_back": _clock_set_back,
    "wrong_stamp": _wrong_stamp,
    "zero_effort": _zero_effort,
    "effort_scale": _effort_scale,
    "zero_velocity": _zero_velocity,
    "velocity_scale": _velocity_scale,
    "permuted_joints": _permuted_joints,
    "wrong_sign": _wrong_sign,
    "degrees": _degrees,
    "base_tilted": _base_tilted,
    "gravity_twice": _gravity_twice,
    "gravity_missing": _gravity_missing,
    "payload": _payload,
    "torque_delay": _torque_delay,
    "saturation": _saturation,
    "no_excitation": _no_excitation,
}
"""What makes a recording with a fault, by kind."""
