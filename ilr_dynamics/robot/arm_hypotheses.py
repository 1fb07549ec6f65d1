# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
What torques tell of an arm before its parameters: correlation, scales, a potential or none.

That an unknown potential pulls at an arm (`unknown_potential`) is believed if the arm predicts
torques that are held out better with it than without, with the same scales and correlation
otherwise. The evidence of the torques (`torque_evidence`) does not tell: a residual that stays
alike over long distances explains them as well as a potential does, and predicts nothing. Postures
are held out, and directions of motion, and each of these tests has to say the same.

Recordings along a curve, as eights are, are not asked. They pass each posture in one direction
only, so that a potential imitates friction that depends on the posture, and explain everything to
the noise, so that it seems to be known well where it is not. Postures have to spread over more
than a surface, by their correlation dimension (Grassberger and Procaccia, 1983)

.. math::
    \log_2 \frac{S(l)}{S(l / 2)}, \qquad
    S(l) = \sum_{i \ne j} m_i m_j\, e^{-|q_i - q_j|^2 / 2 l^2}

at half of the potential's length.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np

from ilr_dynamics.robot.dynamics_knowledge import DynamicsKnowledge
from ilr_dynamics.robot.dynamics_regressor import (
    N_OF_JOINT,
    N_PLAIN,
    N_POSITION_TERMS,
    n_columns,
    n_parameters,
)
from ilr_dynamics.robot.parameter_doubt import HeldOut, held_out_doubt, main_halves
from ilr_dynamics.robot.parameter_prior import (
    POTENTIAL_STD,
    parameter_prior,
    scale_bounds,
    scale_groups,
)
from ilr_dynamics.robot.representative_samples import N_KEPT, N_SEARCHED, RepresentativeSamples
from ilr_dynamics.robot.residual_correlation import ResidualCorrelation
from ilr_dynamics.robot.torque_evidence import Hypothesis, JointTorques, most_probable
from ilr_dynamics.robot.torque_noise import TorqueNoise
from ilr_dynamics.robot.unknown_potential import LENGTH, N_FREQUENCIES, potential_frequencies

__all__ = [
    "most_probable_arm",
    "noise_with_potential",
    "with_potential",
    "without_potential",
]

# Log odds, beforehand, that nothing of which the description does not tell pulls at the arm.
LOG_ODDS_OF_NONE = float(np.log(100.0))
# Scale of a potential, and share of the torques' variance that is the residual's, from which they
# are searched.
FIRST_SCALE, FIRST_SHARE = 1.0, 0.1
# Longest position length of what neither the terms nor a potential describe, rad: what stays alike
# over more is the potential's, which predicts it.
LONGEST_BESIDE = 0.25 * LENGTH
# Of fewer samples not even either half has as many as a potential has parameters.
FEWEST_SAMPLES = 4 * N_FREQUENCIES
# A little more than that of a surface: curves that cross themselves often have up to 2.0, motions
# all over a region 2.5 to 3.
LEAST_DIMENSION = 2.1
# Samples of a search that only tells whether there is a potential: an eighth of its time.
N_TRIED = N_SEARCHED // 2

Arm = TypeVar("Arm", bound=DynamicsKnowledge)


def most_probable_arm(known: Arm, samples: RepresentativeSamples) -> Arm:
    """
    Return what is known of an arm with what samples tell of it before its parameters.

    Parameters
    ----------
    known : DynamicsKnowledge
        What is known; no sample is added to its sums.
    samples : RepresentativeSamples
        Those that stand for all, known ones and new ones.
    """
    few, n = samples.thinned(N_SEARCHED), known.n_joints
    shares = np.full(n, FIRST_SHARE)
    free = without_potential(known)
    first = Hypothesis(free.correlation, free.prior_scales, shares)
    free, _ = _searched(free, few, _torques(free, few), first)
    held_out = samples.thinned(N_KEPT)
    if len(samples.X) < FEWEST_SAMPLES or _dimension(held_out) < LEAST_DIMENSION:
        return free
    pulled = known if len(known.frequencies) else with_potential(free)
    first = Hypothesis(ResidualCorrelation(), pulled.prior_scales, shares)
    tried = samples.thinned(N_TRIED)
    torques = _torques(pulled, tried)
    pulled, found = _searched(pulled, tried, torques, first, LONGEST_BESIDE)
    mean_squares = np.array([np.mean(of_joint.deviation**2) for of_joint in torques])
    noise = found.variance_shares * mean_squares
    if (POTENTIAL_STD * found.scales[-1]) ** 2 < np.mean(noise):
        return free
    if not _predicts_better(pulled, without_potential(pulled), held_out):
        return free
    return _searched(pulled, few, _torques(pulled, few), found, LONGEST_BESIDE)[0]


