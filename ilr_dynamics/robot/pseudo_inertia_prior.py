# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
Wishart prior of a payload's pseudo-inertia: no estimate leaves the bodies that can exist.

.. math::
    \log p(\pi) = \tfrac{\nu - 5}{2} \log\det P(\pi)
    - \tfrac12 \mathrm{tr}\big(S^{-1} P(\pi)\big) + \mathrm{const}

With a Gaussian likelihood :math:`\exp(b^\top\pi - \tfrac12 \pi^\top A \pi)` the posterior is
log-concave, with one mode, found by Newton's method with backtracking, log det being a barrier
that no step crosses (Boyd and Vandenberghe, 2004, chapters 9 and 11). The posterior is then taken
as a Gaussian about the mode (Laplace's approximation).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import multigammaln

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.robot.dynamics_terms import N_INERTIAL
from ilr_dynamics.robot.pseudo_inertia import (
    BASIS,
    inertial_parameters,
    pseudo_inertia,
)

__all__ = ["Mode", "PseudoInertiaPrior"]

# Degrees of freedom: with 7 the barrier's factor (dof - 5) / 2 is one.
DOF = 7.0
BARRIER = 0.5 * (DOF - 5.0)
# Gain of the next step of Newton's method, in nats, at which a search ends.
CONVERGED, COARSELY = 1e-4, 0.1
# By how much more of the likelihood counts from one search to the next: within 10 steps of each
# search. By 10 some took more than 50, where torques of millions of nats ask for no body.
GROWTH = 3.0
# Added to a matrix with ones on its diagonal: at the edge of what can exist rounding would make it
# indefinite.
JITTER = 1e-9
MOST_STEPS = 50
SMALLEST_SHARE = 1e-6
# log |d P / d pi|, from the diagonal of the second moments: the determinant is 1/2.
LOG_JACOBIAN = np.log(0.5)


@dataclass(frozen=True, eq=False)
class Mode:
    """
    Mode of a posterior and the Gaussian about it.

    Attributes
    ----------
    parameters : ndarray of shape (10,)
        Inertial parameters.
    covariance : ndarray of shape (10, 10)
        Inverse of the Hessian of the negative log posterior there.
    log_evidence : float
        Log of the integral of likelihood times prior, relative to the likelihood without any
        payload.
    """

    parameters: FloatArray
    covariance: FloatArray
    log_evidence: float


@dataclass(frozen=True)
class PseudoInertiaPrior:
    """
    Wishart distribution of a payload's pseudo-inertia.

    Parameters
    ----------
    mass : float
        Expected mass, kg.
    size : float
        Root mean square distance of the mass from the tool point along each axis, m.
    """

    mass: float
    size: float

    @cached_property
    def mean(self) -> FloatArray:
        """Expected inertial parameters (10,)."""
        return inertial_parameters(DOF * self._scale)

    @cached_property
    def scale(self) -> FloatArray:
        """Size (10,) that each inertial parameter of such a body has, kg, kg m and kg m^2."""
        size = self.mass * self.size ** np.repeat([0.0, 1.0, 2.0], [1, 3, 6])
        return np.asarray(size)

    def mode(self, A: FloatArray, b: FloatArray, start: FloatArray) -> Mode:
        """
        Return the most probable parameters given a likelihood.

        Parameters
        ----------
        A : ndarray of shape (10, 10)
            Precision of the likelihood, positive semidefinite.
        b : ndarray of shape (10,)
            Precision times most likely parameters.
        start : ndarray of shape (10,)
            Parameters of a real body.
        """
        # Where torques ask for a body that cannot be, straight steps end at its edge: the
        # likelihood is let in little by little, and the barrier keeps away from there meanwhile.
        gradient, hessian = self._derivatives(A, b, start)
        step = _solved(hessian, gradient)
        share = min(1.0, 1.0 / max(0.5 * float(gradient @ step), 1.0))
        parameters = start if share == 1.0 else self.mean
        while share < 1.0:
            parameters = self._climb(share * A, share * b, parameters, COARSELY)
            share *= GROWTH
        parameters = self._climb(A, b, parameters, CONVERGED)
        _, hessian = self._derivatives(A, b, parameters)
        covariance = _solved(hessian, np.eye(N_INERTIAL))
        _, log_determinant = np.linalg.slogdet(hessian)
        log_evidence = (
            self._value(A, b, parameters)
            + self._log_constant
            + 0.5 * N_INERTIAL * np.log(2.0 * np.pi)
            - 0.5 * log_determinant
        )
        return Mode(parameters, covariance, float(log_evidence))

    def _climb(
        self, A: FloatArray, b: FloatArray, parameters: FloatArray, tolerance: float
    ) -> FloatArray:
        """Take Newton's steps until the next would gain less than a tolerance in nats."""
        value = self._value(A, b, parameters)
        for _ in range(MOST_STEPS):
            gradient, hessian = self._derivatives(A, b, parameters)
            step = _solved(hessian, gradient)
            if 0.5 * float(gradient @ step) < tolerance:
                break
            share = 1.0
            while (better := self._value(A, b, parameters + share * step)) < value:
                share *= 0.5
                if share < SMALLEST_SHARE:
                    return parameters
            parameters, value = parameters + share * step, better
        return parameters

    def _value(self, A: FloatArray, b: FloatArray, parameters: FloatArray) -> float:
        """Log posterior without constants; minus infinity where no body has these parameters."""
        try:
            factor = np.linalg.cholesky(pseudo_inertia(parameters))
        except np.linalg.LinAlgError:
            return -np.inf
        log_determinant = 2.0 * float(np.sum(np.log(np.diagonal(factor))))
        linear = float((b - self._pull - 0.5 * (A @ parameters)) @ parameters)
        return linear + BARRIER * log_determinant

    def _derivatives(
        self, A: FloatArray, b: FloatArray, parameters: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Gradient (10,) of the log posterior, and Hessian (10, 10) of its negative."""
        scaled = np.linalg.inv(pseudo_inertia(parameters)) @ BASIS
        barrier = BARRIER * np.trace(scaled, axis1=1, axis2=2)
        gradient = b - self._pull - A @ parameters + barrier
        flat = scaled.reshape(N_INERTIAL, 16)
        transposed = scaled.transpose(0, 2, 1).reshape(N_INERTIAL, 16)
        return gradient, A + BARRIER * (flat @ transposed.T)

    @cached_property
    def _scale(self) -> FloatArray:
        return np.diag([self.size**2] * 3 + [1.0]) * self.mass / DOF

    @cached_property
    def _pull(self) -> FloatArray:
        """Half the trace (10,) of the inverse scale times the basis."""
        return 0.5 * np.einsum("ij,kji->k", np.linalg.inv(self._scale), BASIS)

    @cached_property
    def _log_constant(self) -> float:
        _, log_scale = np.linalg.slogdet(self._scale)
        return float(
            LOG_JACOBIAN
            - 2.0 * DOF * np.log(2.0)
            - 0.5 * DOF * log_scale
            - multigammaln(0.5 * DOF, 4)
        )


def _solved(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """
    Return the solution for a positive definite matrix.

    Scaled to a diagonal of ones first: moments of inertia and masses are orders apart.
    """
    scale = 1.0 / np.sqrt(np.diagonal(matrix))
    scaled = matrix * np.outer(scale, scale)
    scaled[np.diag_indices(N_INERTIAL)] += JITTER
    columns = scale if right.ndim == 1 else scale[:, None]
    return columns * np.linalg.solve(scaled, columns * right)
