# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
What torques tell of the correlation of their residuals and of how far a description may be off.

The lengths and the share s of `ResidualCorrelation`, the variance of each joint's residual and the
scales of the prior of the parameters chi maximize the marginal likelihood

.. math::
    \log N\big(\tau \mid \phi\,\chi_0,\; \textstyle\sum_g \lambda_g^2\, \phi_g P_g \phi_g^\top
    + \sigma^2 (s\,\rho + \mathrm{diag}(1/a) - s I)\big)

in which the parameters are integrated out: residuals of a fit would not show the part of g that
the terms can imitate. The prior deviations of the parameters of a group g are multiplied by one
scale lambda_g, so that a description that is far off, or a spring of which it says nothing, is
not taken for what no term describes. Of a g that the terms imitate altogether, as one over long
lengths, the likelihood tells nothing; a prior then decides, by which lengths, odds s / (1 - s) and
deviations of parameters are the usual ones within a factor of e.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
import scipy
from scipy.linalg.lapack import dpotrf, dpotri

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.blas_threads import one_blas_thread
from ilr_dynamics.regression.shared.matern import correlation_and_slope
from ilr_dynamics.robot.residual_correlation import ResidualCorrelation

__all__ = ["Hypothesis", "JointTorques", "TorqueEvidence", "most_probable"]

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
# Parameters of the search before the variances of the joints: both lengths and the share.
N_OF_CORRELATION = 3


@dataclass(frozen=True)
class JointTorques:
    """
    One joint's torques at n states, and what is known of them before they are measured.

    Parameters
    ----------
    deviation : ndarray of shape (n,)
        Torques minus what the prior mean of the parameters predicts, Nm.
    columns : ndarray of shape (n, C)
        Columns of the parameters times their prior deviations at scale 1, Nm.
    groups : ndarray of shape (C,)
        Index of the scale of each parameter.
    informative : ndarray of shape (n,)
        Share of each torque that informs, above 0 and at most 1.
    """

    deviation: FloatArray
    columns: FloatArray
    groups: IndexArray
    informative: FloatArray


class Hypothesis(NamedTuple):
    """
    What torques come from, but for the parameters.

    Attributes
    ----------
    correlation : ResidualCorrelation
        Of the residuals.
    scales : ndarray of shape (G,)
        Of the prior of the parameters.
    variance_shares : ndarray of shape (d,)
        Variance of each joint's residual, as a share of that of its torques about the prior.
    """

    correlation: ResidualCorrelation
    scales: FloatArray
    variance_shares: FloatArray

    @property
    def logarithms(self) -> FloatArray:
        """Logarithms (3 + d + G,) in the order of `TorqueEvidence`."""
        of_others = np.log(np.concatenate([self.variance_shares, self.scales]))
        return np.append(_logarithms(self.correlation), of_others)

    @classmethod
    def of_logarithms(cls, logarithms: FloatArray, n_joints: int) -> Self:
        """Make one of `logarithms`."""
        position, velocity = np.exp(logarithms[:2]).tolist()
        shares, scales = np.split(np.exp(logarithms[N_OF_CORRELATION:]), [n_joints])
        correlation = ResidualCorrelation(position, velocity, _share(logarithms[2]))
        return cls(correlation, scales, shares)


@one_blas_thread
def most_probable(
    states: FloatArray,
    torques: list[JointTorques],
    start: Hypothesis,
    scale_bounds: FloatArray,
    longest: float = POSITION_LENGTHS[1],
) -> Hypothesis:
    """
    Return the most probable hypothesis given torques at n states.

    Parameters
    ----------
    states : ndarray of shape (n, 2 d)
        Positions and velocities [q, qd], rad and rad/s.
    torques : list of JointTorques
        Those of each joint.
    start : Hypothesis
        From where the search starts; returned if it fails.
    scale_bounds : ndarray of shape (G, 2)
        Lower and upper bounds of the scales.
    longest : float
        Longest position length, rad.
    """
    n_joints = len(torques)
    search = TorqueEvidence(states, torques, len(start.scales))
    bounds = [
        (np.log(POSITION_LENGTHS[0]), np.log(longest)),
        tuple(np.log(VELOCITY_LENGTHS)),
        SHARE_LOGITS,
        *[tuple(np.log(VARIANCE_SHARES))] * n_joints,
        *np.log(scale_bounds),
    ]
    options = {"maxiter": ITERATIONS, "ftol": TOLERANCE}
    found = scipy.optimize.minimize(
        search, start.logarithms, jac=True, method="L-BFGS-B", bounds=bounds, options=options
    )
    if not np.isfinite(found.fun):
        return start
    return Hypothesis.of_logarithms(found.x, n_joints)


