# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""HTML report of inspected recordings, with findings, tables and pictures."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.cli.findings_table import count_findings, stretch_of_time
from ilr_dynamics.cli.html_report import HtmlReport, Mark, Tone
from ilr_dynamics.cli.inspection_figures import (
    draw_positions,
    draw_residual,
    draw_spectrum,
    draw_torque_scatter,
    draw_torques,
    draw_velocities,
)
from ilr_dynamics.cli.shown_text import printable, shortened, shown_name, shown_path
from ilr_dynamics.inspection import Finding, Inspection, Severity
from ilr_dynamics.recording import Recording, SampleSettings, describe_rejections

__all__ = ["write_inspection_report"]

TITLE = "Inspection of recordings"
TONES = {Severity.INFO: Tone.NOTE, Severity.WARNING: Tone.WARNING, Severity.ERROR: Tone.ERROR}
# Smallest range of a joint that counts as moved, rad: with less it shows one posture's weight.
MIN_RANGE = SampleSettings().minimum_range
# Largest size of the report, so that a phone opens it at once, and room for one recording's
# pictures, bytes. The pictures of seven joints take half a million.
MAX_BYTES, PICTURES = 3_000_000, 900_000
# Longest untrusted texts that are shown, in characters, and largest number of findings.
LONGEST_TEXT, MAX_FINDINGS = 1000, 100
UNKNOWN = "-"


def write_inspection_report(
    path: str | os.PathLike[str], inspections: Sequence[Inspection]
) -> None:
    """
    Write the findings in recordings to one HTML file, of at most 3 MB for usual names.

    Parameters
    ----------
    path : str or path-like
        File to create, or earlier report to replace, atomically.
    inspections : sequence of Inspection
        Inspections, one for each recording. If there are too many for the size, the last ones are
        shown without pictures.

    Raises
    ------
    FileAccessError
        If the file cannot be written, or is no earlier report.
    """
    report = HtmlReport(TITLE)
    _summarise(report, inspections)
    for inspection in inspections:
        report.heading(shown_path(inspection.uri))
        report.paragraph(*_verdict(inspection))
        _show_findings(report, inspection)
        _show_recording(report, inspection)
    report.write(path)


def _summarise(report: HtmlReport, inspections: Sequence[Inspection]) -> None:
    counts = Counter(_worst(inspection) for inspection in inspections)
    bad = counts[Severity.ERROR]
    if bad:
        report.paragraph(
            f"{_recordings(bad)} of {len(inspections)} not fit for learning.", Tone.ERROR
        )
    if counts[Severity.WARNING]:
        text = f"{_recordings(counts[Severity.WARNING])} of {len(inspections)} with warnings."
        report.paragraph(text, Tone.WARNING)
    if counts[Severity.INFO]:
        text = f"{_recordings(counts[Severity.INFO])} of {len(inspections)} with nothing wrong."
        report.paragraph(text, Tone.GOOD)
    report.table(
        ["recording", "found", "duration", "rate", "joints that moved"],
        [_summary(inspection) for inspection in inspections],
        "recordings",
    )


def _recordings(count: int) -> str:
    return f"{count} recording{'s' if count != 1 else ''}"


def _summary(inspection: Inspection) -> list[object]:
    worst, recording = _worst(inspection), inspection.recording
    tone = Tone.GOOD if worst is Severity.INFO else TONES[worst]
    found: list[object] = [shown_path(inspection.uri), Mark(count_findings(inspection), tone)]
    if recording is None:
        return [*found, UNKNOWN, UNKNOWN, UNKNOWN]
    return [*found, _duration(recording), f"{1.0 / recording.period:.4g} Hz", _moved(recording)]


def _verdict(inspection: Inspection) -> tuple[str, Tone]:
    if inspection.recording is None:
        return "It cannot be read.", Tone.ERROR
    worst = _worst(inspection)
    if worst is Severity.ERROR:
        return "It is not fit for learning before the errors are fixed.", Tone.ERROR
    if worst is Severity.WARNING:
        return "It can be used for learning. Look at the warnings first.", Tone.WARNING
    return "It can be used for learning.", Tone.GOOD


def _show_findings(report: HtmlReport, inspection: Inspection) -> None:
    if not inspection.findings:
        report.paragraph("There are no findings.")
        return
    report.table(
        ["severity", "kind", "joint", "when", "what was found", "what to do"],
        [_finding_row(finding) for finding in inspection.findings[:MAX_FINDINGS]],
        "findings",
    )
    if len(inspection.findings) > MAX_FINDINGS:
        report.paragraph(f"{len(inspection.findings) - MAX_FINDINGS} more are not shown.")


def _finding_row(finding: Finding) -> list[object]:
    return [
        Mark(str(finding.severity), TONES[finding.severity]),
        finding.kind,
        shown_name(finding.joint) or "all",
        stretch_of_time(finding) or "throughout",
        shortened(printable(finding.text), LONGEST_TEXT),
        shortened(printable(finding.advice), LONGEST_TEXT),
    ]


