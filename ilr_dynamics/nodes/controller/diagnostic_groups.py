# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Diagnostics of the controller in groups, as rqt_robot_monitor shows them."""

from __future__ import annotations

from collections.abc import Mapping

from diagnostic_msgs.msg import DiagnosticStatus

from ilr_dynamics.nodes.controller.diagnostics import (
    TRUSTED,
    LoopState,
    LoopStatistics,
    input_warnings,
)

__all__ = ["FIT", "JOINT_STATES", "LOOP", "MODEL", "grouped", "joint_state_status", "model_status"]

LOOP, JOINT_STATES, MODEL, FIT = "control loop", "joint states", "learned model", "model fit"

# Beginnings of the names of values; what begins otherwise is the loop's.
_GROUPS = {
    "joint state": JOINT_STATES,
    "last joint state": JOINT_STATES,
    "publishers": JOINT_STATES,
    "largest gap": JOINT_STATES,
    "unusable": JOINT_STATES,
    "rate by stamps": JOINT_STATES,
    "jitter": JOINT_STATES,
    "largest interval": JOINT_STATES,
    "model": MODEL,
    "learner": MODEL,
    "learned": MODEL,
    "gate": MODEL,
    "weight of the unseen": MODEL,
    "predicted std": MODEL,
    "cycles without trust": MODEL,
    "fit ": FIT,
}


def grouped(values: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return the values of diagnostics by group: `LOOP`, `JOINT_STATES`, `MODEL` and `FIT`."""
    groups: dict[str, dict[str, str]] = {LOOP: {}, JOINT_STATES: {}, MODEL: {}, FIT: {}}
    for name, value in values.items():
        group = next((_GROUPS[start] for start in _GROUPS if name.startswith(start)), LOOP)
        groups[group][name] = value
    return groups


def joint_state_status(
    state: LoopState, statistics: LoopStatistics, lag: float | None
) -> tuple[bytes, str]:
    """Return a level of DiagnosticStatus and a text; parameters as in `input_warnings`."""
    if not state.active:
        return DiagnosticStatus.OK, "not active"
    found = list(input_warnings(state, statistics, lag).values())
    if statistics.unusable:
        found.insert(0, f"{statistics.unusable} not answered")
    if not statistics.loop_times:
        found.insert(0, "none")
    level = DiagnosticStatus.WARN if found else DiagnosticStatus.OK
    return level, ", ".join(found) or "answered"


def model_status(state: LoopState, statistics: LoopStatistics, model: str) -> tuple[bytes, str]:
    """Return a level of DiagnosticStatus and a text; ``model`` is its identity, or empty."""
    if state.without_model:
        return DiagnosticStatus.WARN, "no model is loaded"
    if statistics.unsure > TRUSTED * len(statistics.loop_times):
        return DiagnosticStatus.WARN, "not trusted"
    if not model:
        return DiagnosticStatus.OK, "none"
    return DiagnosticStatus.OK, "used" if statistics.gates else "loaded, not used"
