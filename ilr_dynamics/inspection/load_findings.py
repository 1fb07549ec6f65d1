# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Findings on weight and load: tilted bases, gravity compensation, payloads, units of torque."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ilr_dynamics.arrays import BoolArray, FloatArray
from ilr_dynamics.inspection.deviations import Deviation, deviations
from ilr_dynamics.inspection.evidence import ENOUGH_ROWS, Evidence
from ilr_dynamics.inspection.finding import Finding, Severity
from ilr_dynamics.inspection.joint_fit import JointFit

__all__ = ["load_findings"]

# Nats by which a mistake must explain the torques better than none. Chance gives a few; errors
# that last longer than is assumed multiply them.
CLEAR = 50.0
# Nats of what all joints share, without the joint that shows it most: friction that varies with
# the position looks like a weight to one joint, and in part to those that move with it.
CONFIRMED = 35.0
# A description whose masses are wrong by some per cent looks like a payload in part, and more like
# what each joint's share of its torque explains. A payload explains as much as that with numbers
# that all joints share, but for chance (nats) and for what its friction does (a share). What is
# still called a payload then is one as far as the arm's motion can tell.
BY_CHANCE, BY_FRICTION = 3.0, 0.002
# One that each joint's share explains far better is none, whatever its size: payloads with much
# friction explain nine tenths as much.
MOSTLY = 0.8
# Of a torque's rms, of a joint that is moved by its bodies: less is not worth a word; and more
# than masses of a description are wrong by, so that it is worth one whatever explains it better.
LEAST_EFFECT, WRONG_MASSES = 0.01, 0.1
# What is carried has its centre no farther from the last joint, m; and by how much the first
# moment of a small load may be estimated wrong, kg m.
REACH, VAGUE_MOMENT = 0.6, 0.05
# No masses that were measured or drawn are wrong by this factor.
OTHER_UNIT = 1.5
# Nor, all of them, by this one: what a description leaves out differs from joint to joint.
COMMON_UNIT = 1.25
# Joints whose bodies take less torque, of the most, have friction alone.
SPEAKS = 0.05
# Degrees and m/s^2 by which gravity of a description that is a few per cent wrong appears turned.
# A joint's zero that is wrong by more is no matter of how carefully it was homed, rad.
TILTED_JOINT = 0.1
TILTED, MISSING, TWICE = 5.0, 0.35, (1.6, 2.6)


def load_findings(evidence: Evidence, fits: Sequence[JointFit], delay: float) -> Iterator[Finding]:
    """
    Say whether weight or load differ from the description.

    Parameters
    ----------
    evidence : Evidence
        With a described arm.
    fits : sequence of JointFit
        Of its joints.
    delay : float
        From a state to the action of its torque, s.
    """
    found = deviations(evidence, fits, delay)
    description = found["description"]
    gravity, payload, unit, offset = (
        found[name] if found[name].confirmed > CONFIRMED else replace(found[name], gain=0.0)
        for name in ("gravity", "payload", "unit", "offset")
    )
    if not _can_be_carried(evidence, payload.values):
        payload = replace(payload, gain=0.0)
    otherwise = (1.0 - BY_FRICTION) * description.gain - BY_CHANCE
    if offset.gain > max(CLEAR, gravity.gain, payload.gain, unit.gain, otherwise):
        yield _offset(evidence, offset.values)
    elif unit.gain > max(CLEAR, gravity.gain, payload.gain, otherwise):
        yield from _unit(float(unit.values[0]))
    elif gravity.gain > max(CLEAR, payload.gain, otherwise):
        yield from _gravity(gravity.values + evidence.nominal_gravity, evidence.gravity)
    elif payload.gain > max(CLEAR, gravity.gain, otherwise):
        yield from _payload(evidence, payload, delay, LEAST_EFFECT)
    elif payload.gain > max(2.0 * CLEAR, gravity.gain, MOSTLY * description.gain):
        # Where a wrong description explains the torques better, a payload must be twice as clear.
        yield from _payload(evidence, payload, delay, WRONG_MASSES)
    elif description.gain > max(2.0 * CLEAR, gravity.gain):
        # Of a factor of its own a joint is the only witness: it must be twice as clear.
        yield from _shares(evidence, description.values)


def _can_be_carried(evidence: Evidence, load: FloatArray) -> bool:
    """Whether a load (4,), kg and kg m, leaves a mass and lies within reach."""
    assert evidence.model is not None
    mass, moment = float(load[0]), float(np.linalg.norm(load[1:]))
    return mass > -evidence.model.last_body_mass and moment < REACH * abs(mass) + VAGUE_MOMENT


