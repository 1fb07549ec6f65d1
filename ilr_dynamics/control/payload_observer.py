# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Payload observer: the payload estimator, fed with samples from the control loop."""

from __future__ import annotations

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.control.residual_observer import ResidualSample
from ilr_dynamics.robot.payload_estimator import PayloadEstimator

__all__ = ["PayloadObserver"]


class PayloadObserver:
    """
    Lets a payload estimator learn, and counts what it could learn from.

    Parameters
    ----------
    estimator : PayloadEstimator
        Learns from each sample.
    least_std : ndarray of shape (n_joints,)
        Deviation of torques that even the best model has, Nm.

    Attributes
    ----------
    n_at_rest, n_used : int
        Number of samples since the last restart that were not used because the arm was at rest,
        and of those that were used.
    """

    def __init__(self, estimator: PayloadEstimator, least_std: FloatArray) -> None:
        self.estimator = estimator
        self._least_variance = least_std**2
        self.restart()

    def restart(self) -> None:
        """Forget all that was seen."""
        self.estimator.restart()
        self.n_at_rest = self.n_used = 0

    def add(self, sample: ResidualSample) -> None:
        """Learn from a sample."""
        used = self.estimator.add(
            sample.position,
            sample.velocity,
            sample.columns,
            sample.residual,
            np.sqrt(sample.std**2 + self._least_variance),
        )
        self.n_used += used
        self.n_at_rest += not used
