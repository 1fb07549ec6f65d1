# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Sections of a model's report on its arm: friction, parameters and workspace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.cli.described_arm import NOT_IDENTIFIED
from ilr_dynamics.cli.html_report import HtmlReport, Mark, Tone
from ilr_dynamics.cli.judged_recording import UNKNOWN
from ilr_dynamics.cli.model_figures import View, draw_friction, draw_workspace
from ilr_dynamics.cli.model_findings import ArmFindings, ModelFindings, friction_points
from ilr_dynamics.cli.parameter_findings import (
    PARTLY,
    WELL,
    Known,
    ParameterFinding,
    parameter_changes,
    parameter_findings,
)
from ilr_dynamics.cli.shown_text import printable, shown_name
from ilr_dynamics.cli.workspace_doubt import SURE, UNSURE
from ilr_dynamics.robot.arm_export import ArmExport
from ilr_dynamics.robot.friction_curves import FrictionCurves

__all__ = ["show_arm", "show_parameter_changes", "show_potential"]

TONES = {Known.WELL: Tone.GOOD, Known.PARTLY: Tone.NOTE, Known.HARDLY: Tone.WARNING}
# Rows of a curve that the table of friction shows: slow, middle and fastest.
SHARES = (0.1, 0.5, 1.0)
# Number of changes that are shown at most, and the least, in standard deviations.
MOST_CHANGES, LEAST_CHANGE = 15, 1.0


def show_arm(report: HtmlReport, findings: ModelFindings) -> None:
    """
    Add the sections on friction, identified parameters and workspace.

    Parameters
    ----------
    report : HtmlReport
        Report to add to.
    findings : ModelFindings
        What to show; sections that need what is not there say so.
    """
    report.heading("Friction")
    _show_friction(report, findings)
    report.heading("Identified parameters")
    _show_parameters(report, findings.arm)
    report.heading("Where the model is sure")
    _show_workspace(report, findings)


def _show_friction(report: HtmlReport, findings: ModelFindings) -> None:
    dynamics, curves = findings.judged.dynamics, findings.arm.friction
    if dynamics is None or curves is None:
        report.paragraph(f"The model has identified none: {NOT_IDENTIFIED}.")
        return
    joints = findings.judged.settings.joint_names
    report.picture(
        draw_friction(
            joints,
            curves,
            findings.arm.former_friction,
            friction_points(dynamics, curves, findings.recordings),
        ),
        "Friction of each joint that moves alone, up to the largest speed that was learned, as a "
        "mean over the learned postures. Points: recorded torques less all else that is "
        "identified; they scatter by load, position and what no term describes.",
    )
    report.table(
        ["joint", *(f"at {share:.0%} of the speed [Nm]" for share in SHARES), "speed [rad/s]"],
        [
            [shown_name(joint), *_friction_cells(curves, j), float(curves.speed[-1, j])]
            for j, joint in enumerate(joints)
        ],
        "friction",
    )
    report.paragraph("± one standard deviation of the curve, as the recordings leave it.")


def _friction_cells(curves: FrictionCurves, j: int) -> list[str]:
    speed = curves.speed[:, j]
    return [
        f"{_at(speed, curves.torque[:, j], share):.3g} ± {_at(speed, curves.std[:, j], share):.1g}"
        for share in SHARES
    ]


def _at(speed: FloatArray, values: FloatArray, share: float) -> float:
    return float(np.interp(share * speed[-1], speed, values))


def _show_parameters(report: HtmlReport, arm: ArmFindings) -> None:
    if isinstance(arm.identified, str):
        report.paragraph(f"The model has none to show: {printable(arm.identified)}.")
        return
    found = parameter_findings(arm.identified)
    report.paragraph(
        "Of each joint's body (mass, first moments, inertia) and motor (rotor inertia, viscous "
        "friction): how many parameters the recordings have made known. Well: they have left at "
        f"most {WELL:.0%} of the deviation that there was before, partly: {PARTLY:.0%}. "
        "Recordings show combinations of parameters, so a single one may be hardly known although "
        "the torque is."
    )
    places = dict.fromkeys(one.place for one in found)
    report.table(
        ["joint", *map(str, Known), "farthest from described", "deviations"],
        [_known_row(place, [one for one in found if one.place == place]) for place in places],
        "known parameters",
    )
    report.table(
        ["joint", "parameter", "described", "identified", "±", "unit", "known", "left"],
        [
            [
                shown_name(one.place),
                one.name,
                UNKNOWN if one.described is None else one.described,
                one.identified,
                f"{one.deviation:.2g}",
                one.unit,
                Mark(one.known, TONES[one.known]),
                f"{one.left:.0%}",
            ]
            for one in found
        ],
        "identified parameters",
        folded=f"All {len(found)} parameters",
    )
    show_potential(report, arm.identified)
    report.paragraph(
        "Bodies are those that can exist, as the program export writes them; moments and inertias "
        "are about the origin of the joint's frame; ± is one standard deviation."
    )


