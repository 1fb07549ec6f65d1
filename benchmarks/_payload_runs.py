# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Runs of the payload benchmark: a pick-up, more friction, and nothing at all."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from _learners import node_settings
from _payload_arm import LoadableArm

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.control import FeedForward, JointPath, Mode, track
from ilr_dynamics.control.carried_payload import CarriedPayload
from ilr_dynamics.control.payload_feedforward import PayloadFeedForward
from ilr_dynamics.exceptions import TrajectoryError
from ilr_dynamics.robot.payload import Payload
from ilr_dynamics.robot.payload_dynamics import PayloadDynamics
from ilr_dynamics.robot.tool_paths import tool_path

__all__ = ["Run", "carried_payload", "error_of", "frozen_error", "long_path", "run"]

RATE = 500.0
# Time for which the arm is held before a motion, s.
HELD = 2.0


@dataclass
class Run:
    """
    What was estimated while the arm moved.

    Attributes
    ----------
    times : list of float
        Times of the estimates, from the start of the motion, s.
    masses, stds : list of float
        Most probable mass and its deviation, kg.
    fed_forward : list of Payload or None
        Payload in use after each of them.
    costs : list of float
        Time of the processor that each cycle took for the estimate, s.
    """

    times: list[float] = field(default_factory=list)
    masses: list[float] = field(default_factory=list)
    stds: list[float] = field(default_factory=list)
    fed_forward: list[Payload | None] = field(default_factory=list)
    costs: list[float] = field(default_factory=list)

    def payload_at(self, at: float) -> Payload | None:
        """Payload that was fed forward at a time, s."""
        known = int(np.searchsorted(self.times, at, side="right"))
        return self.fed_forward[known - 1] if known else None

    @property
    def largest(self) -> float:
        """Largest mass that was ever fed forward, kg."""
        return max((payload.mass for payload in self.fed_forward if payload), default=0.0)


def long_path(arm: LoadableArm, name: str, duration: float) -> JointPath:
    """A test trajectory that goes on for longer."""
    return arm.joint_path(replace(tool_path(name), duration=duration))


def run(
    arm: LoadableArm,
    feedforward: FeedForward,
    path: JointPath,
    carried: CarriedPayload,
    pick_up: Callable[[], None] | None = None,
    at: float = 0.0,
) -> Run:
    """
    Track a path while the controller follows what it estimates the tool to carry.

    Parameters
    ----------
    arm
    feedforward
        Model of the arm without a payload.
    path
    carried
        The estimate, as the node has it with payload.estimation: automatic.
    pick_up
        Called once, `at` seconds after the start of the motion; before it if that is negative.
    at
    """
    found = Run()
    controller = arm.controller(carried.feedforward(feedforward))
    measured = arm.plant.reset(path.positions[0])
    start, moving = measured.time + HELD, False
    while True:
        if pick_up is not None and measured.time >= start + at:
            pick_up()
            pick_up = None
        if not moving and measured.time >= start - 1e-9:
            controller.set_trajectory(path, measured.time - path.start)
            start, moving = measured.time, True
        command = controller.step(measured.time, measured.position, measured.velocity)
        if command is None or command.mode is Mode.FAULT:
            raise TrajectoryError(f"at {measured.time - start:.2f} s: {controller.fault}")
        if moving and command.mode is not Mode.TRACKING:
            return found
        began = time.thread_time()
        is_new = carried.observe(command)
        if is_new and carried.follow(estimate := carried.estimate()):
            controller.set_feedforward(carried.renewed())
        found.costs.append(time.thread_time() - began)
        if is_new:
            found.times.append(measured.time - start)
            found.masses.append(estimate.payload.mass)
            found.stds.append(float(estimate.std[0]))
            found.fed_forward.append(carried.payload)
        measured = arm.plant.step(command.torque)


def frozen_error(
    arm: LoadableArm, feedforward: FeedForward, payload: Payload | None
) -> float | None:
    """Mean squared error of a whole T1 with this payload fed forward, rad^2; None for a fault."""
    if payload is not None:
        torque = PayloadDynamics(arm.description).torque_of(payload)
        feedforward = PayloadFeedForward(feedforward, torque)
    try:
        path = arm.joint_path(tool_path("T1"))
        return track(arm.plant, arm.controller(feedforward), path).mean_squared_error
    except TrajectoryError:
        return None


def carried_payload(arm: LoadableArm) -> CarriedPayload:
    """Return the estimate as the node makes it."""
    return node_settings(arm, "ilr").carried_payload(arm.description, RATE)


def error_of(found: Payload | None, payload: Payload) -> FloatArray:
    """Error of mass, kg, of the centre of mass, m, and of the first moment, kg m: (3,)."""
    if found is None:
        return np.array([payload.mass, np.inf, float(np.linalg.norm(payload.mass * payload.com))])
    return np.array(
        [
            abs(found.mass - payload.mass),
            float(np.linalg.norm(found.com - payload.com)),
            float(np.linalg.norm(found.mass * found.com - payload.mass * payload.com)),
        ]
    )
