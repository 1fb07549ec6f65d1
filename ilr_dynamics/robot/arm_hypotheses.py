# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
What torques tell of an arm before its parameters: correlation, scales, a potential or none.

That an unknown potential pulls at an arm (`unknown_potential`) is believed if two things say so.
The evidence of the torques has to ask for it (`torque_evidence`). That alone would not do: on a
motion that passes each posture in one direction only, as an eight does, a potential imitates
friction that depends on the posture, and errs elsewhere. So the arm with it also has to predict
postures that are held out better than the arm without (`held_out_density`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.robot.dynamics_knowledge import DynamicsKnowledge
from ilr_dynamics.robot.dynamics_regressor import n_columns, n_parameters
from ilr_dynamics.robot.parameter_doubt import HeldOut, held_out_density
from ilr_dynamics.robot.parameter_prior import parameter_prior, scale_bounds, scale_groups
from ilr_dynamics.robot.representative_samples import N_KEPT, N_SEARCHED, RepresentativeSamples
from ilr_dynamics.robot.torque_evidence import (
    Hypothesis,
    JointTorques,
    log_probability,
    most_probable,
)
from ilr_dynamics.robot.unknown_potential import potential_frequencies

__all__ = ["most_probable_arm"]

# Log odds, beforehand, that nothing of which the description does not tell pulls at the arm.
LOG_ODDS_OF_NONE = float(np.log(100.0))
# Scale of a potential, and share of the torques' variance that is the residual's, from which they
# are searched.
FIRST_SCALE, FIRST_SHARE = 1.0, 0.1

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
    free = without_potential(known)
    first = Hypothesis(free.correlation, free.prior_scales, np.full(n, FIRST_SHARE))
    of_free, evidence = most_probable(few.states, _torques(free, few), first, scale_bounds(n))
    free = _with(free, of_free)
    pulled = known if len(known.frequencies) else with_potential(free)
    first = of_free._replace(scales=np.append(of_free.scales, pulled.prior_scales[-1]))
    torques = _torques(pulled, few)
    # A search takes a third of the time of learning: only if a potential does no harm by itself.
    if log_probability(few.states, torques, first) < evidence:
        return free
    bounds = scale_bounds(n, len(pulled.frequencies))
    of_pulled, evidence_of_pulled = most_probable(few.states, torques, first, bounds)
    if evidence_of_pulled - evidence < LOG_ODDS_OF_NONE:
        return free
    pulled, held_out = _with(pulled, of_pulled), samples.thinned(N_KEPT)
    # Both are judged by the same samples; the arm without potential counts fewer as independent.
    counted = _weights(free, held_out)
    is_better = _density(pulled, held_out, counted) > _density(free, held_out, counted)
    return pulled if is_better else free


def with_potential(known: Arm) -> Arm:
    """
    Return what is known of an arm with a potential.

    No sum so far has its columns: the sums are those over the samples that stand for all, by as
    much as all count.
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
    share = np.divide(known.weight, sums.weight, out=np.zeros(n), where=seen)
    return replace(
        sums,
        gram=share[:, None, None] * sums.gram,
        pull=share[:, None] * sums.pull,
        energy=share * sums.energy,
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


def _with(known: Arm, hypothesis: Hypothesis) -> Arm:
    return replace(known, correlation=hypothesis.correlation, prior_scales=hypothesis.scales)


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


def _weights(known: DynamicsKnowledge, samples: RepresentativeSamples) -> FloatArray:
    """Independent samples (m, n) that each torque counts as."""
    weighed = samples.weighed(known.correlation)
    return (weighed.mass * weighed.worth)[:, None] * known.informative_share(samples.X)


def _density(
    known: DynamicsKnowledge, samples: RepresentativeSamples, counted: FloatArray
) -> float:
    """Log density of torques where they are held out, nats."""
    n = known.n_joints
    known_samples = HeldOut(
        known.regressor(samples.X), samples.X[:, :n], samples.Y, _weights(known, samples)
    )
    return held_out_density(known_samples, known.posterior_of, counted)
