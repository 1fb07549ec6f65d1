# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Findings on torques: unit, sign, limits, delay, and deviations from the described arm."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ilr_dynamics.arrays import BoolArray, FloatArray
from ilr_dynamics.inspection.constant_torques import constant_torques
from ilr_dynamics.inspection.evidence import ENOUGH_ROWS, Evidence
from ilr_dynamics.inspection.excitation_findings import offset_findings, unknown_parameters
from ilr_dynamics.inspection.finding import Finding, Severity, join_names
from ilr_dynamics.inspection.friction_fit import fit_friction
from ilr_dynamics.inspection.joint_fit import joint_fits
from ilr_dynamics.inspection.load_findings import load_findings
from ilr_dynamics.inspection.torque_delay import find_delay
from ilr_dynamics.inspection.torque_hypotheses import Hypothesis, best_hypothesis
from ilr_dynamics.learning.plausibility import MOST
from ilr_dynamics.recording.topic_series import BLOCK

__all__ = ["torque_findings"]

Measured = NDArray[np.floating]

# Nats by which a mistake must explain the torques better than none to be worth a warning, and to
# refuse a recording. More than a hundred are compared, of which the best has five by chance, and
# ten where errors of the model last twice as long as is assumed: twice that, and four times.
CLEAR, CERTAIN = 20.0, 40.0
# By this factor a joint's torque must be explained better.
BETTER = 1.5
# Share of states at a torque limit that is no accident.
SATURATED = 0.005
# A delay that is so much longer than the expected one, s, is another: drivers keep theirs to a
# third of a period at 500 Hz. What slow buses and filters do adds to it; shorter it is by half a
# period where a driver does not hold a command, or moves a simulated arm by steps.
LATE, EARLY = 0.0006, 0.001
# Standard deviations from which on nothing is said about a delay that is as expected, and about
# another, s: it is said to half a millisecond, with two and a half of them, or with two, as many
# more recordings have the expected one; and how many of them are no chance.
VAGUE, VAGUE_BUT_LATE, UNUSUAL = 0.0002, 0.00025, 3.0
# Of a torque's mean square, what a mistake may leave to be named: gears that are not round and
# friction that depends on the load leave some hundredths. Where motion and torque do not belong
# together, the best of all mistakes is one that makes torques count less.
LEFT = 0.1
# Share of a moving joint's torque that motion, weight and friction together explain at least.
RELATED = 0.4
IN_NM = "convert to Nm in the driver: motor currents and percent are no torques"
# Mistakes that leave nothing of a torque to ask further questions about, and what is said of them:
# of their joints, or unit.
EXCHANGED = {
    "wrong_sign": (
        "the torque of {joints} fits its motion with the other sign alone",
        "compare the joint's direction in driver and description",
    ),
    "permuted_joints": (
        "the values of {joints} fit each other's names",
        "compare the order of names and values in the driver",
    ),
    "effort_scale": ("the torques fit the described arm in units of {unit}", IN_NM),
    "position_scale": (
        "the torques fit the described arm if the positions of {joints} are in {unit}",
        "compare unit, encoder counts and gear ratio in driver and description",
    ),
    "position_offset": (
        "the torques fit the described arm if the positions of {joints} are {value:.2f} rad more",
        "home the joint again, or compare its zero in driver and description",
    ),
}


def torque_findings(evidence: Evidence, torque_limit: FloatArray | None) -> Iterator[Finding]:
    """
    Say what is wrong with the torques.

    Parameters
    ----------
    evidence : Evidence
    torque_limit : ndarray of shape (n_joints,) or None
        Nm.
    """
    yield from _saturation(evidence, torque_limit)
    impossible = list(constant_torques(evidence))
    impossible += _beyond(evidence, torque_limit)
    if impossible or evidence.terms is None:
        yield from _exchanged_if_so(evidence, torque_limit) or impossible
        return
    fits = joint_fits(evidence)
    delay, spread = find_delay(evidence, fits)
    unusual = _is_unusual(evidence, delay, spread)
    clear = spread < (VAGUE_BUT_LATE if unusual else VAGUE)
    likely = delay if clear or unusual else evidence.expected_delay
    best, described = best_hypothesis(evidence, likely, torque_limit)
    explained = _is_explained(best, described)
    left = _left(evidence, best, likely)
    if explained and best.kind in EXCHANGED and left.max() >= LEFT:
        yield _not_as_described(evidence, best, left)
    elif explained and best.kind in EXCHANGED:
        certain = described.score - best.score > CERTAIN
        finding = _exchanged(evidence, best, described)
        yield finding if certain else replace(finding, severity=Severity.WARNING)
    else:
        loads = list(load_findings(evidence, fits, likely))
        yield from loads
        if not loads:
            yield from offset_findings(evidence, fits, likely)
        if clear or unusual:
            yield _delay(evidence, delay, spread, unusual, exact=clear)
    yield from unknown_parameters(evidence)
    yield from _friction(evidence, best if explained else described)


