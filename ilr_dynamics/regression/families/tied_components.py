# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
Conjugate families with ties: the lower components of one upper component of a hierarchy.

All lower components k of an upper component g share the input precision, the slope and the noise
precision; each has a centre and an offset of its own:

.. math::
    \tau_g \sim N(m_0, \lambda_0 \Lambda_g), \quad \mu_{gk} \sim N(\tau_g, \kappa_0 \Lambda_g),
    \quad A_g \sim MN(M_0, V_g, K_0), \quad c_{gk} \sim N(\theta_0, \rho_0 V_g)

The paper's mean field splits centres from their common centre and offsets from the slope. Both are
exactly conjugate when kept together, which makes the bound tighter and the predictive densities
exact Student-t (derivation: docs/mathematics.md):

- given Lambda_g, all centres of a group are one Gaussian (`tied_regions`). With tau integrated out
  their columns have the precision P = diag(p_k) - a 11', p_k = kappa_0 + N_k and
  a = kappa_0^2 / (lambda_0 + K kappa_0);
- given V_g, slope and offsets are one matrix-normal over [x, one-hot of k] (`tied_regressions`),
  whose column precision is an arrowhead, [[K_0 + sum x x', X], [X', diag(rho_k)]], with the sum of
  x of each lower component as a column of X, and rho_k = rho_0 + N_k.

Seen from one lower component this is a normal-Wishart with strength 1 / (P^-1)_kk and a
matrix-normal-Wishart over [x, 1]: the families of a mixture without hierarchy, so that E-step and
prediction are the same code. Here is what both sides need.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.regression.families.linear_algebra import (
    cholesky,
    log_determinant,
    multivariate_log_gamma,
)
from ilr_dynamics.regression.families.normal_wishart import LOG_2

__all__ = ["GroupedSums", "outer", "quadratic", "wishart_evidence"]


@dataclass(frozen=True)
class GroupedSums:
    """
    Sums over the lower components of each upper one.

    Attributes
    ----------
    groups : (K,)
        Upper component of each lower one, 0 to G - 1, in rising order.
    """

    groups: IndexArray

    @property
    def starts(self) -> IndexArray:
        """First lower component (G,) of each group."""
        return np.flatnonzero(np.diff(self.groups, prepend=-1))

    def __call__(self, values: FloatArray) -> FloatArray:
        """Sum values (K, ...) within each group (G, ...)."""
        return np.asarray(np.add.reduceat(values, self.starts, axis=0))

    def sizes(self) -> FloatArray:
        """Number (G,) of lower components of each group."""
        return np.diff(self.starts, append=self.groups.size).astype(float)


def outer(a: FloatArray, b: FloatArray) -> FloatArray:
    """Products a_k b_k' (K, m, n) of rows (K, m) and (K, n)."""
    return a[:, :, None] * b[:, None, :]


def quadratic(forms: FloatArray, points: FloatArray) -> FloatArray:
    """Values x_k' F_k x_k (K,) of forms (K, m, m) at points (K, m)."""
    return np.asarray(np.einsum("ki,kij,kj->k", points, forms, points))


def wishart_evidence(
    inverse_scale0: FloatArray, dof0: FloatArray, inverse_scale: FloatArray, dof: FloatArray
) -> FloatArray:
    """Log normaliser (G,) of Wishart distributions minus that of their common prior."""
    p = inverse_scale.shape[-1]
    return (
        0.5 * dof0 * log_determinant(cholesky(inverse_scale0))
        - 0.5 * dof * log_determinant(cholesky(inverse_scale))
        + 0.5 * (dof - dof0) * p * LOG_2
        + multivariate_log_gamma(0.5 * dof, p)
        - multivariate_log_gamma(0.5 * dof0, p)
    )