def _show_recording(report: HtmlReport, inspection: Inspection) -> None:
    recording, samples = inspection.recording, inspection.samples
    if recording is None:
        report.paragraph("There are no pictures, as it cannot be read.")
        return
    n_states = len(recording.stamp)
    rejected = recording.rejected if samples is None else samples.rejected
    report.paragraph(
        f"{_duration(recording)}, {n_states} usable states, 1 every {1e3 * recording.period:.3g} "
        f"ms; {0 if samples is None else samples.n_used} samples to learn from "
        f"({describe_rejections(rejected)})."
    )
    report.heading("Joints", 3)
    report.table(
        [
            "joint",
            "from [rad]",
            "to [rad]",
            "of its range",
            "fastest [rad/s]",
            "of its limit",
            "largest torque [Nm]",
            "of its limit",
        ],
        [_joint_row(inspection, recording, j) for j in range(len(recording.joint_names))],
        "joints",
    )
    report.heading("Pictures", 3)
    if report.n_bytes > MAX_BYTES - PICTURES:
        report.paragraph(
            "They are left out, as the file would become too large: inspect it alone."
        )
        return
    # Neither extreme values nor joints without values may make the report fail.
    with np.errstate(all="ignore"):
        _show_pictures(report, inspection, recording)


def _show_pictures(report: HtmlReport, inspection: Inspection, recording: Recording) -> None:
    samples, model_torque = inspection.samples, inspection.model_torque
    shaded = (
        "Green: learned from; red and hatched: rejected; white: no usable states."
        if samples is not None
        else "Red and hatched: rejected, which is all of it; white: no usable states."
    )
    report.picture(
        draw_positions(recording, samples, inspection.position_limits, inspection.findings),
        f"Positions over time. {shaded} At the lower edge, when a warning or an error shows.",
    )
    report.picture(
        draw_torques(recording, samples, model_torque, inspection.torque_limit),
        "Torques over time, as recorded"
        + ("." if model_torque is None else " and as the described rigid bodies need them."),
    )
    if samples is None or model_torque is None:
        reason = "no samples" if samples is None else "no description of the arm"
        report.paragraph(f"There is no comparison of torques with rigid bodies: {reason}.")
    else:
        report.picture(
            draw_torque_scatter(samples, model_torque),
            "Recorded torque against that of the rigid bodies: on the line where they agree.",
        )
        report.picture(
            draw_residual(samples, model_torque),
            "What the rigid bodies do not explain, over position. Two bands: friction. A wave: "
            "weight or a tilted base. A shift: an offset.",
        )
    _show_or_say(
        report,
        draw_velocities(recording, samples, inspection.velocity_limit),
        "How often which velocity occurs, as measured and as the positions change.",
        "There is no picture of velocities: none were measured, and there are no samples.",
    )
    _show_or_say(
        report,
        draw_spectrum(recording),
        "Power spectral density of positions and torques, in shares of each one's power, of the "
        "longest stretch without gaps. Noise is flat, a vibration is a peak.",
        "There is no power spectrum: no stretch without gaps is long enough.",
    )


def _show_or_say(report: HtmlReport, figure: Figure | None, caption: str, missing: str) -> None:
    if figure is None:
        report.paragraph(missing)
    else:
        report.picture(figure, caption)


def _joint_row(inspection: Inspection, recording: Recording, j: int) -> list[object]:
    position, torque = recording.position[:, j], np.abs(recording.torque[:, j]).max()
    low, high = float(position.min()), float(position.max())
    limits, speed = inspection.position_limits, _fastest(inspection, recording, j)
    width = None if limits is None else limits[j, 1] - limits[j, 0]
    return [
        shown_name(recording.joint_names[j]),
        low,
        high,
        _share(high - low, width),
        UNKNOWN if np.isnan(speed) else speed,
        _share(speed, _at(inspection.velocity_limit, j)),
        float(torque),
        _share(torque, _at(inspection.torque_limit, j)),
    ]


def _fastest(inspection: Inspection, recording: Recording, j: int) -> float:
    """Largest speed by the samples, the derivative of the positions; else as measured."""
    velocity = recording.velocity[:, j]
    if inspection.samples is not None:
        velocity = inspection.samples.X[:, len(recording.joint_names) + j]
    return float(np.fmax.reduce(np.abs(velocity)))


def _at(limits: FloatArray | None, j: int) -> float | None:
    return None if limits is None else float(limits[j])


def _share(value: float, limit: float | None) -> str:
    if limit is None or not 0.0 < limit < np.inf or np.isnan(value):
        return UNKNOWN
    return f"{value / limit:.0%}"


def _moved(recording: Recording) -> str:
    moved = np.ptp(recording.position, axis=0) >= MIN_RANGE
    names = [
        shown_name(joint) for joint, yes in zip(recording.joint_names, moved, strict=True) if yes
    ]
    if len(names) == len(moved):
        return "all" if len(names) > 1 else names[0]
    return ", ".join(names) or "none"


def _duration(recording: Recording) -> str:
    seconds = recording.time[-1]
    return f"{seconds:.1f} s" if seconds < 120.0 else f"{seconds / 60.0:.1f} min"


def _worst(inspection: Inspection) -> Severity:
    return inspection.worst if inspection.findings else Severity.INFO
