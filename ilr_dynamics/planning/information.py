# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
What a motion would tell a model: of the arm's parameters, and of torques all over a region.

The torque of a joint is phi' chi + g + noise (`ResidualCorrelation`), and the posterior of
the parameters chi is normal with covariance S, whatever torques are recorded. So what a motion
is worth is known before it is recorded. States whose residuals are alike count as the few
independent ones that learning makes of them: with the weights w of `RepresentativeSamples`, the
share a of slipping and the noise variance of each joint,

.. math::
    S_+^{-1} = S^{-1}
    + \sum_i \sum_j \frac{m_i w_i a_{ij}}{\sigma_j^2}\, \phi_{ij} \phi_{ij}^\top .

The information on the parameters is their loss of entropy (Lindley, 1956), in nats,

.. math::
    \tfrac12 \log\det S - \tfrac12 \log\det S_+ =
    \tfrac12 \log\det\big(I + \Phi S \Phi^\top / \sigma^2\big) .

Many parameters hardly matter for a torque. What matters is how well torques are known at the
states u of a region (MacKay, 1992), of which the model doubts

.. math::
    v_j(u) = \phi_j^\top S\, \phi_j + \sigma_j^2 \big(1 - s \max_i \rho(u, x_i)^2\big)

by its parameters, and by a residual that it has seen no nearer than at the states x_i. The doubt
that is left is the mean of sum_j log(v_j / sigma_j^2) / 2 over u: what a motion takes from it is
the gain in log density of a torque there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy.linalg import solve_triangular

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.blas_threads import one_blas_thread
from ilr_dynamics.robot.identified_dynamics import IdentifiedDynamics

__all__ = ["Knowledge", "Region"]


@dataclass(frozen=True, eq=False)
class Region:
    """
    States at which torques should be known.

    Attributes
    ----------
    states : ndarray of shape (m, 2 n)
        Positions and velocities, rad and rad/s.
    columns : ndarray of shape (n, m, P)
        Columns of all parameters in the torque of each joint, in units of its noise.
    """

    states: FloatArray
    columns: FloatArray

    @classmethod
    def of_states(cls, dynamics: IdentifiedDynamics, X: FloatArray) -> Self:
        """Make a region of states [q, qd, qdd] X (m, 3 n)."""
        n = dynamics.n_joints
        indices = dynamics.regressor.indices
        columns = np.zeros((n, len(X), len(dynamics.parameters)))
        for joint, phi in enumerate(dynamics.regressor(X).transpose(1, 0, 2)):
            columns[joint][:, indices[joint]] = phi
        return cls(X[:, : 2 * n], columns / np.sqrt(dynamics.noise.of_slipping)[:, None, None])


@dataclass(frozen=True, eq=False)
class Knowledge:
    """
    What a model knows of an arm's torques, and would know after further motion.

    Attributes
    ----------
    dynamics : IdentifiedDynamics
        Of the model: columns, noise and correlation of the residuals.
    region : Region
        Where torques should be known.
    precision : ndarray of shape (P, P)
        Of the parameters.
    seen : ndarray of shape (m, 2 n)
        States that were seen, rad and rad/s.
    mass : ndarray of shape (m,)
        Number of samples for which each of these stands.
    nearest : ndarray of shape (k,)
        Largest correlation of the residual at each state of the region with one that was seen.
    """

    dynamics: IdentifiedDynamics
    region: Region
    precision: FloatArray
    seen: FloatArray
    mass: FloatArray
    nearest: FloatArray

    @classmethod
    def of_model(cls, dynamics: IdentifiedDynamics, region: Region) -> Self:
        """Return what a model knows."""
        kept = dynamics.representatives
        return cls(
            dynamics,
            region,
            dynamics.parameter_precision,
            kept.states,
            kept.mass,
            _nearest(dynamics, region, kept.states, np.zeros(len(region.states))),
        )

    @one_blas_thread
    def after(self, X: FloatArray, mass: float) -> Self:
        """
        Return what would be known after a motion.

        Parameters
        ----------
        X : ndarray of shape (m, 3 n)
            States [q, qd, qdd] of the motion, rad, rad/s, rad/s^2.
        mass : float
            Number of samples that are recorded for each of them.
        """
        dynamics, n = self.dynamics, self.dynamics.n_joints
        states = X[:, : 2 * n]
        weights = mass * self._worth(states, mass)[:, None] * dynamics.informative_share(X)
        weights /= dynamics.noise.of_slipping
        columns = dynamics.regressor(X)
        precision = self.precision.copy()
        for joint, own in enumerate(dynamics.regressor.indices):
            phi = columns[:, joint]
            precision[np.ix_(own, own)] += (weights[:, joint, None] * phi).T @ phi
        return replace(
            self,
            precision=precision,
            seen=np.concatenate([self.seen, states]),
            mass=np.append(self.mass, np.full(len(states), mass)),
            nearest=_nearest(dynamics, self.region, states, self.nearest),
        )

    def _worth(self, states: FloatArray, mass: float) -> FloatArray:
        """Number (m,) of independent samples that each sample of a motion counts as."""
        correlation = self.dynamics.correlation
        near = mass * np.sum(correlation.between(states, states), axis=1)
        if len(self.seen):
            near += correlation.between(states, self.seen) @ self.mass
        share = correlation.share
        return np.asarray(1.0 / (1.0 - share + share * np.maximum(near, 1.0)))

    @one_blas_thread
    def information(self) -> float:
        """Negative entropy of the parameters, but for a constant, nats."""
        return float(np.sum(np.log(np.diagonal(np.linalg.cholesky(self.precision)))))

    @one_blas_thread
    def doubt(self) -> float:
        """Doubt of the torques of all joints that is left in the region, nats a state."""
        factor = np.linalg.cholesky(self.precision)
        unseen = 1.0 - self.dynamics.correlation.share * self.nearest**2
        total = 0.0
        for columns in self.region.columns:
            scaled = solve_triangular(factor, columns.T, lower=True, check_finite=False)
            total += float(np.mean(np.log(np.sum(scaled**2, axis=0) + unseen)))
        return 0.5 * total


def _nearest(
    dynamics: IdentifiedDynamics, region: Region, states: FloatArray, before: FloatArray
) -> FloatArray:
    if not len(states):
        return before
    return np.maximum(before, dynamics.correlation.between(region.states, states).max(axis=1))
