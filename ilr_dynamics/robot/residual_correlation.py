# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
Correlation of the torques that no term describes, between states of the arm.

Friction of a worn gear, a hose or a joint that gives way err alike at neighbouring states. Each
joint's torque is modelled as

.. math::
    \tau_i = \phi_i^\top \chi + g(q_i, \dot q_i) + \varepsilon_i, \qquad
    \mathrm{cov}(\tau_i - \phi_i^\top\chi, \tau_j - \phi_j^\top\chi)
    = \sigma^2 \big(s\,\rho_{ij} + (1/a_i - s)\,\delta_{ij}\big)

with a Gaussian process g whose correlation rho is Matern's with exponent 3/2 (Rasmussen and
Williams, 2006, chapter 4), and the share a_i of a torque that informs, almost zero while a joint
sticks. `torque_evidence` finds lengths and share.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.regression.shared.matern import correlation

__all__ = ["ResidualCorrelation"]


@dataclass(frozen=True)
class ResidualCorrelation:
    """
    Correlation s rho of the residual torques at two states.

    The defaults are the usual values, about which the prior lies.

    Parameters
    ----------
    position_length, velocity_length : float
        Distance over which residuals stay alike, rad and rad/s.
    share : float
        Share s of the residuals' variance that neighbouring states have in common.
    """

    position_length: float = 0.05
    velocity_length: float = 0.5
    share: float = 0.9

    def between(self, states: FloatArray, others: FloatArray) -> FloatArray:
        """Correlation rho (n, m) between states [q, qd] (n, 2 d) and others (m, 2 d)."""
        scale = self.lengths(states.shape[1])
        return correlation(states / scale, others / scale)

    def lengths(self, n_inputs: int) -> FloatArray:
        """Lengths (2 d,) of the states [q, qd]."""
        return np.repeat([self.position_length, self.velocity_length], n_inputs // 2)
