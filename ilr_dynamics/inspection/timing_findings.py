# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Findings on stamps: rate, gaps, clocks, and states that are of no use."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ilr_dynamics.arrays import BoolArray, IndexArray
from ilr_dynamics.inspection.finding import Finding, Severity, join_names
from ilr_dynamics.recording import Recording, SampleSettings
from ilr_dynamics.recording.guided_states import HAND_S
from ilr_dynamics.recording.joint_state import NANOSECONDS
from ilr_dynamics.recording.rejection_texts import advice_on, explain
from ilr_dynamics.recording.stamp_order import long_steps, short_steps

__all__ = ["position_findings", "timing_findings"]

# Of the states, or of what smoothing loses beside gaps: more is worth a look at the recorder.
LOST = 0.01
# No single gap of a recorder that keeps up is as long, s.
LONG_GAP = 0.5
# Jitter of stamps as a share of the period, from which on it is said that they are irregular.
IRREGULAR = 0.2
# A step is a jump if it is so many times as long as the longest of so many before and after it:
# an arm that is accelerated at its most needs longer; and longer than encoders jitter by, rad.
BEYOND, NEIGHBOURS, LEAST_JUMP = 4.0, 5, 0.01
# Times at which the clock was set, that are told.
MOST_STEPS = 10
# Topics that are told.
MOST_TOPICS = 3
# Reasons that have findings of their own; that there is no command is no fault, or one of gaps.
TOLD_ELSEWHERE = {"wrong_stamp", "position_jump", "guided"}
NO_FAULT = {"no_torque"}
# Share of the states without a command, from which on its stamps may be of another clock.
MOST = 0.5
# Share of missing states from which on stamps may be in another unit, and what the nanoseconds of
# all stamps are below then.
ABSENT = 0.9
UNITS = {1_000: "milliseconds", 1_000_000: "microseconds"}


def timing_findings(recording: Recording, settings: SampleSettings) -> Iterator[Finding]:
    """
    Say how regular the states are, and which are missing or wrong.

    Parameters
    ----------
    recording : Recording
        As it was read.
    settings : SampleSettings
        Gap and filter of the samples.
    """
    yield _rate(recording)
    yield from _gaps(recording, settings)
    yield from _clock(recording)
    yield from _guided(recording)
    yield from _unread_reports(recording)
    yield from _rejected(recording)


def _rejected(recording: Recording) -> Iterator[Finding]:
    n = len(recording.stamp) + sum(recording.rejected.values())
    for reason, count in recording.rejected.items():
        if reason in TOLD_ELSEWHERE:
            continue
        is_fault = count > LOST * n and reason not in NO_FAULT
        # States without a command are in every recording, and most of them in none.
        advice = advice_on(reason) if is_fault or count > MOST * n else ""
        cause = explain(reason, recording.not_finite)
        yield Finding(
            "rejected_states",
            Severity.WARNING if is_fault else Severity.INFO,
            f"{count} of {n} states are of no use: {reason}" + (f" ({cause})" if cause else ""),
            advice or "the documentation says under Troubleshooting what the reason means",
            value=count / n,
        )


def _rate(recording: Recording) -> Finding:
    off = short_steps(recording.stamp)
    off -= round(recording.period * NANOSECONDS)
    jitter = float(np.median(np.abs(off, out=off), overwrite_input=True))
    jitter /= recording.period * NANOSECONDS
    return Finding(
        "rate",
        Severity.INFO,
        f"{1.0 / recording.period:.4g} states a second over {recording.time[-1]:.1f} s; half of "
        f"the steps are within {jitter:.1%} of the period"
        + (", which is irregular" if jitter > IRREGULAR else ""),
        value=1.0 / recording.period,
        unit="Hz",
    )


def _gaps(recording: Recording, settings: SampleSettings) -> Iterator[Finding]:
    # Those over which a state may be missing.
    rows = long_steps(recording.stamp, recording.period * NANOSECONDS)
    rows = rows[~_over_guided(recording, rows)]
    step = recording.time[rows + 1] - recording.time[rows]
    gaps = rows[step > settings.max_gap * recording.period] + 1
    missing = int(np.round(step / recording.period - 1.0).sum())
    if not missing:
        return
    of_gap = np.isin(rows + 1, np.setdiff1d(gaps, recording.breaks))
    gaps = rows[of_gap] + 1
    expected = missing + len(recording.stamp)
    lost = (missing + len(gaps) * settings.filter_window / recording.period) / expected
    longest = float(step[of_gap].max()) if gaps.size else float(step.max())
    bad = lost > LOST or longest > LONG_GAP
    unit = _unit_of_stamps(recording) if missing > ABSENT * expected else ""
    at = int(rows[np.argmax(step)])
    yield Finding(
        "dropouts",
        Severity.WARNING if bad else Severity.INFO,
        f"some {missing} of {expected} states are missing, in {gaps.size} gaps; the longest lasts "
        f"{longest:.3g} s{unit and f': the nanosec field of the stamps holds {unit}'}",
        "let the driver give nanoseconds in header.stamp.nanosec"
        if unit
        else "record on the machine that publishes, without other topics"
        if bad
        else "",
        from_s=float(recording.time[at]),
        to_s=float(recording.time[at + 1]),
        value=missing / expected,
    )


