# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Findings on excitation: inertial parameters that a motion leaves unknown, and torque offsets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.inspection.evidence import Evidence
from ilr_dynamics.inspection.finding import Finding, Severity
from ilr_dynamics.inspection.joint_fit import JointFit
from ilr_dynamics.inspection.joint_torque import OWN
from ilr_dynamics.robot.rigid_body import RigidBodyModel

__all__ = ["offset_findings", "unknown_parameters"]

# Published mass, its first moments at a tenth of a metre, and its inertia there.
LEVER = 0.1
# A combination of parameters that changes no torque by as much, of its rms, is lost in friction.
SHOWS = 0.01
# One that no motion shows, against rounding.
EXISTS = 1e-6
# States that are looked at, of the recording and of any motion.
ENOUGH_STATES = 200
# Of a torque's rms: less is within what weights and friction are known to.
NOTABLE = 0.05
# Standard deviations that are no chance, and states that are alike, s.
UNUSUAL, ALIKE = 4.0, 0.15


def unknown_parameters(evidence: Evidence) -> Iterator[Finding]:
    """
    Say how many combinations of inertial parameters the motion does not show.

    Parameters
    ----------
    evidence : Evidence
        With a described arm.
    """
    model, description = evidence.model, evidence.description
    assert model is not None and description is not None
    n = len(evidence.joints)
    every = max(len(evidence.rows) // ENOUGH_STATES, 1)
    X = evidence.samples.X[evidence.rows[::every]]
    shown = _strengths(model, X, evidence.torque(evidence.expected_delay)[0])
    random = np.random.default_rng(0)
    anything = random.uniform(-1.0, 1.0, (ENOUGH_STATES, 3 * n)) * np.repeat([np.pi, 1.0, 5.0], n)
    exist = _strengths(model, anything, np.ones((1, n)))
    number = int(np.count_nonzero(exist > EXISTS * exist.max()))
    unknown = number - min(int(np.count_nonzero(shown > SHOWS)), number)
    yield Finding(
        "unknown_parameters",
        Severity.INFO,
        f"{unknown} of {number} combinations of masses, their centres and inertias change no "
        f"torque of this motion by {SHOWS:.0%}: they stay as described",
        "joints that move fast and together show more of them" if unknown else "",
        value=float(unknown),
    )


def _strengths(model: RigidBodyModel, X: FloatArray, torque: FloatArray) -> FloatArray:
    """By how much combinations of likely changes change torques, in units of these, rms."""
    states = zip(*np.split(X, 3, axis=1), strict=True)
    columns = np.array([model.body_columns(*state) for state in states])
    size = np.sqrt(np.mean(torque**2, axis=0)) + 1e-9
    bodies = len(columns[0].T) // 10
    expected = np.tile(LEVER ** np.array([0, 1, 1, 1, 2, 2, 2, 2, 2, 2]), bodies)
    weighed = columns * expected / size[:, np.newaxis]
    flat = weighed.reshape(-1, weighed.shape[2]) / np.sqrt(len(X))
    return np.asarray(np.linalg.svd(flat, compute_uv=False))


def offset_findings(
    evidence: Evidence, fits: Sequence[JointFit], delay: float
) -> Iterator[Finding]:
    """
    Say which torques hold a constant that is no friction.

    Parameters
    ----------
    evidence : Evidence
        With a described arm.
    fits : sequence of JointFit
        Of its joints.
    delay : float
        From a state to the action of its torque, s.
    """
    assert evidence.description is not None
    for fit in fits:
        if not _both_ways(evidence, fit):
            continue
        name, y = evidence.joints[fit.joint], fit.left(evidence, delay)
        model = fit.described.settled(y[np.newaxis], fit.least)
        values, spreads = model.coefficients(y)
        unit = OWN[-1] * float(evidence.description.torque_limit[fit.joint])
        place = len(OWN) - 1
        offset, spread = unit * values[place], unit * spreads[place]
        spread *= np.sqrt(max(ALIKE / evidence.spacing, 1.0))
        if abs(offset) > max(UNUSUAL * spread, NOTABLE * fit.size):
            yield Finding(
                "offset",
                Severity.INFO,
                f"the torque of {name} holds {offset:.3g} Nm that are neither weight nor friction",
                "set the torque sensor to zero, or describe the spring or cable",
                joint=name,
                value=float(offset),
                unit="Nm",
            )


def _both_ways(evidence: Evidence, fit: JointFit) -> bool:
    """Whether a joint slips in both directions: in one, friction is a constant too."""
    velocity = evidence.samples.X[evidence.rows[fit.rows], len(evidence.joints) + fit.joint]
    return bool(min(np.mean(velocity > 0.0), np.mean(velocity < 0.0)) > 0.2)