def _known_row(place: str, found: Sequence[ParameterFinding]) -> list[object]:
    counts = Counter(one.known for one in found)
    described = [one for one in found if one.described is not None]
    row: list[object] = [shown_name(place), *(counts[known] for known in Known)]
    if not described:
        return [*row, UNKNOWN, UNKNOWN]
    farthest = max(described, key=lambda one: abs(one.away))
    return [*row, farthest.name, f"{farthest.away:+.1f}"]


def _show_workspace(report: HtmlReport, findings: ModelFindings) -> None:
    arm = findings.arm
    found, recorded, description = arm.workspace, arm.recorded, arm.description
    if isinstance(description, str) or found is None or recorded is None:
        report.paragraph(f"This needs the arm's description: {printable(description)}.")
        return
    report.paragraph(
        "Doubt is the standard deviation of the expected torque, noise left out, of the joint "
        "where it is the largest share of the torque limit. At rest, in "
        f"{len(found.posture)} postures drawn evenly from the joint limits, it is below "
        f"{SURE:.0%} in {np.mean(found.relative < SURE):.0%} and above {UNSURE:.0%} in "
        f"{np.mean(found.relative > UNSURE):.0%}; in half of the recorded postures it is below "
        f"{np.median(recorded.relative):.2%}. Record where it is dark and the arm has to go."
    )
    for view in View:
        report.picture(
            draw_workspace(found, recorded, view),
            f"Doubt by the place of the tool point, {view.value}: the median of the postures in "
            "each field, and points for the recorded postures.",
            shades=True,
        )
    report.table(
        [
            "joint",
            "median doubt [Nm]",
            "of its limit",
            "95% of postures [Nm]",
            "where recorded [Nm]",
            "limits [rad]",
            "recorded [rad]",
        ],
        [
            [
                shown_name(joint),
                float(np.median(found.doubt[:, j])),
                f"{np.median(found.doubt[:, j]) / found.limit[j]:.1%}",
                float(np.quantile(found.doubt[:, j], 0.95)),
                float(np.median(recorded.doubt[:, j])),
                _range(description.position_lower[j], description.position_upper[j]),
                _range(recorded.posture[:, j].min(), recorded.posture[:, j].max()),
            ]
            for j, joint in enumerate(findings.judged.settings.joint_names)
        ],
        "doubt of the joints",
    )


def _range(low: float, high: float) -> str:
    return f"{low:.2f} to {high:.2f}"


def show_potential(report: HtmlReport, identified: ArmExport) -> None:
    """Say what else pulls at the arm, if the torques tell of it."""
    if not len(identified.dynamics.frequencies):
        return
    torque = identified.potential_torque(identified.dynamics.representatives.X)
    sizes, names = np.sqrt(np.mean(torque**2, axis=0)), identified.description.joint_names
    of_joints = zip(names, sizes, strict=True)
    joints = ", ".join(f"{shown_name(name)} {size:.2g} Nm" for name, size in of_joints)
    report.paragraph(
        "Something pulls at the arm of which its description does not tell, as a hose, a cable or "
        f"a spring does, with a torque (rms over the recorded postures) of {joints}."
    )


def show_parameter_changes(report: HtmlReport, findings: ModelFindings) -> None:
    """
    Add what the model has identified otherwise than the earlier one.

    Parameters
    ----------
    report : HtmlReport
        Report to add to.
    findings : ModelFindings
        What to show.
    """
    arm = findings.arm
    if isinstance(arm.identified, str) or isinstance(arm.former, str):
        reason = arm.identified if isinstance(arm.identified, str) else arm.former
        report.paragraph(f"Parameters are not compared: {printable(reason)}.")
        return
    changes = [
        change
        for change in parameter_changes(arm.identified, arm.former)[:MOST_CHANGES]
        if abs(change.size) > LEAST_CHANGE
    ]
    if not changes:
        report.paragraph(
            "No parameter of the arm changed by more than the standard deviation that it had."
        )
        return
    report.paragraph(
        "Parameters that changed most, in standard deviations that they had before: more than "
        "three say that the arm has changed, or that one of the models is too sure."
    )
    report.table(
        ["joint", "parameter", "before", "±", "now", "±", "unit", "change"],
        [
            [
                shown_name(change.now.place),
                change.now.name,
                change.before.identified,
                f"{change.before.deviation:.2g}",
                change.now.identified,
                f"{change.now.deviation:.2g}",
                change.now.unit,
                f"{change.size:+.1f}",
            ]
            for change in changes
        ],
        "changed parameters",
    )
