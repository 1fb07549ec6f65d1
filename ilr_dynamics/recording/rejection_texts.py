# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Texts on joint states that are left out: how many, why, and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = ["advice_on", "advise", "describe_rejections", "describe_values", "explain"]

# Joints that a text names, at most.
MAX_SHOWN = 10
# What usually causes a reason, and what to do about it.
CAUSES = {
    "repeated_stamp": (
        "two senders publish the topic with the same stamps, or the driver does not set a stamp "
        "for each state",
        "end one of the senders (ros2 topic info -v names them), or let the driver set "
        "header.stamp to when each state was measured",
    ),
    "no_torque": (
        "no command has their stamp",
        "a command's stamp must be that of the state it answers; learning.command_topic: '' "
        "learns from the efforts of the states instead",
    ),
    "guided": (
        "a person guided the arm, and the force of the hand is in no topic",
        "learn from motions that the controller made",
    ),
    "not_finite": (
        "values are infinite or not numbers",
        "let the driver leave a field empty that it does not measure",
    ),
}
NO_STAMPS = "all stamps are zero: the driver does not set header.stamp"


def describe_rejections(rejected: Mapping[str, int]) -> str:
    """Return a phrase for messages with the number of rejected samples by reason."""
    if not rejected:
        return "none rejected"
    return "rejected: " + ", ".join(f"{count} {reason}" for reason, count in rejected.items())


def describe_values(not_finite: Mapping[str, int]) -> str:
    """Return a phrase with the number of values that are no numbers, by field and joint."""
    worst = sorted(not_finite.items(), key=lambda item: -item[1])
    shown = [f"{count} times the {name}" for name, count in worst[:MAX_SHOWN]]
    more = len(worst) - len(shown)
    return ", ".join([*shown, *([f"and {more} others"] if more else [])])


def explain(reason: str, not_finite: Mapping[str, int]) -> str:
    """Return what usually causes a reason for rejection; empty if only the documentation says."""
    if reason == "not_finite" and not_finite:
        return f"{CAUSES[reason][0]}, {describe_values(not_finite)}"
    return CAUSES[reason][0] if reason in CAUSES else ""


def advice_on(reason: str) -> str:
    """Return what to do about a reason for rejection; empty if only the documentation says."""
    return CAUSES[reason][1] if reason in CAUSES else ""


def advise(
    rejected: Mapping[str, int], not_finite: Mapping[str, int], stamps: Sequence[int] = ()
) -> str:
    """
    Return why most of all states are of no use, and what to do about it.

    Parameters
    ----------
    rejected : mapping of str to int
        Number of joint states that were left out, by reason.
    not_finite : mapping of str to int
        Number of values that are no numbers, by field and joint.
    stamps : sequence of int
        First stamps that are not repeated, ns.

    Returns
    -------
    str
        Empty if only the documentation says it.
    """
    reason = max(rejected, key=lambda name: rejected[name], default="")
    if reason not in CAUSES:
        return ""
    cause, advice = explain(reason, not_finite), advice_on(reason)
    if reason == "repeated_stamp" and len(stamps) and not any(stamps):
        cause = NO_STAMPS
    return f"{cause}; {advice}"
