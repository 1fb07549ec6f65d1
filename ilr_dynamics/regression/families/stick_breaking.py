# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
Stick-breaking weights of the Dirichlet process.

.. math:: \pi_k = s_k \prod_{l<k} (1 - s_l), \qquad s_k \sim Beta(1, \alpha_0)

Sticks are ordered, so nothing is kept of a stick but the count of its component: the Betas are
rebuilt from the counts, sorted by size, which also is the order with the highest lower bound. All
K sticks have a Beta posterior; the mass beyond K belongs to the component not yet seen.
"""

from __future__ import annotations

import numpy as np
from scipy.special import betaln, digamma

from ilr_dynamics.arrays import FloatArray

__all__ = [
    "expected_log_remainders",
    "expected_log_weights",
    "log_evidence",
    "log_expected_weights",
]


def _stick_posteriors(counts: FloatArray, concentration: float) -> tuple[FloatArray, FloatArray]:
    """Return gamma_k = 1 + N_k and alpha_k = alpha_0 + sum of N_l over l > k, each (K,)."""
    later = np.cumsum(counts[::-1])[::-1] - counts
    return 1.0 + counts, concentration + later


def expected_log_weights(counts: FloatArray, concentration: float) -> FloatArray:
    """E[log pi_k] (K,) under the Betas that the counts (K,) lead to."""
    gamma, alpha = _stick_posteriors(counts, concentration)
    log_total = digamma(gamma + alpha)
    log_rest = digamma(alpha) - log_total
    return digamma(gamma) - log_total + np.cumsum(log_rest) - log_rest


def expected_log_remainders(counts: FloatArray, concentration: float) -> FloatArray:
    """E[log(1 - s_k)] (K,): what each stick leaves to those behind it."""
    gamma, alpha = _stick_posteriors(counts, concentration)
    return np.asarray(digamma(alpha) - digamma(gamma + alpha))


def log_expected_weights(counts: FloatArray, concentration: float) -> FloatArray:
    """Log E[pi_k] (K + 1,); the last entry is all the mass beyond the K sticks."""
    gamma, alpha = _stick_posteriors(counts, concentration)
    log_total = np.log(gamma + alpha)
    log_rest = np.concatenate([[0.0], np.cumsum(np.log(alpha) - log_total)])
    log_broken = np.append(np.log(gamma) - log_total, 0.0)
    return log_rest + log_broken


def log_evidence(counts: FloatArray, concentration: float) -> float:
    """Log probability of labels with these counts, the sticks integrated out one by one."""
    gamma, alpha = _stick_posteriors(counts, concentration)
    return float(np.sum(betaln(gamma, alpha)) - counts.size * betaln(1.0, concentration))
