# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Arrays that serialised joint states are decoded into, with what is wrong with each."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ilr_dynamics.arrays import IndexArray
from ilr_dynamics.recording.joint_state_layout import FIELDS
from ilr_dynamics.recording.rejection import Rejection

__all__ = ["TYPES", "JointStateBlock"]

# Velocities and torques of drivers have fewer than seven digits, so 32 bits save half of their
# memory. Positions have 64, as they are differentiated twice.
TYPES: dict[str, type[np.floating]] = {
    "position": np.float64,
    "velocity": np.float32,
    "effort": np.float32,
}


class JointStateBlock:
    """
    Decoded block of messages.

    Attributes
    ----------
    stamp : ndarray of shape (n,), int64
        Header stamp, ns.
    fields : dict of str to ndarray of shape (n, n_joints)
        Position, velocity, effort, of the `TYPES`; NaN where a message has no valid value.
    """

    def __init__(self, n: int, n_joints: int) -> None:
        self.stamp = np.zeros(n, dtype=np.int64)
        self.fields: dict[str, NDArray[Any]] = {
            field: np.full((n, n_joints), np.nan, dtype=TYPES[field]) for field in FIELDS
        }
        # Rejections of whole messages, and of fields whose size does not fit the names.
        self._flaw = np.zeros(n, dtype=np.uint8)
        self._flaws = {field: np.zeros(n, dtype=np.uint8) for field in FIELDS}

    def reject(self, rows: Any, reason: Rejection) -> None:
        """Reject messages whatever fields are required."""
        self._flaw[rows] = reason

    def check_sizes(self, rows: Any, n_names: int, counts: Mapping[str, int]) -> list[str]:
        """Check the number of values of each field of messages; return the valid fields."""
        for field in FIELDS:
            if counts[field] != n_names:
                wrong = Rejection.WRONG_SIZE if counts[field] else Rejection.MISSING_FIELD
                self._flaws[field][rows] = wrong
        return [field for field in FIELDS if counts[field] == n_names]

    def not_finite(self, field: str) -> IndexArray:
        """Return how many values of a field are no numbers though sent, by joint, (n_joints,)."""
        sent = (self._flaw == Rejection.NONE) & (self._flaws[field] == Rejection.NONE)
        bad = ~np.isfinite(self.fields[field]) & sent[:, np.newaxis]
        return np.asarray(np.count_nonzero(bad, axis=0))

    def rejection(self, required: Collection[str]) -> NDArray[np.uint8]:
        """Return the `Rejection` of each message (n,) if these fields are required."""
        rejection = self._flaw.copy()
        finite = np.ones(len(rejection), dtype=bool)
        for field in FIELDS:
            if field not in required:
                continue
            wrong = (self._flaws[field] > 0) & (self._flaw == Rejection.NONE)
            rejection[wrong] = self._flaws[field][wrong]
            finite &= np.isfinite(self.fields[field]).all(axis=1)
        rejection[(rejection == Rejection.NONE) & ~finite] = Rejection.NOT_FINITE
        return rejection
