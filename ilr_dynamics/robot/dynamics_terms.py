# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Terms of inverse dynamics; each column of its regressor is the product of two of them."""

from __future__ import annotations

import math

import numpy as np

from ilr_dynamics.arrays import FloatArray, IndexArray

__all__ = [
    "FRICTION_SPEEDS",
    "N_INERTIAL",
    "N_OF_JOINT",
    "N_OF_MOTOR",
    "N_PLAIN",
    "N_POSITION_TERMS",
    "N_SPEEDS",
    "N_WAVES",
    "SIGN_SPEED",
    "SLOWEST",
    "Terms",
    "term_indices",
]

# Speeds v_s at which dry friction saturates, rad/s, from a bearing's slip to a film of grease.
FRICTION_SPEEDS = (0.01, 0.03, 0.1, 0.3)
SLOWEST = FRICTION_SPEEDS[0]
# The same for friction that depends on load and position.
SIGN_SPEED = 0.03
N_POSITION_TERMS = 5
N_WAVES = 12
N_INERTIAL = 10
N_SPEEDS = len(FRICTION_SPEEDS)
N_OF_MOTOR = 2 + N_SPEEDS
# Parameters of a joint: those of speed or position alone, then those of load and waves.
N_PLAIN = N_SPEEDS + N_POSITION_TERMS
N_OF_JOINT = N_PLAIN + 1 + 2 * N_WAVES


class Terms:
    """
    Values of all terms, one row per sample; each attribute is a view of a part of `all`.

    Parameters
    ----------
    n_samples : int
        Number of rows.
    motors : ndarray of shape (n, n)
        Joint-to-motor matrix as in `DynamicsRegressor`.
    """

    def __init__(self, n_samples: int, motors: FloatArray) -> None:
        n, at = len(motors), term_indices(len(motors))
        self._motors = motors
        self.all = np.empty((n_samples, at["one"] + 1))
        self.all[:, at["motors"]] = motors
        self.all[:, at["one"]] = 1.0
        self.bodies = self._part(at["bodies"]).reshape(n_samples, n, N_INERTIAL * n)
        self.linear = self._part(at["accelerations"], at["cosines"])
        self.signs = self._part(at["motor_signs"], at["signs"])
        self.positions, self.squares = self._part(at["positions"]), self._part(at["squares"])
        self.sines, self.loads = self._part(at["sines"]), self._part(at["loads"])
        # The last of the linear terms are the angles, which are replaced by their cosines.
        self.angles = self._part(at["cosines"])

    def __reduce__(self) -> tuple[type[Terms], tuple[int, FloatArray]]:
        """Make a copy from scratch: copied one by one, attributes would not be views of `all`."""
        return Terms, (len(self.all), self._motors)

    def _part(self, first: IndexArray, last: IndexArray | None = None) -> FloatArray:
        end = int((first if last is None else last).max()) + 1
        return self.all[:, int(first.min()) : end]


def term_indices(n_joints: int) -> dict[str, IndexArray]:
    """Return the indices of the terms by name; terms are stored in this order."""
    n = n_joints
    shapes = {
        "bodies": (n, N_INERTIAL * n),
        "accelerations": (n,),
        "speeds": (n,),
        "motor_signs": (N_SPEEDS, n),
        "signs": (n, N_SPEEDS + 1),
        "positions": (n,),
        "cosines": (n, N_WAVES),
        "sines": (n, N_WAVES),
        "squares": (n,),
        "loads": (n,),
        "motors": (n, n),
        "one": (),
    }
    ends = np.cumsum([math.prod(shape) for shape in shapes.values()])
    return {
        name: np.arange(end - math.prod(shape), end).reshape(shape)
        for (name, shape), end in zip(shapes.items(), ends, strict=True)
    }