def _over_guided(recording: Recording, rows: IndexArray) -> BoolArray:
    """Whether states were left out between each of these rows and the next as they were guided."""
    begins = np.array([first for first, _ in recording.guided], dtype=np.int64)
    at = np.searchsorted(begins, recording.stamp[rows], side="right")
    return at < np.searchsorted(begins, recording.stamp[rows + 1], side="left")


def _guided(recording: Recording) -> Iterator[Finding]:
    if not recording.guided:
        return
    start = recording.stamp[0]
    times = np.array([[a - start, b - start] for a, b in recording.guided]) / NANOSECONDS
    left_out = float(np.sum(times[:, 1] - times[:, 0] + recording.period))
    whole = max(times.max(), recording.time[-1]) - min(times.min(), 0.0) + recording.period
    n = len(times)
    yield Finding(
        "guided",
        Severity.WARNING,
        f"{left_out:.1f} of {whole:.1f} s are left out, in {n} stretch{'es' if n > 1 else ''}: a "
        "person guided the arm, and the force of the hand is in no topic "
        f"({HAND_S:g} s before and after are left out too)",
        "nothing, if there is enough besides; learn from motions that the controller made",
        from_s=float(times.min()),
        to_s=float(times.max()),
        value=left_out,
        unit="s",
    )


def _unread_reports(recording: Recording) -> Iterator[Finding]:
    topics = recording.unread_reports
    if not topics:
        return
    shown = list(topics[:MOST_TOPICS])
    if len(topics) > len(shown):
        shown.append(f"{len(topics) - len(shown)} more")
    yield Finding(
        "unread_reports",
        Severity.WARNING,
        f"the reports of a controller are on {join_names(shown)}, and not where "
        "learning.controller_state_topic says: what a person guided is learned from like all else",
        "name this arm's topic by learning.controller_state_topic (--controller-state); leave "
        "that empty if nothing was guided",
        value=float(len(topics)),
    )


def _unit_of_stamps(recording: Recording) -> str:
    """Unit of the fractions of a second in the stamps, if it is not ns."""
    largest = int((recording.stamp % NANOSECONDS).max())
    return next((unit for end, unit in UNITS.items() if largest < end), "")


def _clock(recording: Recording) -> Iterator[Finding]:
    times = [float(recording.time[row]) for row in recording.breaks]
    if times:
        shown = [f"{at:.3f}" for at in times[:MOST_STEPS]]
        if len(times) > len(shown):
            shown = [*shown[:-1], f"{len(times) - len(shown) + 1} times more"]
        yield Finding(
            "clock_set_back",
            Severity.WARNING,
            f"the clock of the states was set (back, or ahead by more than a day) at "
            f"{join_names(shown)} s; what follows is learned from as a stretch of its own",
            "let a time service slew the clock of the robot's computer before the driver starts, "
            "not step it"
            + ("; or are there two clocks that stamp in turns?" if len(times) > 1 else ""),
            from_s=times[0],
            to_s=times[-1],
            value=float(len(times)),
        )
    wrong = recording.rejected.get("wrong_stamp", 0)
    if wrong:
        yield Finding(
            "wrong_stamp",
            Severity.WARNING,
            f"{wrong} states have stamps of another time than those before and after them; they "
            "are left out",
            "look at the driver: it stamps before its clock is set, or from another clock",
            value=float(wrong),
        )


def position_findings(recording: Recording, n_clock_steps: int) -> Iterator[Finding]:
    """
    Say where positions jump.

    Parameters
    ----------
    recording : Recording
        Without its jumps (`without_jumps`).
    n_clock_steps : int
        How many of its breaks were there before.
    """
    jumped = recording.rejected.get("position_jump", 0)
    n_anew = len(recording.breaks) - n_clock_steps
    if jumped or n_anew:
        at = float(recording.time[recording.breaks[0]]) if n_anew else None
        joints = _jumping_joints(recording)
        of = f" of {', '.join(joints)}" if joints else ""
        parts = []
        if jumped:
            parts.append(
                f"{jumped} states are farther from the motion before and after them than an arm "
                "gets in the time, and are left out"
            )
        if n_anew:
            parts.append(f"the positions{of} go on elsewhere, {n_anew} times")
        yield Finding(
            "position_jump",
            Severity.WARNING,
            "; ".join(parts),
            "look for a second publisher of the topic (ros2 topic info -v), a joint that wraps "
            "(learning.continuous_joints), or a bad encoder",
            joint=joints[0] if len(joints) == 1 else "",
            from_s=at,
            to_s=at,
            value=float(jumped + n_anew),
        )
    for joint, count in recording.wraps.items():
        yield Finding(
            "wrapped_position",
            Severity.INFO,
            f"the position of {joint} jumped by a whole turn {count} times and was unwrapped",
            joint=joint,
            value=float(count),
        )


def _jumping_joints(recording: Recording) -> list[str]:
    """Joints whose positions go on elsewhere where the positions begin anew."""
    position, jumps = recording.position, np.zeros(recording.position.shape[1], dtype=bool)
    for row in recording.breaks:
        first, last = max(row - NEIGHBOURS - 1, 0), row + NEIGHBOURS
        steps = np.abs(np.diff(position[first:last], axis=0))
        step = np.abs(position[row] - position[row - 1])
        at = row - 1 - first
        usual = np.delete(steps, at, axis=0).max(axis=0, initial=0.0)
        jumps |= step > LEAST_JUMP + BEYOND * usual
    return [name for name, jumped in zip(recording.joint_names, jumps, strict=True) if jumped]
