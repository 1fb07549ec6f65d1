# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Findings of a recording as text for a terminal."""

from __future__ import annotations

import textwrap
from collections import Counter

from ilr_dynamics.cli.shown_text import printable, shortened
from ilr_dynamics.inspection import Finding, Inspection, Severity

__all__ = ["count_findings", "format_findings", "stretch_of_time"]

WIDTH = 100
LONGEST_JOINT = 20
GAP = "  "
ADVICE = "-> "
NOTHING = "no findings"


def format_findings(inspection: Inspection) -> str:
    """
    Lay out the findings of a recording: severity, kind, joint, when, text and advice.

    Parameters
    ----------
    inspection : Inspection
        Inspection of one recording.

    Returns
    -------
    str
        The recording with the number of findings, then a block of lines for each finding, at most
        100 characters wide and without a newline at the end.
    """
    title = f"{printable(inspection.uri)}: {count_findings(inspection)}"
    labels = [_labels(finding) for finding in inspection.findings]
    widths = [max(map(len, column)) for column in zip(*labels, strict=True)]
    lines = [title]
    for label, finding in zip(labels, inspection.findings, strict=True):
        # Where no finding has a joint, or a time, its column is left out.
        shown = [text.ljust(width) for text, width in zip(label, widths, strict=True) if width]
        lines += _wrapped(finding, GAP + GAP.join(shown) + GAP)
    return "\n".join(lines)


def count_findings(inspection: Inspection) -> str:
    """Say how many findings of each severity there are, the worst first."""
    counts = Counter(finding.severity for finding in inspection.findings)
    parts = [
        f"{counts[severity]} {severity}{'s' if counts[severity] > 1 else ''}"
        for severity in (Severity.ERROR, Severity.WARNING)
        if counts[severity]
    ]
    if counts[Severity.INFO]:
        parts.append(f"{counts[Severity.INFO]} for information")
    return ", ".join(parts) or NOTHING


def stretch_of_time(finding: Finding) -> str:
    """Say from when to when a finding shows, in seconds; empty where it is all of the time."""
    start, end = finding.from_s, finding.to_s
    if start is None:
        return "" if end is None else f"to {end:.6g} s"
    if end is None:
        return f"from {start:.6g} s"
    first, last = f"{start:.6g}", f"{end:.6g}"
    return f"at {first} s" if first == last else f"{first}-{last} s"


def _labels(finding: Finding) -> tuple[str, str, str, str]:
    joint = shortened(printable(finding.joint), LONGEST_JOINT)
    return str(finding.severity), finding.kind, joint, stretch_of_time(finding)


def _wrapped(finding: Finding, label: str) -> list[str]:
    blank = " " * len(label)
    lines = textwrap.wrap(
        printable(finding.text), WIDTH, initial_indent=label, subsequent_indent=blank
    )
    lines = lines or [label.rstrip()]
    lines += textwrap.wrap(
        printable(finding.advice),
        WIDTH,
        initial_indent=blank + ADVICE,
        subsequent_indent=blank + " " * len(ADVICE),
    )
    return lines
