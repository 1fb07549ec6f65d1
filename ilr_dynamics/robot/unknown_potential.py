# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
Unknown potential of an arm: hoses, cables and springs that pull at it.

They store energy U(q) and need the torque dU / dq of the joints, of which no description tells.
Beforehand U is a Gaussian process with a squared-exponential covariance of length l,

.. math::
    U(q) = \textstyle\sum_k \big( a_k \cos w_k^\top q + b_k \sin w_k^\top q \big), \qquad
    a_k, b_k \sim N(0, \sigma^2), \quad w_k \sim N(0, l^{-2} I),

by random Fourier features (Rahimi and Recht, 2007), so that torques stay linear in parameters.
One potential for all joints says more than a function for each of them: what is learned of one
joint's torque tells of the others', and no closed motion gains energy. Frequencies are spread
evenly over their distribution (Yang et al., 2014) and do not grow with the recordings; what these
do not tell of the features keeps its prior, so that the doubt is large where nothing was recorded.
"""

from __future__ import annotations

import numpy as np
import scipy

from ilr_dynamics.arrays import FloatArray

__all__ = ["LENGTH", "N_FREQUENCIES", "potential_frequencies"]

N_FREQUENCIES = 32
# Length l over which the pull of a hose stays alike, rad. From 0.6 to 1 rad errors of the torque
# beside a simulated hose (seed 101 of the benchmark `plan`) are within a tenth of each other.
LENGTH = 0.7


def potential_frequencies(n_joints: int) -> FloatArray:
    """
    Return the frequencies (m, n_joints) of an unknown potential, 1/rad.

    They are the same at each call: parameters belong to them.
    """
    evenly = scipy.stats.qmc.Sobol(n_joints, scramble=False).random(N_FREQUENCIES)
    return np.asarray(scipy.special.ndtri(evenly + 0.5 / N_FREQUENCIES) / LENGTH)
