# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Exact inverse dynamics of the simulated arm: an upper bound for any feed-forward."""

from __future__ import annotations

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.robot.plant import WamPlant
from ilr_dynamics.robot.rigid_body import RigidBodyModel

__all__ = ["PlantInverse"]

_SIGN_WIDTH = 0.002


class PlantInverse:
    """
    Inverse dynamics of the simulated arm, with a smooth sign in its dry friction.

    Parameters
    ----------
    plant : WamPlant
        Simulated arm; its ripple phase is used, its state is not.
    """

    def __init__(self, plant: WamPlant) -> None:
        self._config = plant.config
        self._transmission = plant.transmission
        self._ripple_phase = plant.ripple_phase
        self._rigid_body = RigidBodyModel(plant.description)

    def __call__(
        self, position: FloatArray, velocity: FloatArray, acceleration: FloatArray
    ) -> FloatArray:
        """Torque for a motion; parameters and result as in `RigidBodyModel.inverse_dynamics`."""
        config = self._config
        load = self._load(position, velocity, acceleration)
        rotor = self._transmission.reflected_inertia * acceleration
        friction = config.friction.smooth_torque(position, velocity, load, _SIGN_WIDTH)
        motor_angle = self._transmission.motor_angle(position)
        ripple = config.ripple.motor_torque(motor_angle, self._ripple_phase)
        torque = load + rotor + friction - self._transmission.joint_torque(ripple)
        if config.driver_compensates_gravity:
            torque -= self._rigid_body.gravity(position)
        return np.asarray(torque)

    def _load(
        self, position: FloatArray, velocity: FloatArray, acceleration: FloatArray
    ) -> FloatArray:
        """Torque (n_joints,) that the joints carry, on which their friction depends, Nm."""
        return self._rigid_body.inverse_dynamics(position, velocity, acceleration)
