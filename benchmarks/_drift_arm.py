# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""A simulated arm that changes while it moves: friction, an offset, a delay, or a payload."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Any

import numpy as np
from _payload_arm import LoadableArm, LoadablePlant
from numpy.typing import ArrayLike

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.robot.plant import Measurement

__all__ = ["ChangingArm", "ChangingPlant"]


class ChangingPlant(LoadablePlant):
    """
    The simulated WAM, of which the controller learns nothing but its motion.

    Attributes
    ----------
    offset : ndarray of shape (n_joints,)
        Torque beside that which was commanded, Nm.
    delay : int
        Cycles by which torques act later.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self.offset: FloatArray | float = 0.0
        self.delay = 0
        self._waiting: deque[FloatArray] = deque()
        super().__init__(*arguments, **options)
        self._usual = self.config.friction

    def reset(self, position: ArrayLike | None = None) -> Measurement:
        """Reset the motion; what has changed stays."""
        self._waiting.clear()
        return super().reset(position)

    def rub(self, factor: FloatArray) -> None:
        """Have each joint's dry and viscous friction be this times the usual (n_joints,)."""
        usual = self._usual
        rough = replace(usual, dry=factor * usual.dry, viscous=factor * usual.viscous)
        self.config = replace(self.config, friction=rough)
        self._model.dof_damping[:] = rough.viscous

    def step(self, torque: ArrayLike) -> Measurement:
        """Advance one control cycle, see `WamPlant.step`."""
        self._waiting.append(self._pending_torque.copy())
        while len(self._waiting) > self.delay + 1:
            self._waiting.popleft()
        return super().step(torque)

    def _physics_step(self, torque: FloatArray) -> None:
        super()._physics_step(self._waiting[0] + self.offset)


class ChangingArm(LoadableArm):
    """A simulated arm with a `ChangingPlant`."""

    def __init__(self, seed: int, name: str) -> None:
        super().__init__(seed, name)
        usual = self.plant.config
        self.plant: ChangingPlant = ChangingPlant(self.description, usual, seed=seed)

    def of_joint(self, joint: int, value: float) -> FloatArray:
        """Array (n_joints,) with a value for one joint, and zeros."""
        values = np.zeros(self.description.n_joints)
        values[joint] = value
        return values
