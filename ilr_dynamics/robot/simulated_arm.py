# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Simulated arm that is commanded through its driver."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ilr_dynamics.robot.driver import DriverEvent, TorqueDriver
from ilr_dynamics.robot.plant import Measurement, WamPlant

__all__ = ["SimulatedArm"]


class SimulatedArm:
    """
    Plant that is commanded only through a driver, as a real arm is.

    Parameters
    ----------
    plant : WamPlant
        Simulated arm.
    hold_time : float
        Time for which the driver holds the last torque before it applies the brakes [s].

    Attributes
    ----------
    plant : WamPlant
        Simulated arm.
    driver : TorqueDriver
        Its driver.
    measurement : Measurement
        Newest reading; its time counts from the last reset.
    cycles : int
        Number of control cycles since the start, across resets.
    """

    def __init__(self, plant: WamPlant, hold_time: float = 0.02) -> None:
        self.plant = plant
        self.driver = TorqueDriver(plant.description.torque_limit, hold_time)
        self.cycles = 0
        self.measurement: Measurement
        self.reset()

    @property
    def time(self) -> float:
        """Time since the start, across resets [s]."""
        return self.cycles * self.plant.config.cycle

    def reset(self) -> None:
        """Put the arm back into its start posture, with the brakes applied."""
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
            Commanded torque [Nm].

        Returns
        -------
        DriverEvent or None
            Reason why the driver refused it; None if it was accepted.
        """
        return self.driver.receive(self.time, stamp, torque)

    def advance(self) -> DriverEvent | None:
        """
        Simulate one control cycle.

        Returns
        -------
        DriverEvent or None
            Event that the driver reports.
        """
        torque, event = self.driver.torque(self.time)
        self.plant.braked = torque is None
        idle = np.zeros(self.plant.description.n_joints)
        self.measurement = self.plant.step(idle if torque is None else torque)
        self.cycles += 1
        return event
