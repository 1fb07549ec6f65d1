# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Faults of torques: units, delays and limits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from _fault import FULL, SIMULATED, TRIES, Fault, draw_moving, names
from _fault_arms import Arm, World
from _fault_ranges import RANGES
from _fault_recordings import COMMAND_DELAY, EFFORT_DELAY, Setup, draw_setup, record, simulate
from numpy.random import Generator

from ilr_dynamics.arrays import FloatArray

__all__ = ["effort_scale", "saturation", "torque_delay", "zero_effort"]

# Of the supervised velocities: at twice of those, positions are taken for jumps.
OF_SPEED = 1.8
# Of a stiff controller, rad/s: delays of some milliseconds allow it.
STIFFNESS = 30.0


def zero_effort(random: Generator, arm: Arm, storage: str) -> Fault:
    everywhere = random.uniform() < 0.5
    setup, [joint] = draw_moving(
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
    named = () if everywhere else names(setup, joint)
    return Fault("zero_effort", variant, len(joints), recorded, named)


def effort_scale(random: Generator, arm: Arm, storage: str) -> Fault:
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


def torque_delay(random: Generator, arm: Arm, storage: str) -> Fault:
    for _ in range(TRIES):
        setup = draw_setup(random, arm, storage, FULL)
        if setup.fast():
            extra = RANGES["torque_delay"].draw(random)
            recorded = record(setup, World(extra_delay=1e-3 * extra))
            variant = f"{setup.rate:.0f} Hz, {'command' if setup.commanded else 'effort'}"
            return Fault("torque_delay", variant, extra, recorded)
    raise RuntimeError("no motion found that is fast")


def saturation(random: Generator, arm: Arm, storage: str) -> Fault:
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
        return Fault("saturation", "at a stop", share, recorded, names(setup, joint))
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
            named = names(setup, joint) if len(joints) == 1 else ()
            return Fault("saturation", "pulled", any_share, recorded, named)
    raise RuntimeError("no motion found that is at its limits")


def _stiff(setup: Setup, joint: int) -> tuple[tuple[FloatArray, FloatArray], float, float]:
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
