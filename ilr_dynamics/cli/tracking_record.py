# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Reports of the controller during a motion, as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.exceptions import InvalidDataError
from ilr_dynamics.nodes.shared.messages import seconds
from ilr_dynamics_msgs.msg import ControllerState

__all__ = ["TrackingRecord"]


@dataclass(frozen=True)
class TrackingRecord:
    """
    Reports of /inverse_dynamics, one row per report.

    Attributes
    ----------
    time : ndarray of shape (n,)
        Time since the first report, s.
    mode : ndarray of shape (n,)
        Mode of the controller, a constant of ControllerState.
    desired, measured : ndarray of shape (n, n_joints)
        Positions, rad.
    feedforward, pd, commanded, predicted_std : ndarray of shape (n, n_joints)
        Torques, Nm.
    gate : ndarray of shape (n,)
        Share of the learned torque that was used.
    loop_time : ndarray of shape (n,)
        Time from receipt of the joint state to publication of the torque, s.
    """

    time: FloatArray
    mode: NDArray[np.int64]
    desired: FloatArray
    measured: FloatArray
    feedforward: FloatArray
    pd: FloatArray
    commanded: FloatArray
    predicted_std: FloatArray
    gate: FloatArray
    loop_time: FloatArray

    @classmethod
    def from_states(cls, states: Sequence[ControllerState]) -> Self:
        """
        Make a record from messages.

        Parameters
        ----------
        states : sequence of ControllerState
            Messages in the order of time.

        Returns
        -------
        TrackingRecord

        Raises
        ------
        InvalidDataError
            If there are none.
        """
        if not states:
            raise InvalidDataError("the controller reported nothing; expected controller states")

        def stacked(name: str) -> NDArray[Any]:
            return np.array([getattr(state, name) for state in states])

        stamps = np.array([seconds(state.header.stamp) for state in states])
        return cls(
            time=stamps - stamps[0],
            mode=stacked("mode"),
            desired=stacked("desired_position"),
            measured=stacked("measured_position"),
            feedforward=stacked("feedforward_torque"),
            pd=stacked("pd_torque"),
            commanded=stacked("commanded_torque"),
            predicted_std=stacked("predicted_std"),
            gate=stacked("gate"),
            loop_time=stacked("loop_time"),
        )

    def during(self, mode: int) -> Self:
        """Return the reports of one mode, a constant of ControllerState."""
        kept = self.mode == mode
        return type(self)(**{part.name: getattr(self, part.name)[kept] for part in fields(self)})

    @property
    def mean_squared_error(self) -> float:
        """Mean over joints and time of the squared tracking error, rad^2."""
        return float(np.mean((self.desired - self.measured) ** 2))

    @property
    def mean_pd_torque(self) -> float:
        """Mean over joints and time of the PD's absolute torque, Nm."""
        return float(np.mean(np.abs(self.pd)))
