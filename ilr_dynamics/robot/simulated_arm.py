# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The simulated arm behind its driver."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ilr_dynamics.robot.driver import DriverEvent, TorqueDriver
from ilr_dynamics.robot.plant import Measurement, WamPlant

__all__ = ["SimulatedArm"]


class SimulatedArm:
    """
    A plant that is only reached through a driver, as an arm is.

    Parameters
    ----------
    plant : WamPlant
        The arm.
    hold_time : float
        How long the driver holds the last torque before the brakes go on [s].

    Attributes
    ----------
    plant : WamPlant
    driver : TorqueDriver
    measurement : Measurement
        The newest reading; its time counts from the last reset.
    cycles : int
        Control cycles since the beginning, resets or not.
    """

    def __init__(self, plant: WamPlant, hold_time: float = 0.02) -> None:
        self.plant = plant
        self.driver = TorqueDriver(plant.description.torque_limit, hold_time)
        self.cycles = 0
        self.measurement: Measurement
        self.reset()

    @property
    def time(self) -> float:
        """Time since the beginning, resets or not [s]."""
        return self.cycles * self.plant.config.cycle

    def reset(self) -> None:
        """Put the arm back into its start posture, with the brakes on."""
        self.driver.brake()
        self.plant.braked = True
        self.measurement = self.plant.reset()

    def command(self, stamp: float, torque: ArrayLike) -> DriverEvent | None:
        """
        Send a torque to the driver.

        Parameters
        ----------
        stamp : float
            Time of the joint state that the torque answers [s].
        torque : array_like of shape (n_joints,)
            The torque [Nm].

        Returns
        -------
        DriverEvent or None
            Why the driver refused it, or None if it was taken.
        """
        return self.driver.receive(self.time, stamp, torque)

    def advance(self) -> DriverEvent | None:
        """
        Let one control cycle pass.

        Returns
        -------
        DriverEvent or None
            What the driver has to report.
        """
        torque, event = self.driver.torque(self.time)
        self.plant.braked = torque is None
        idle = np.zeros(self.plant.description.n_joints)
        self.measurement = self.plant.step(idle if torque is None else torque)
        self.cycles += 1
        return event
