# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Faults of the weight: another gravity, another load than the described."""

from __future__ import annotations

import numpy as np
from _fault import FULL, TRIES, Fault, fits, rms
from _fault_arms import Arm, World
from _fault_ranges import LEAST_CHANGE, RANGES
from _fault_recordings import COMMAND_DELAY, EFFORT_DELAY, Setup, draw_setup, record
from numpy.random import Generator

from ilr_dynamics.arrays import FloatArray

__all__ = ["base_tilted", "gravity_missing", "gravity_twice", "payload"]

# A joint whose rigid bodies take so much torque, of the joint with most, is one that learns more
# than its friction.
SPEAKS = 0.1


def base_tilted(random: Generator, arm: Arm, storage: str) -> Fault:
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
        if fits(arm, torque) and _world_changes(setup, world).max() >= LEAST_CHANGE:
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
        if all(fits(arm, torque) for torque in recorded.torques()):
            return Fault(kind, "", share, recorded)
    raise RuntimeError("no motion found that is not too heavy")


def gravity_twice(random: Generator, arm: Arm, storage: str) -> Fault:
    return _gravity(random, arm, storage, "gravity_twice", 1.0)


def gravity_missing(random: Generator, arm: Arm, storage: str) -> Fault:
    return _gravity(random, arm, storage, "gravity_missing", -1.0)


def payload(random: Generator, arm: Arm, storage: str) -> Fault:
    for _ in range(TRIES):
        setup = draw_setup(random, arm, storage, FULL)
        motion, rest = setup.sketch(), np.zeros(arm.n_joints)
        # Torque is linear in a mass, but for friction, which grows with the load.
        low = LEAST_CHANGE / _world_changes(setup, World(payload=1.0)).max()
        mass = float(np.exp(random.uniform(np.log(low), np.log(RANGES["payload"].high))))
        world = World(payload=mass)
        if fits(arm, arm.torque(*motion, setup.drives, rest, world)):
            return Fault("payload", f"floor {low:.3f} kg", mass, record(setup, world))
    raise RuntimeError("no motion found with a payload")


def _world_changes(setup: Setup, world: World) -> FloatArray:
    """By how much each joint's torque differs from that of the description, of its rms.

    Joints that have friction alone, or next to, say nothing (0).
    """
    motion = setup.sketch()
    rigid = setup.arm.rigid_torque(*motion)
    torque = setup.arm.torque(*motion, setup.drives, np.zeros(setup.arm.n_joints))
    change = rms(setup.arm.rigid_torque(*motion, world) - rigid) / rms(torque)
    size = rms(rigid)
    return np.where(size >= SPEAKS * size.max(), change, 0.0)
