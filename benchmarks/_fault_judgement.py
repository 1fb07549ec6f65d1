# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Whether what was found in a recording is what is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from _fault import Fault
from _fault_recordings import Recorded

from ilr_dynamics.inspection import Finding, Severity

__all__ = ["alarms", "delay_error", "is_named"]

# Of the delay that is found, ms.
DELAY_TOLERANCE = 0.5
DELAY_KIND = "torque_delay"


def alarms(findings: Sequence[Finding]) -> list[Finding]:
    """Findings above info."""
    return [finding for finding in findings if finding.severity != Severity.INFO]


def is_named(fault: Fault, findings: Sequence[Finding]) -> bool:
    """
    Whether a fault was found: by its kind, above info, and with each joint that it is of.

    One joint is named by the field for it; of two, the text may name the other. A delay that is
    said as a number has to be right within half a millisecond.
    """
    found = [finding for finding in alarms(findings) if finding.kind == fault.kind]
    if fault.kind == DELAY_KIND:
        truth = 1e3 * fault.recorded.delay
        return any(finding.value is None or _is_near(finding, truth) for finding in found)
    words = {word for finding in found for word in _words(finding, len(fault.joints) > 1)}
    return bool(found) and set(fault.joints) <= words


def delay_error(recorded: Recorded, findings: Sequence[Finding]) -> float | None:
    """Error of the delay that is said of a recording, ms; None if none is said."""
    said = [
        finding.value
        for finding in findings
        if finding.kind == DELAY_KIND and finding.value is not None
    ]
    return abs(said[0] - 1e3 * recorded.delay) if said else None


def _is_near(finding: Finding, truth: float) -> bool:
    value = finding.value
    return value is not None and finding.unit == "ms" and abs(value - truth) <= DELAY_TOLERANCE


def _words(finding: Finding, with_text: bool) -> list[str]:
    """Words of what a finding says of joints."""
    return re.findall(r"\w+", f"{finding.joint} {finding.text if with_text else ''}")
