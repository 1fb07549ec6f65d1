# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Findings on torques in visible steps: rounded, or sent far more rarely than states."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ilr_dynamics.arrays import IndexArray
from ilr_dynamics.inspection.evidence import Evidence
from ilr_dynamics.inspection.finding import Finding, Severity, join_names
from ilr_dynamics.inspection.torque_runs import torque_runs, torque_steps

__all__ = ["coarse_torques"]

# Error of rounding to a step, rms, in steps: it is uniform.
ROUNDING = 12.0**-0.5
# Share of a joint's torque (standard deviation) that rounding may take, rms: as little as a model
# that is worth having leaves of it. From the second on it is worth a look.
MUCH, SEEN = 0.1, 0.02


def coarse_torques(evidence: Evidence) -> Iterator[Finding]:
    """
    Say which torques are rounded coarsely, and which are held for long.

    Parameters
    ----------
    evidence : Evidence
    """
    held = np.zeros(len(evidence.joints))
    for j in np.flatnonzero(evidence.moving):
        step, size = torque_steps(evidence.recording, int(j))
        if ROUNDING * step > SEEN * size:
            yield _rounded(evidence.joints[j], step, ROUNDING * step / size)
        elif step > 0.0:
            held[j] = torque_runs(evidence.recording, int(j)).usual * evidence.recording.period
    joints = np.flatnonzero(held > evidence.settings.filter_window)
    if joints.size:
        yield _held(evidence, joints, float(np.median(held[joints])))


def _rounded(joint: str, step: float, share: float) -> Finding:
    return Finding(
        "coarse_torque",
        Severity.WARNING if share > MUCH else Severity.INFO,
        f"the torque of {joint} is in steps of {step:.2g} Nm; rounding is {share:.0%} of it (rms)",
        "let the driver publish its finest torque, unrounded",
        joint=joint,
        value=step,
        unit="Nm",
    )


def _held(evidence: Evidence, joints: IndexArray, lasts: float) -> Finding:
    """Say that values are held for longer than the filter smooths over."""
    names = join_names([evidence.joints[j] for j in joints])
    window = evidence.settings.filter_window
    return Finding(
        "coarse_torque",
        Severity.WARNING,
        f"the torques of {names} are held for {1e3 * lasts:.3g} ms, "
        f"{lasts / evidence.recording.period:.0f} states; expected less than the "
        f"{1e3 * window:.3g} ms that are smoothed over: later states have an old torque",
        "let the driver send its efforts as often as its states, or record the commands",
        joint=names,
        value=1e3 * lasts,
        unit="ms",
    )