def _is_explained(best: Hypothesis, described: Hypothesis) -> bool:
    """Whether a mistake explains the torques so much better that it is no chance."""
    better = (described.error / np.maximum(best.error, 1e-9)).max()
    # Of the many offsets that are tried one may fit by chance.
    clear_enough = CERTAIN if best.kind == "position_offset" else CLEAR
    return bool(described.score - best.score > clear_enough and better > BETTER)


def _exchanged_if_so(evidence: Evidence, torque_limit: FloatArray | None) -> list[Finding]:
    """
    Say that joints have each other's names, where torques cannot be those of the joints.

    Under a weak joint's name a strong one's torque is beyond the limit, and the weak one's nearly
    nothing under the strong one's.
    """
    if evidence.terms is None:
        return []
    delay = evidence.expected_delay
    best, described = best_hypothesis(evidence, delay, torque_limit)
    exchanged = best.kind == "permuted_joints" and _is_explained(best, described)
    if not exchanged or _left(evidence, best, delay).max() >= LEFT:
        return []
    return [_exchanged(evidence, best, described)]


def _saturation(evidence: Evidence, limit: FloatArray | None) -> Iterator[Finding]:
    if limit is None:
        return
    torque = evidence.recording.torque
    at = np.empty(torque.shape, dtype=bool)
    for rows in _blocks(torque):
        at[rows] = np.abs(torque[rows]) >= 0.999 * limit
    for j in np.flatnonzero(_flat_tops(torque) & ~at.any(axis=0)):
        level = float(np.abs(torque[:, j]).max())
        yield Finding(
            "saturation",
            Severity.WARNING,
            f"the torque of {evidence.joints[j]} stays at {level:.4g} Nm, its largest value, in "
            f"{np.mean(np.abs(torque[:, j]) >= level):.1%} of the states: something limits it",
            "say the limits that the driver really has (limits.torque)",
            joint=evidence.joints[j],
            value=level,
            unit="Nm",
        )
    for j in np.flatnonzero(at.any(axis=0)):
        share = float(at[:, j].mean())
        times = evidence.recording.time[at[:, j]]
        yield Finding(
            "saturation",
            Severity.WARNING if share > SATURATED else Severity.INFO,
            f"the torque of {evidence.joints[j]} is at its limit of {limit[j]:g} Nm or beyond in "
            f"{share:.1%} of the states; these are not learned from",
            "move more slowly, or say the limits that the driver really has (limits.torque)",
            joint=evidence.joints[j],
            from_s=float(times[0]),
            to_s=float(times[-1]),
            value=share,
        )


def _flat_tops(torque: Measured) -> BoolArray:
    """Whether each joint's torque is at its largest value far more often than near it."""
    top = np.maximum(torque.max(axis=0), -torque.min(axis=0))
    at = _share(torque, top)
    near = _share(torque, 0.98 * top) - at
    return np.asarray((top > 0.0) & (at > SATURATED) & (at > 2.0 * near) & (at < 1.0))


def _share(torque: Measured, level: Measured) -> FloatArray:
    """Share of the states in which each joint's torque is at a level or beyond, (n_joints,)."""
    counts = [np.count_nonzero(np.abs(torque[r]) >= level, axis=0) for r in _blocks(torque)]
    return np.asarray(np.sum(counts, axis=0) / len(torque))


def _blocks(torque: Measured) -> Iterator[slice]:
    """Rows that are looked at a time: of an hour all together take as much memory again."""
    return (slice(start, start + BLOCK) for start in range(0, len(torque), BLOCK))


def _beyond(evidence: Evidence, limit: FloatArray | None) -> Iterator[Finding]:
    """Say that most torques are larger than the drives can give."""
    if limit is None:
        return
    recorded = evidence.recording.torque
    beyond = [
        (np.abs(recorded[rows]) >= limit.astype(recorded.dtype)).any(axis=1)
        for rows in _blocks(recorded)
    ]
    if np.concatenate(beyond).mean() <= MOST:
        return
    largest = float((np.maximum(recorded.max(axis=0), -recorded.min(axis=0)) / limit).max())
    yield Finding(
        "effort_scale",
        Severity.ERROR,
        f"most torques are beyond their limits, up to {largest:.3g} times",
        IN_NM,
        value=largest,
    )