def _gravity(gravity: FloatArray, described: FloatArray) -> Iterator[Finding]:
    """Findings on the gravity that torques hold, and that of the description, (3,), m/s^2."""
    size, expected = float(np.linalg.norm(gravity)), float(np.linalg.norm(described))
    if expected == 0.0:
        return
    share = float(gravity @ described) / expected**2
    if size < MISSING * expected:
        yield _weight(
            "gravity_missing", share, "set driver_compensates_gravity if the driver adds it"
        )
    elif TWICE[0] <= share <= TWICE[1]:
        yield _weight(
            "gravity_twice",
            share,
            "somebody adds gravity a second time: driver and controller both compensate it?",
        )
    else:
        cosine = share * expected / size
        angle = float(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))))
        if angle > TILTED:
            direction = ", ".join(f"{part:.2f}" for part in gravity / size)
            yield Finding(
                "base_tilted",
                Severity.ERROR,
                f"the base is tilted by {angle:.0f} degrees against the description"
                f"{' (upside down)' if angle > 150.0 else ''}: the torques hold a weight along "
                f"({direction})",
                "set the parameter gravity as the arm is mounted",
                value=angle,
                unit="deg",
            )


def _offset(evidence: Evidence, offset: FloatArray) -> Finding:
    joint = int(np.argmax(np.abs(offset)))
    return Finding(
        "position_offset",
        Severity.WARNING if abs(offset[joint]) < TILTED_JOINT else Severity.ERROR,
        f"the torques fit the described arm if the positions of {evidence.joints[joint]} are "
        f"{offset[joint]:+.3f} rad more",
        "home the joint again, or compare its zero in driver and description",
        joint=evidence.joints[joint],
        value=float(offset[joint]),
        unit="rad",
    )


def _unit(share: float) -> Iterator[Finding]:
    """Say that all torques are others than those of the description by one factor."""
    if 1.0 / COMMON_UNIT <= share <= COMMON_UNIT:
        return
    yield Finding(
        "effort_scale",
        Severity.WARNING,
        f"the torques are {share:.2g} times those of the described arm, friction apart; expected "
        "1",
        "are they in Nm, at the joints and not at the motors?",
        value=share,
    )


def _shares(evidence: Evidence, shares: FloatArray) -> Iterator[Finding]:
    """Say whose torques are others than those of the description by a factor of their own."""
    size = np.sqrt(np.mean(evidence.described**2, axis=0))
    with np.errstate(invalid="ignore"):
        wrong = (shares > OTHER_UNIT) | (shares < 1.0 / OTHER_UNIT)
    for j in np.flatnonzero(wrong & (size > SPEAKS * size.max())):
        if shares[j] < 0.0:
            yield Finding(
                "wrong_sign",
                Severity.WARNING,
                f"the torque of {evidence.joints[j]} is {shares[j]:.2g} times that of the "
                "described arm, friction apart; expected 1",
                "compare the joint's direction in driver and description",
                joint=evidence.joints[j],
                value=float(shares[j]),
            )
            continue
        yield Finding(
            "effort_scale",
            Severity.WARNING,
            f"the torque of {evidence.joints[j]} is {shares[j]:.2g} times that of the described "
            "arm, friction apart; expected 1",
            "is it in Nm, with this motor's own constant? or are the masses guessed?",
            joint=evidence.joints[j],
            value=float(shares[j]),
        )


def _weight(kind: str, share: float, advice: str) -> Finding:
    return Finding(
        kind,
        Severity.ERROR,
        f"the torques hold {share:.0%} of the arm's weight",
        advice,
        value=100.0 * share,
        unit="percent",
    )


def _payload(
    evidence: Evidence, payload: Deviation, delay: float, least: float
) -> Iterator[Finding]:
    assert evidence.terms is not None
    torque, known = evidence.torque(delay)
    used = evidence.slipping & known[:, np.newaxis]
    size = _rms(evidence.described, used)
    effect = _rms(evidence.terms.load @ payload.values, used) / (_rms(torque, used) + 1e-12)
    speaks = (size > SPEAKS * size.max()) & (np.count_nonzero(used, axis=0) >= ENOUGH_ROWS)
    if effect[speaks].max(initial=0.0) < least:
        return
    mass = float(payload.values[0])
    more = "more" if mass > 0.0 else "less"
    yield Finding(
        "payload",
        Severity.WARNING,
        f"the arm carries {abs(mass):.2f} kg {more} at its last link than the description has",
        "describe the tool, or record without it",
        value=mass,
        unit="kg",
    )


def _rms(values: FloatArray, used: BoolArray) -> FloatArray:
    """Root mean square (n_joints,) of the used values of each joint."""
    number = np.maximum(np.count_nonzero(used, axis=0), 1)
    return np.asarray(np.sqrt(np.sum(np.where(used, values, 0.0) ** 2, axis=0) / number))
