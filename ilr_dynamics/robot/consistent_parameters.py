# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
Parameters that an arm can have, closest to those that were identified.

Bayesian regression knows nothing of mass that must be positive, and identifies combinations of
parameters: a single body may come out with an inertia that no body has. The most probable
consistent parameters minimize

.. math::
    \tfrac12 (\chi - \hat\chi)^\top \Lambda (\chi - \hat\chi)
    + c \sum_b \big( \operatorname{tr} \bar J_b^{-1} J_b(\chi) - \log\det J_b(\chi) \big)
    - \epsilon \sum_k \log \chi_k

with the posterior's mean and precision, the pseudo-inertias J_b of the bodies (`pseudo_inertia`),
those of the description as prior, and a barrier for the rotor inertias and the viscous friction,
which are positive. The second term is the log-det divergence from the description (Lee, Wensing
and Park, 2019, Geometric robot dynamic identification: a convex programming approach): it does not
depend on the choice of frames, and keeps each body away from one without mass or volume. The
problem is convex; Newton's method with a line search solves it.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.blas_threads import one_blas_thread
from ilr_dynamics.exceptions import InvalidDataError
from ilr_dynamics.robot.dynamics_terms import N_INERTIAL
from ilr_dynamics.robot.pseudo_inertia import BASIS, made_definite, pseudo_inertia

__all__ = ["consistent_parameters"]

# Weight of the divergence from the description: a body with twice its mass is 4 (1 - log 2) away,
# 0.12 nats with this weight. On training rows of recorded motions with other masses than those of
# the description, ten times as much costs torque error, and a tenth gains none.
DESCRIPTION_WEIGHT = 0.1
# Weight of the barrier of positive parameters in nats: at a hundredth, one that is identified as
# zero becomes a tenth of its standard deviation.
BARRIER_WEIGHT = 0.01
# Both weights are this many times as large at first, and fall by a factor of three whenever the
# minimum is known: Newton's method then never starts far from the minimum, next to an edge.
FIRST_FACTOR, LAST_FACTOR, FALL = 1e4, 1.0, 0.3
# Of Newton's method for one factor: ten are usual, hundreds where torques ask for bodies far from
# any that exist, as each step then gains a share of a nat only.
MOST_STEPS = 2000
# Half the squared Newton decrement at which the objective is known well enough, nats.
TOLERANCE = 1e-9
# Of the line search: share of the way to the edge that a step may go, share of the linear decrease
# that is enough, and smallest step.
TO_EDGE, ENOUGH, SHORTEST = 0.9, 0.1, 1e-12
# Least share of its standard deviation at which a positive parameter starts.
START_SHARE = 1.0


@one_blas_thread
def consistent_parameters(
    mean: FloatArray, precision: FloatArray, inertial: FloatArray, positive: IndexArray
) -> FloatArray:
    """
    Return the most probable parameters with positive definite pseudo-inertias.

    Parameters
    ----------
    mean : ndarray of shape (P,)
        Posterior mean of the parameters; first are the inertial ones of n bodies.
    precision : ndarray of shape (P, P)
        Posterior precision.
    inertial : ndarray of shape (n, 10)
        Inertial parameters of the description.
    positive : ndarray of int
        Indices of parameters that are positive.

    Returns
    -------
    ndarray of shape (P,)
        Consistent parameters.

    Raises
    ------
    InvalidDataError
        If the precision is not positive definite, or Newton's method does not converge.
    """
    problem = _Problem(mean, precision, made_definite(inertial), positive)
    x, factor = problem.start(), FIRST_FACTOR
    while True:
        x = _minimum(problem, x, factor)
        if factor <= LAST_FACTOR:
            return problem.parameters(x)
        factor = max(FALL * factor, LAST_FACTOR)


def _minimum(problem: _Problem, x: FloatArray, factor: float) -> FloatArray:
    """Minimum for weights that are `factor` times as large, by Newton's method from x on."""
    value = problem.value(x, factor)
    for _ in range(MOST_STEPS):
        gradient, hessian = problem.derivatives(x, factor)
        try:
            step = -cho_solve(cho_factor(hessian), gradient)
        except (np.linalg.LinAlgError, ValueError) as error:
            raise InvalidDataError(
                "the posterior of the arm's parameters has no positive definite precision"
            ) from error
        slope = float(gradient @ step)
        if -0.5 * slope < TOLERANCE:
            return x
        share = min(1.0, TO_EDGE * problem.distance_to_edge(x, step))
        while (tried := problem.value(x + share * step, factor)) > value + ENOUGH * share * slope:
            share *= 0.5
            if share < SHORTEST:
                # Rounding of the objective hides what is left to gain.
                return x
        x, value = x + share * step, tried
    raise InvalidDataError(
        f"no consistent parameters of the arm were found in {MOST_STEPS} steps of Newton's method"
    )


