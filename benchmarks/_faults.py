# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What goes wrong with recordings: what makes one with a fault, by kind."""

from __future__ import annotations

from collections.abc import Callable

from _fault import Fault
from _fault_arms import Arm
from _faults_of_messages import clock_set_back, dropouts, position_jump, wrong_stamp
from _faults_of_motion import (
    degrees,
    no_excitation,
    permuted_joints,
    velocity_scale,
    wrong_sign,
    zero_velocity,
)
from _faults_of_torques import effort_scale, saturation, torque_delay, zero_effort
from _faults_of_weight import base_tilted, gravity_missing, gravity_twice, payload
from numpy.random import Generator

__all__ = ["FAULTS", "make_fault"]

FAULTS: dict[str, Callable[[Generator, Arm, str], Fault]] = {
    "dropouts": dropouts,
    "position_jump": position_jump,
    "clock_set_back": clock_set_back,
    "wrong_stamp": wrong_stamp,
    "zero_effort": zero_effort,
    "effort_scale": effort_scale,
    "zero_velocity": zero_velocity,
    "velocity_scale": velocity_scale,
    "permuted_joints": permuted_joints,
    "wrong_sign": wrong_sign,
    "degrees": degrees,
    "base_tilted": base_tilted,
    "gravity_twice": gravity_twice,
    "gravity_missing": gravity_missing,
    "payload": payload,
    "torque_delay": torque_delay,
    "saturation": saturation,
    "no_excitation": no_excitation,
}
"""What makes a recording with a fault, by kind."""


def make_fault(kind: str, random: Generator, arm: Arm, storage: str) -> Fault:
    """Draw a recording with a fault of this kind."""
    return FAULTS[kind](random, arm, storage)
