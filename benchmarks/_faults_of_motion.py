# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Faults of positions and velocities: names, signs, units, and too little of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from _fault import FULL, SIMULATED, TRIES, Fault, draw_moving, names, relative_change, rms
from _fault_arms import Arm
from _fault_motions import standstill
from _fault_ranges import DEGREES, LEAST_CHANGE, RANGES
from _fault_recordings import draw_setup, record
from numpy.random import Generator

__all__ = [
    "degrees",
    "no_excitation",
    "permuted_joints",
    "velocity_scale",
    "wrong_sign",
    "zero_velocity",
]


def zero_velocity(random: Generator, arm: Arm, storage: str) -> Fault:
    setup, [joint] = draw_moving(random, arm, storage, simulated=SIMULATED, velocities=1.0)
    recorded = record(setup)
    everywhere = random.uniform() < 0.5
    if everywhere:
        recorded.states.velocity[:] = 0.0
        return Fault("zero_velocity", "all", arm.n_joints, recorded)
    recorded.states.velocity[:, joint] = 0.0
    return Fault("zero_velocity", "one", 1, recorded, names(setup, joint))


def velocity_scale(random: Generator, arm: Arm, storage: str) -> Fault:
    setup, joints = draw_moving(
        random, arm, storage, number=2, simulated=SIMULATED, velocities=1.0
    )
    recorded = record(setup)
    velocity = recorded.states.velocity
    variant = str(random.choice(["deg/s", "rpm", "sign", "gear", "edges", "swapped"]))
    if variant == "swapped":
        velocity[:, joints] = velocity[:, joints[::-1]]
        return Fault("velocity_scale", variant, 1.0, recorded, names(setup, *joints))
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
    return Fault("velocity_scale", variant, factor, recorded, names(setup, joints[0]))


def permuted_joints(random: Generator, arm: Arm, storage: str) -> Fault:
    variant = str(random.choice(["motion", "effort"]))
    for _ in range(TRIES):
        setup, joints = draw_moving(random, arm, storage, number=2, styles=FULL)
        recorded = record(setup)
        other = joints[::-1]
        if variant == "effort":
            swapped = recorded.torque.copy()
            swapped[:, joints] = swapped[:, other]
            change = relative_change(recorded.torque, swapped)[joints].max()
        else:
            motion = [values.copy() for values in recorded.motion]
            for values in motion:
                values[:, joints] = values[:, other]
            true, wrong = arm.rigid_torque(*recorded.motion), arm.rigid_torque(*motion)
            change = (rms(wrong - true) / rms(recorded.torque)).max()
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
    return Fault("permuted_joints", variant, float(change), recorded, names(setup, *joints))


def wrong_sign(random: Generator, arm: Arm, storage: str) -> Fault:
    setup, [joint] = draw_moving(random, arm, storage, styles=FULL)
    recorded = record(setup)
    variant = str(random.choice(["motion", "effort"]))
    changed = recorded.torques()
    if variant == "motion":
        changed = [recorded.states.position, recorded.states.velocity]
    for values in changed:
        if values is not None:
            values[:, joint] *= -1.0
    return Fault("wrong_sign", variant, 2.0, recorded, names(setup, joint))


def degrees(random: Generator, arm: Arm, storage: str) -> Fault:
    setup, _ = draw_moving(random, arm, storage, simulated=SIMULATED)
    recorded = record(setup)
    recorded.states.position *= DEGREES
    both = recorded.states.velocity is not None and random.uniform() < 0.7
    if both:
        recorded.states.velocity *= DEGREES
    variant = "velocities too" if both else "positions only"
    return Fault("degrees", variant, DEGREES, recorded)


def no_excitation(random: Generator, arm: Arm, storage: str) -> Fault:
    setup = draw_setup(random, arm, storage, ("multisine", "eight"))
    widest = 0.0
    if random.uniform() < 1.0 / 3.0:
        motion, variant = standstill(setup.motion), "standstill"
    else:
        widest = RANGES["no_excitation"].draw(random)
        motion, variant = setup.motion.smaller(widest), "tiny"
    return Fault("no_excitation", variant, widest, record(replace(setup, motion=motion)))