def _exchanged(evidence: Evidence, best: Hypothesis, described: Hypothesis) -> Finding:
    names = join_names([evidence.joints[j] for j in best.joints])
    text, advice = EXCHANGED[best.kind]
    value = float(best.values[0]) if best.kind == "position_offset" else None
    return Finding(
        best.kind,
        Severity.ERROR,
        text.format(joints=names or "all joints", unit=best.unit, value=value or 0.0),
        advice,
        joint=names,
        value=value,
        unit="" if value is None else "rad",
        probability=1.0 - float(np.exp(-min(described.score - best.score, 700.0))),
    )


def _left(evidence: Evidence, best: Hypothesis, delay: float) -> FloatArray:
    """Share of the mean square that a mistake leaves of each torque it is about, (n_joints,)."""
    torque, known = evidence.torque(delay)
    size = np.mean(torque[known] ** 2, axis=0)
    left = best.error**2 / np.maximum(size, 1e-300)
    about = np.isin(np.arange(len(left)), best.joints or np.arange(len(left)))
    return np.where(about, left, 0.0)


def _not_as_described(evidence: Evidence, best: Hypothesis, left: FloatArray) -> Finding:
    joint = evidence.joints[int(np.argmax(left))]
    return Finding(
        "unrelated_torque",
        Severity.WARNING,
        f"the torques do not follow the described arm: no single mistake explains them; the best, "
        f"{best.kind}, leaves {left.max():.0%} of the torque of {joint} (mean square); expected "
        f"{LEFT:.0%} at most",
        "look for positions that are repeated or filtered, for several mistakes at once, and for "
        "another arm than the described",
        joint=joint,
        value=float(1.0 - left.max()),
    )


def _is_unusual(evidence: Evidence, delay: float, spread: float) -> bool:
    """Whether a delay is another than the expected one: the vaguer, the more it has to differ."""
    late = delay - evidence.expected_delay
    many = UNUSUAL * max(spread / VAGUE_BUT_LATE, 1.0)
    return abs(late) > max(LATE if late > 0.0 else EARLY, many * spread)


def _delay(
    evidence: Evidence, delay: float, spread: float, unusual: bool, *, exact: bool
) -> Finding:
    said = f"{1e3 * delay:.2f} +- {1e3 * spread:.2f}"
    if not exact:
        said = f"about {1e3 * delay:.0f} (+- {1e3 * spread:.1f})"
    return Finding(
        "torque_delay",
        Severity.WARNING if unusual else Severity.INFO,
        f"torques act {said} ms after the state they are stamped with; "
        f"{1e3 * evidence.expected_delay:.1f} ms are learned with",
        "look for a slow bus or a filter in the driver; if its efforts are measured, "
        "learning.command_topic: '' learns from these"
        if unusual
        else "",
        value=1e3 * delay if exact else None,
        unit="ms" if exact else "",
    )


def _friction(evidence: Evidence, hypothesis: Hypothesis) -> Iterator[Finding]:
    """Say how much of each slipping joint's torque is explained, and how much is dry."""
    assert evidence.terms is not None
    torque, known = evidence.torque(evidence.expected_delay)
    described = evidence.described
    own = evidence.friction(evidence.samples.X[evidence.rows])
    for j, joint in enumerate(evidence.joints):
        rows = known & evidence.slipping[:, j]
        if np.count_nonzero(rows) < ENOUGH_ROWS:
            continue
        whole = float(np.sqrt(np.mean(torque[rows, j] ** 2)))
        explained = 1.0 - (hypothesis.error[j] / max(whole, 1e-12)) ** 2
        if explained < RELATED:
            yield Finding(
                "unrelated_torque",
                Severity.WARNING,
                f"motion, weight and friction explain {max(explained, 0.0):.0%} of the torque of "
                f"{joint}; expected {RELATED:.0%} at least",
                "is it the torque of this joint, in Nm, and of this time?",
                joint=joint,
                value=max(explained, 0.0),
            )
        left = torque[rows, j] - described[rows, j]
        values, _ = fit_friction(left, own[rows, j])
        dry = float(np.sqrt(np.mean((own[rows, j, :2] @ values[:2]) ** 2)))
        yield Finding(
            "static_friction",
            Severity.INFO,
            f"dry friction is {dry:.2g} of the {whole:.2g} Nm that {joint} takes while it slips",
            joint=joint,
            value=dry / max(whole, 1e-12),
        )