class TorqueEvidence:
    """
    Negative log of marginal likelihood of the torques times prior, and its gradient.

    Parameters
    ----------
    states, torques
        As of `most_probable`.
    n_scales : int
        Number G of scales.
    """

    def __init__(self, states: FloatArray, torques: list[JointTorques], n_scales: int) -> None:
        position, velocity = np.split(states, 2, axis=1)
        self._positions = _squared_distances(position)
        self._velocities = _squared_distances(velocity)
        self._torques = torques
        self._variances = [float(np.mean(of_joint.deviation**2)) or 1.0 for of_joint in torques]
        self._usual = np.concatenate(
            [_logarithms(ResidualCorrelation()), np.zeros(len(torques) + n_scales)]
        )
        # Of the variances nothing is known before.
        self._known = np.ones(len(self._usual))
        self._known[N_OF_CORRELATION : N_OF_CORRELATION + len(torques)] = 0.0

    def __call__(self, parameters: FloatArray) -> tuple[float, FloatArray]:
        """
        Evaluate at logarithms (3 + d + G,).

        Those of both lengths and of the odds of s, of the variance of each joint's residual as a
        share of its torques' about the prior, and of the scales.
        """
        position, velocity, logit = parameters[:N_OF_CORRELATION]
        of_position = self._positions * np.exp(-2.0 * position)
        of_velocity = self._velocities * np.exp(-2.0 * velocity)
        rho, slope = correlation_and_slope(of_position + of_velocity)
        s = _share(logit)
        of_variances, of_scales = np.split(parameters[N_OF_CORRELATION:], [len(self._torques)])
        diagonal = np.diag_indices_from(rho)
        value, gradient = 0.0, np.zeros_like(parameters)
        for joint, of_joint in enumerate(self._torques):
            variance = self._variances[joint] * np.exp(of_variances[joint])
            residual = s * rho
            residual[diagonal] = 1.0 / of_joint.informative
            columns = of_joint.columns * np.exp(of_scales[of_joint.groups])
            # In Fortran's order, in which LAPACK works without a copy.
            covariance = np.array(columns @ columns.T + variance * residual, order="F")
            covariance[diagonal] += (
                JITTER * np.trace(covariance) / len(rho) + LEAST_NOISE * self._variances[joint]
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
            sensitivity = 0.5 * (inverse - np.outer(pull, pull))
            of_columns = 2.0 * np.sum(columns * (sensitivity @ columns), axis=0)
            gradient[N_OF_CORRELATION + len(self._torques) :] += np.bincount(
                of_joint.groups, of_columns, minlength=len(of_scales)
            )
            sensitivity *= variance
            gradient[N_OF_CORRELATION + joint] = np.sum(sensitivity * residual)
            of_lengths = sensitivity * slope
            gradient[0] += s * np.sum(of_lengths * of_position)
            gradient[1] += s * np.sum(of_lengths * of_velocity)
            common = np.sum(sensitivity * rho) - np.trace(sensitivity)
            gradient[2] += s * (1.0 - s) * common
        from_usual = self._known * (parameters - self._usual)
        return float(value + 0.5 * from_usual @ from_usual), gradient + from_usual


def _logarithms(correlation: ResidualCorrelation) -> FloatArray:
    """Logarithms (3,) of both lengths and of the odds of the share."""
    odds = correlation.share / (1.0 - correlation.share)
    return np.log([correlation.position_length, correlation.velocity_length, odds])


def _squared_distances(points: FloatArray) -> FloatArray:
    return np.asarray(np.sum((points[:, None] - points) ** 2, axis=2))


def _share(logit: float) -> float:
    return float(1.0 / (1.0 + np.exp(-logit)))