def with_potential(known: Arm) -> Arm:
    """
    Return what is known of an arm with a potential.

    No sum so far has its columns: the sums are those over the samples that stand for all, by as
    much as the sums so far count. Of what was learned before a change of the arm, which is in no
    sum any more, energy and weight keep the noise.
    """
    n, kept = known.n_joints, known.representatives
    frequencies = potential_frequencies(n)
    size, n_all = n_columns(n, len(frequencies)), n_parameters(n, len(frequencies))
    without_samples = replace(
        known,
        frequencies=frequencies,
        prior_scales=np.append(known.prior_scales, FIRST_SCALE),
        gram=np.zeros((n, size, size)),
        pull=np.zeros((n, size)),
        energy=np.zeros(n),
        weight=np.zeros(n),
        earlier=known.earlier.of_first(n_all),
    )
    sums = without_samples.with_samples(kept.X, kept.Y, kept.mass * kept.worth)
    seen = sums.weight > 0.0
    # Weight of the samples in the sums, of which a constant torque has the column 1.
    constant = n_columns(n) - N_OF_JOINT + N_PLAIN - N_POSITION_TERMS
    summed = known.gram[:, constant, constant]
    share = np.divide(summed, sums.weight, out=np.zeros(n), where=seen)
    before = np.maximum(known.weight - summed, 0.0)
    return replace(
        sums,
        gram=share[:, None, None] * sums.gram,
        pull=share[:, None] * sums.pull,
        energy=share * sums.energy + before * known._parameters.noise,
        weight=known.weight,
    )


def without_potential(known: Arm) -> Arm:
    """Return what is known of an arm if nothing unknown pulls at it."""
    if not len(known.frequencies):
        return known
    n = known.n_joints
    size = n_columns(n)
    return replace(
        known,
        frequencies=np.zeros((0, n)),
        prior_scales=known.prior_scales[:-1],
        gram=known.gram[:, :size, :size],
        pull=known.pull[:, :size],
        earlier=known.earlier.of_first(n_parameters(n)),
    )


def noise_with_potential(known: DynamicsKnowledge) -> TorqueNoise:
    """Return the noise of the torques so far without what a potential found now explains of it."""
    n, kept = known.n_joints, known.representatives
    residual = kept.Y - known._parameters.expected(known.regressor(kept.X))
    found = TorqueNoise.none(n).updated(residual, kept.X[:, n : 2 * n], kept.mass)
    less = found.of_slipping < known.noise.of_slipping
    return TorqueNoise(np.where(less, found.sums, known.noise.sums))


def _dimension(samples: RepresentativeSamples) -> float:
    """Correlation dimension of the postures; infinite if no two are alike."""
    position = samples.X[:, : samples.Y.shape[1]]
    squared = np.sum((position[:, None] - position) ** 2, axis=2)
    np.fill_diagonal(squared, np.inf)
    wide, narrow = (
        samples.mass @ np.exp(-0.5 * squared / length**2) @ samples.mass
        for length in (0.5 * LENGTH, 0.25 * LENGTH)
    )
    return float(np.log2(wide / narrow)) if narrow > 0.0 else np.inf


def _searched(
    known: Arm,
    samples: RepresentativeSamples,
    torques: list[JointTorques],
    first: Hypothesis,
    *longest: float,
) -> tuple[Arm, Hypothesis]:
    """What is known with the most probable hypothesis, and that."""
    bounds = scale_bounds(known.n_joints, len(known.frequencies))
    found = most_probable(samples.states, torques, first, bounds, *longest)
    return replace(known, correlation=found.correlation, prior_scales=found.scales), found


def _torques(known: DynamicsKnowledge, samples: RepresentativeSamples) -> list[JointTorques]:
    """Torques of each joint, and what is known of them before they are measured."""
    unit = np.ones_like(known.prior_scales)
    mean, precision = parameter_prior(known.inertial_prior, unit, known.frequencies)
    groups = scale_groups(known.n_joints, len(known.frequencies))
    columns, informative = known.regressor(samples.X), known.informative_share(samples.X)
    torques = []
    # Sums that overflow are reported when the parameters are solved for.
    with np.errstate(over="ignore", invalid="ignore"):
        for joint, own in enumerate(known.regressor.indices):
            phi = columns[:, joint]
            deviation = samples.Y[:, joint] - phi @ mean[own]
            scaled = phi / np.sqrt(precision[own])
            torques.append(JointTorques(deviation, scaled, groups[own], informative[:, joint]))
    return torques


def _predicts_better(
    pulled: DynamicsKnowledge, free: DynamicsKnowledge, samples: RepresentativeSamples
) -> bool:
    """Whether one arm predicts better, whichever postures or directions are held out."""
    position, velocity, _ = np.split(samples.X, 3, axis=1)
    of_pulled, of_free = (_held_out(arm, samples) for arm in (pulled, free))
    halves = [*main_halves(position), *main_halves(velocity)]
    # The first that does not ends it: a motion that tells nothing takes no time.
    return bool(halves) and all(
        held_out_doubt(of_pulled, both, pulled.posterior_of).log_density
        - held_out_doubt(of_free, both, free.posterior_of).log_density
        > LOG_ODDS_OF_NONE
        for both in halves
    )


def _held_out(known: DynamicsKnowledge, samples: RepresentativeSamples) -> HeldOut:
    weighed = samples.weighed(known.correlation)
    return HeldOut(
        columns=known.regressor(samples.X),
        positions=samples.X[:, : known.n_joints],
        torques=samples.Y,
        weights=(weighed.mass * weighed.worth)[:, None] * known.informative_share(samples.X),
    )
