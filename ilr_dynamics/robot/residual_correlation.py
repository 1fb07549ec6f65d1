# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
Correlation of the torques that no term describes, between states of the arm.

Friction of a worn gear, a hose or a joint that gives way err alike at neighbouring states. Each
joint's torque is modelled as

.. math::
    \tau_i = \phi_i^\top \theta + g(q_i, \dot q_i) + \varepsilon_i, \qquad
    \mathrm{cov}(\tau_i - \phi_i^\top\theta, \tau_j - \phi_j^\top\theta)
    = \sigma^2 \big(s\,\rho_{ij} + (1/a_i - s)\,\delta_{ij}\big)

with a Gaussian process g whose correlation rho is Matern's with exponent 3/2 (Rasmussen and
Williams, 2006, chapter 4), and the share a_i of a torque that informs, almost zero while a joint
sticks. Lengths and share s maximize the marginal likelihood, in which the parameters theta are
integrated out: residuals of a fit would not show the part of g that the terms can imitate. Of a g
that they imitate altogether, as one over long lengths, it tells nothing; a prior then decides, by
which lengths and odds s / (1 - s) are the usual ones within a factor of e.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.optimize import minimize

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.blas_threads import one_blas_thread
from ilr_dynamics.regression.shared.matern import correlation, correlation_and_slope

__all__ = ["ResidualCorrelation", "TorqueCovariance"]

# Bounds of the lengths, rad and rad/s: from the ripple of a gear to all that an arm can reach.
POSITION_LENGTHS, VELOCITY_LENGTHS = (0.01, 10.0), (0.03, 50.0)
# The share s, as its logit; at 0.9975 there is hardly any noise of its own in a sample.
SHARE_LOGITS = (-8.0, 6.0)
# The variance of a joint's residual, as a share of that of its torques about the prior.
VARIANCE_SHARES = (1e-10, 10.0)
# Independent noise besides, as the same share. Without it torques that the terms explain to the
# last digits would be likeliest with s = 1 and long lengths, as if all were one sample.
LEAST_NOISE = 1e-7
# Added to a covariance, as a share of its mean diagonal: rounding must not make it indefinite.
JITTER = 1e-10
ITERATIONS = 60
# Relative change of the likelihood at which the search ends: lengths are then known to percents.
TOLERANCE = 1e-5


@dataclass(frozen=True)
class TorqueCovariance:
    """
    What is known of one joint's torques at n states before they are measured.

    Parameters
    ----------
    deviation : ndarray of shape (n,)
        Torques minus what the prior mean of the parameters predicts, Nm.
    of_parameters : ndarray of shape (n, n)
        Covariance phi P phi' of the torques due to the uncertain parameters, Nm^2.
    informative : ndarray of shape (n,)
        Share of each torque that informs, above 0 and at most 1.
    """

    deviation: FloatArray
    of_parameters: FloatArray
    informative: FloatArray


@dataclass(frozen=True)
class ResidualCorrelation:
    """
    Correlation s rho of the residual torques at two states; `fitted` finds its parameters.

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

    @one_blas_thread
    def fitted(self, states: FloatArray, torques: list[TorqueCovariance]) -> Self:
        """
        Return the most probable correlation given torques at n states, searched from this one on.

        Parameters
        ----------
        states : ndarray of shape (n, 2 d)
            Positions and velocities [q, qd], rad and rad/s.
        torques : list of TorqueCovariance
            Those of each joint.
        """
        search = _Likelihood(states, torques)
        start = np.append(self._logarithms(), np.full(len(torques), np.log(0.1)))
        bounds = [
            tuple(np.log(POSITION_LENGTHS)),
            tuple(np.log(VELOCITY_LENGTHS)),
            SHARE_LOGITS,
            *[tuple(np.log(VARIANCE_SHARES))] * len(torques),
        ]
        options = {"maxiter": ITERATIONS, "ftol": TOLERANCE}
        found = minimize(
            search, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options
        )
        if not np.isfinite(found.fun):
            return self
        lengths = np.exp(found.x[:2])
        return type(self)(float(lengths[0]), float(lengths[1]), float(_share(found.x[2])))

    def _logarithms(self) -> FloatArray:
        """Logarithms (3,) of both lengths and of the odds of the share."""
        odds = self.share / (1.0 - self.share)
        return np.log([self.position_length, self.velocity_length, odds])

    def lengths(self, n_inputs: int) -> FloatArray:
        """Lengths (2 d,) of the states [q, qd]."""
        return np.repeat([self.position_length, self.velocity_length], n_inputs // 2)


class _Likelihood:
    """Negative log of marginal likelihood of the torques times prior, and its gradient."""

    def __init__(self, states: FloatArray, torques: list[TorqueCovariance]) -> None:
        position, velocity = np.split(states, 2, axis=1)
        self._positions = _squared_distances(position)
        self._velocities = _squared_distances(velocity)
        self._torques = torques
        self._usual = ResidualCorrelation()._logarithms()
        self._scales = [float(np.mean(of_joint.deviation**2)) or 1.0 for of_joint in torques]

    def __call__(self, parameters: FloatArray) -> tuple[float, FloatArray]:
        """Evaluate at the logarithms of both lengths, logit of s and log variances (3 + d,)."""
        position, velocity, share = parameters[:3]
        of_position = self._positions * np.exp(-2.0 * position)
        of_velocity = self._velocities * np.exp(-2.0 * velocity)
        rho, slope = correlation_and_slope(of_position + of_velocity)
        s = _share(share)
        value, gradient = 0.0, np.zeros_like(parameters)
        for joint, of_joint in enumerate(self._torques):
            variance = self._scales[joint] * np.exp(parameters[3 + joint])
            residual = s * rho
            residual[np.diag_indices_from(rho)] = 1.0 / of_joint.informative
            # In Fortran's order, in which LAPACK works without a copy.
            covariance = np.array(of_joint.of_parameters + variance * residual, order="F")
            covariance[np.diag_indices_from(rho)] += (
                JITTER * np.trace(covariance) / len(rho) + LEAST_NOISE * self._scales[joint]
            )
            factor, failed = dpotrf(covariance, lower=1, overwrite_a=1)
            if failed or not np.all(np.isfinite(np.diagonal(factor))):
                return np.inf, np.zeros_like(parameters)
            log_determinant = 2.0 * np.sum(np.log(np.diagonal(factor)))
            inverse, _ = dpotri(factor, lower=1, overwrite_c=1)
            inverse = np.tril(inverse) + np.tril(inverse, -1).T
            pull = inverse @ of_joint.deviation
            value += 0.5 * (of_joint.deviation @ pull + log_determinant)
            # d value / d covariance, then the chain rule.
            sensitivity = 0.5 * variance * (inverse - np.outer(pull, pull))
            gradient[3 + joint] = np.sum(sensitivity * residual)
            of_lengths = sensitivity * slope
            gradient[0] += s * np.sum(of_lengths * of_position)
            gradient[1] += s * np.sum(of_lengths * of_velocity)
            common = np.sum(sensitivity * rho) - np.trace(sensitivity)
            gradient[2] += s * (1.0 - s) * common
        from_usual = parameters[:3] - self._usual
        gradient[:3] += from_usual
        return float(value + 0.5 * from_usual @ from_usual), gradient


def _squared_distances(points: FloatArray) -> FloatArray:
    return np.asarray(np.sum((points[:, None] - points) ** 2, axis=2))


def _share(logit: float) -> float:
    return float(1.0 / (1.0 + np.exp(-logit)))
