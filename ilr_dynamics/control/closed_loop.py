# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Tracking experiment in one process: plant and controller step by turns, without ROS."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.control.command import Command
from ilr_dynamics.control.joint_path import JointPath
from ilr_dynamics.control.modes import Mode
from ilr_dynamics.control.tracking_controller import TrackingController
from ilr_dynamics.exceptions import TrajectoryError

__all__ = ["TrackingResult", "track"]


class Measurement(Protocol):
    """Measured state of a plant."""

    @property
    def time(self) -> float:
        """Time of the measurement, s."""
        ...

    @property
    def position(self) -> FloatArray:
        """Measured position (n_joints,), rad."""
        ...

    @property
    def velocity(self) -> FloatArray:
        """Measured velocity (n_joints,), rad/s."""
        ...


class Plant(Protocol):
    """Interface of a plant that `track` needs, such as ``robot.plant.WamPlant``."""

    def reset(self, position: FloatArray) -> Measurement:
        """Put the plant at rest at ``position`` (n_joints,), rad."""
        ...

    def step(self, torque: FloatArray) -> Measurement:
        """Apply a torque (n_joints,), Nm, for one cycle."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class TrackingResult:
    """
    Record of one pass along a path, one sample per control cycle.

    Attributes
    ----------
    time : ndarray of shape (n,)
        Time since the start of the path, s.
    desired, desired_velocity, desired_acceleration : ndarray of shape (n, n_joints)
        Desired position, velocity and acceleration, rad, rad/s, rad/s^2.
    position, velocity : ndarray of shape (n, n_joints)
        Measured position and velocity, rad and rad/s.
    torque, feedforward, pd, std : ndarray of shape (n, n_joints)
        Commanded, feed-forward and feedback torque, predicted standard deviation, Nm.
    gate : ndarray of shape (n,)
        Share of the learned torque that was used.
    """

    time: FloatArray
    desired: FloatArray
    desired_velocity: FloatArray
    desired_acceleration: FloatArray
    position: FloatArray
    velocity: FloatArray
    torque: FloatArray
    feedforward: FloatArray
    pd: FloatArray
    std: FloatArray
    gate: FloatArray

    @property
    def mean_squared_error(self) -> float:
        """Mean of (desired - position)^2 over joints and time, rad^2."""
        return float(np.mean((self.desired - self.position) ** 2))

    @property
    def mean_pd_torque(self) -> float:
        """Mean magnitude of the feedback torque over joints and time, Nm."""
        return float(np.mean(np.abs(self.pd)))


def track(
    plant: Plant, controller: TrackingController, path: JointPath, *, settle_time: float = 1.0
) -> TrackingResult:
    """
    Put the plant at the start of a path, hold it for a while, then follow the path.

    Parameters
    ----------
    plant : Plant
        Plant to control; it is reset to the start of the path.
    controller : TrackingController
        Controller under test; it is reset too.
    path : JointPath
        Path to follow.
    settle_time : float
        Time for which the arm is held before the path starts, s; not part of the result.

    Returns
    -------
    TrackingResult

    Raises
    ------
    TrajectoryError
        If the path is refused or a fault ends the pass.
    """
    controller.reset()
    measurement = plant.reset(path.positions[0])
    start = measurement.time + settle_time
    while measurement.time < start:
        measurement = plant.step(_answer(controller, measurement).torque)
    controller.set_trajectory(path, measurement.time - path.start)
    commands = []
    while (command := _answer(controller, measurement)).mode is Mode.TRACKING:
        commands.append(command)
        measurement = plant.step(command.torque)
    return _result(commands)


def _answer(controller: TrackingController, measurement: Measurement) -> Command:
    command = controller.step(measurement.time, measurement.position, measurement.velocity)
    if command is None:
        raise TrajectoryError(f"the joint state at {measurement.time:g} s is not usable")
    if command.mode is Mode.FAULT:
        raise TrajectoryError(f"fault at {measurement.time:.3f} s: {controller.fault}")
    return command


def _result(commands: list[Command]) -> TrackingResult:
    def rows(value: Callable[[Command], object]) -> FloatArray:
        return np.array([value(command) for command in commands])

    times = rows(lambda command: command.time)
    return TrackingResult(
        time=times - times[0],
        desired=rows(lambda command: command.reference.position),
        desired_velocity=rows(lambda command: command.reference.velocity),
        desired_acceleration=rows(lambda command: command.reference.acceleration),
        position=rows(lambda command: command.position),
        velocity=rows(lambda command: command.velocity),
        torque=rows(lambda command: command.torque),
        feedforward=rows(lambda command: command.feedforward.torque),
        pd=rows(lambda command: command.pd),
        std=rows(lambda command: command.feedforward.std),
        gate=rows(lambda command: command.feedforward.gate),
    )