class _Problem:
    """Objective in parameters scaled by the standard deviations given all others."""

    def __init__(
        self,
        mean: FloatArray,
        precision: FloatArray,
        described: FloatArray,
        positive: IndexArray,
    ) -> None:
        self._scale = 1.0 / np.sqrt(np.diagonal(precision))
        self._mean = mean / self._scale
        self._precision = precision * np.outer(self._scale, self._scale)
        self._described = described
        self._inverse = np.linalg.inv(pseudo_inertia(described))
        self._positive = positive
        bodies = self._scale[: described.size].reshape(-1, N_INERTIAL)
        # Pseudo-inertias (n, 10, 4, 4) per unit of the scaled parameters.
        self._basis = bodies[:, :, None, None] * BASIS
        self._n_bodies = described.size
        self._pull = np.einsum("bik,bpki->bp", self._inverse, self._basis).ravel()

    def start(self) -> FloatArray:
        """Scaled parameters with the bodies of the description."""
        x = self._mean.copy()
        x[: self._n_bodies] = self._described.ravel() / self._scale[: self._n_bodies]
        x[self._positive] = np.maximum(x[self._positive], START_SHARE)
        return x

    def parameters(self, x: FloatArray) -> FloatArray:
        return x * self._scale

    def distance_to_edge(self, x: FloatArray, step: FloatArray) -> float:
        """Multiple of a step at which parameters are no longer those of an arm."""
        of_bodies = np.linalg.solve(self._pseudo_inertia(x), self._pseudo_inertia(step))
        relative = np.linalg.eigvals(of_bodies).real.min()
        fall = -min(float(relative), float(np.min(step[self._positive] / x[self._positive])))
        return 1.0 / fall if fall > 0.0 else np.inf

    def value(self, x: FloatArray, factor: float) -> float:
        """Objective in nats; infinite for parameters that no arm has."""
        positive = x[self._positive]
        if not np.all(positive > 0.0):
            return np.inf
        try:
            factors = np.linalg.cholesky(self._pseudo_inertia(x))
        except np.linalg.LinAlgError:
            return np.inf
        logdet = 2.0 * float(np.sum(np.log(np.diagonal(factors, axis1=1, axis2=2))))
        from_mean = x - self._mean
        of_data = 0.5 * float(from_mean @ self._precision @ from_mean)
        of_bodies = float(self._pull @ x[: self._n_bodies]) - logdet
        barrier = float(np.sum(np.log(positive)))
        return of_data + factor * (DESCRIPTION_WEIGHT * of_bodies - BARRIER_WEIGHT * barrier)

    def derivatives(self, x: FloatArray, factor: float) -> tuple[FloatArray, FloatArray]:
        """Gradient (P,) and Hessian (P, P) of the objective."""
        gradient = self._precision @ (x - self._mean)
        hessian = self._precision.copy()
        of_description, of_barrier = factor * DESCRIPTION_WEIGHT, factor * BARRIER_WEIGHT
        inverse = np.linalg.inv(self._pseudo_inertia(x))
        # J^-1 E_p for each parameter p of each body.
        relative = inverse[:, None] @ self._basis
        slope = np.trace(relative, axis1=2, axis2=3).ravel()
        gradient[: self._n_bodies] += of_description * (self._pull - slope)
        curvature = np.einsum("bpik,bqki->bpq", relative, relative)
        for body, block in enumerate(curvature):
            own = slice(N_INERTIAL * body, N_INERTIAL * (body + 1))
            hessian[own, own] += of_description * block
        gradient[self._positive] -= of_barrier / x[self._positive]
        hessian[self._positive, self._positive] += of_barrier / x[self._positive] ** 2
        return gradient, hessian

    def _pseudo_inertia(self, x: FloatArray) -> FloatArray:
        bodies = x[: self._n_bodies].reshape(-1, N_INERTIAL)
        return np.einsum("bp,bpik->bik", bodies, self._basis)
