# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""How much later a torque acts than its stamp says, found in the data."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .evidence import ENOUGH_ROWS, SIGN_SPEEDS, Evidence, MotionTerms

__all__ = ["find_delay"]

Array = NDArray[np.float64]

# Delays that are tried, s. They are whole periods: between states a torque is a mean of two, with
# less noise, which would look like a better fit.
FIRST, LAST = -0.02, 0.04
# Speed below which friction rises, rad/s, and waves of friction to the turn, at most.
STRIBECK_SPEED, N_WAVES = 0.06, 12
# States within as much say what one does, s.
CORRELATION_S = 0.1
# What is never explained of a torque, as a share of its rms.
NOISE = 0.03
# A joint that is slower all the time says nothing about when its torque acts, rad/s.
FAST_ENOUGH = 0.1


def find_delay(evidence: Evidence) -> tuple[float, float]:
    """
    Find the delay at which the torques fit the motion best.

    Each joint's torque is fitted by all that it may be linear in, whatever the coefficients: its
    rotor and the bodies of the description, weight in any direction, any load, friction. What is
    left is least at the right delay.

    Parameters
    ----------
    evidence : Evidence
        With a described arm.

    Returns
    -------
    delay : float
        From the stamp of a state to the middle of the action of its torque, s.
    spread : float
        Standard deviation of it, s; infinite if nothing can be said.
    """
    assert evidence.terms is not None
    period = evidence.recording.period
    delays = period * np.arange(np.floor(FIRST / period), np.ceil(LAST / period) + 1.0)
    known = np.all([evidence.torque(delay)[1] for delay in delays[[0, -1]]], axis=0)
    X = evidence.samples.X[evidence.rows][known]
    n = len(evidence.joints)
    fast = np.abs(X[:, n : 2 * n]).max(axis=0) > FAST_ENOUGH if len(X) else np.zeros(n, dtype=bool)
    if not fast.any():
        return evidence.expected_delay, float("inf")
    torques = np.array([evidence.torque(delay)[0][known] for delay in delays])
    columns, spread = _columns(evidence, X, known)
    described = evidence.terms.torque + evidence.terms.gravity @ evidence.nominal_gravity
    slipping = evidence.slipping[known]
    cost = np.zeros(len(delays))
    every = evidence.duration / len(evidence.rows)
    n_own = min(every / CORRELATION_S, 1.0)
    for joint in np.flatnonzero(fast):
        rows = slipping[:, joint]
        if np.count_nonzero(rows) < ENOUGH_ROWS:
            continue
        y = torques[:, rows, joint] - described[known][rows, joint]
        level = NOISE * np.sqrt(np.mean(torques[:, rows, joint] ** 2)) + 1e-9
        A = columns[rows, joint] * (spread[joint] / level)
        basis, size, _ = np.linalg.svd(A, full_matrices=False)
        # What the prior of the coefficients leaves, of the smallest sum of squares.
        held = ((y @ basis) ** 2) @ (size**2 / (1.0 + size**2))
        cost += 0.5 * n_own * np.count_nonzero(rows) * np.log(np.sum(y**2, axis=1) - held + 1e-12)
    return _least(delays, cost)


def _columns(evidence: Evidence, X: Array, known: NDArray[np.bool_]) -> tuple[Array, Array]:
    """What a torque may hold beside that of the description, and how much of each is expected.

    Returns
    -------
    columns : ndarray of shape (n, n_joints, C)
    spread : ndarray of shape (n_joints, C)
        Standard deviations of their coefficients. Without bounds, the many columns explain a
        torque at any time.
    """
    terms, description = evidence.terms, evidence.description
    assert terms is not None and description is not None
    own = evidence.friction(X)
    parts = [
        terms.torque[known][..., np.newaxis],
        terms.gravity[known],
        terms.load[known],
        own,
        _rough(evidence, X, terms, known),
    ]
    limit = description.torque_limit[:, np.newaxis]
    n_waves = 2 * N_WAVES
    spread = [
        np.full_like(limit, 0.2),
        np.tile([2.0, 2.0, 2.0], (len(limit), 1)),
        np.tile([0.5, 0.1, 0.1, 0.1], (len(limit), 1)),
        limit * [0.05, 0.05, 0.05, 0.01, 0.05],
        np.hstack([np.full_like(limit, 0.05), 0.02 * limit]),
        np.tile(0.02 * limit / np.sqrt(n_waves), (1, n_waves)),
    ]
    return np.concatenate(parts, axis=2), np.hstack(spread)


def _rough(evidence: Evidence, X: Array, terms: MotionTerms, known: NDArray[np.bool_]) -> Array:
    """Dry friction by load, at low speed and with waves in the position, (n, n_joints, 26).

    Left out, it looks like a torque that comes late or early.
    """
    n = len(evidence.joints)
    sign = np.tanh(X[:, n : 2 * n] / SIGN_SPEEDS[0])
    load = np.abs(terms.torque + terms.gravity @ evidence.nominal_gravity)[known]
    bump = np.exp(-((X[:, n : 2 * n] / STRIBECK_SPEED) ** 2))
    waves = [f(k * X[:, :n]) for k in range(1, N_WAVES + 1) for f in (np.sin, np.cos)]
    return np.stack([sign * load, sign * bump, *(sign * wave for wave in waves)], axis=-1)


def _least(delays: Array, cost: Array) -> tuple[float, float]:
    """Place of the least cost, between the delays tried, and its standard deviation, s."""
    best = int(np.argmin(cost))
    if best in (0, len(delays) - 1):
        return float(delays[best]), float("inf")
    before, here, after = cost[best - 1 : best + 2]
    curvature = before - 2.0 * here + after
    if curvature <= 0.0:
        return float(delays[best]), float("inf")
    step = float(delays[1] - delays[0])
    shift = 0.5 * (before - after) / curvature
    return float(delays[best] + shift * step), float(step / np.sqrt(curvature))
