# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""HTML report of a model: recordings, errors, intervals, what changed; and of tracking."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.cli.arm_report import show_arm, show_parameter_changes
from ilr_dynamics.cli.html_report import HtmlReport, Tone
from ilr_dynamics.cli.judged_recording import (
    COVERAGE,
    UNKNOWN,
    covered,
    error_table,
    errors_of,
)
from ilr_dynamics.cli.model_figures import draw_torques, draw_worst_seconds
from ilr_dynamics.cli.model_findings import (
    LEVELS,
    Judgement,
    ModelFindings,
    coverage,
    described_errors,
)
from ilr_dynamics.cli.shown_text import printable, shown_name, shown_path
from ilr_dynamics.cli.tracking_evaluation import Tracking, tracking_parts
from ilr_dynamics.cli.tracking_figures import (
    draw_gate,
    draw_tracking_errors,
    draw_tracking_torques,
)
from ilr_dynamics.learning.learned_recording import learned_recordings
from ilr_dynamics.recording import describe_rejections

__all__ = ["write_model_report", "write_tracking_report"]

# Shares in 95 % intervals of the joint with the least, and of all, that are as they should be.
LEAST_COVERAGE, LARGEST_COVERAGE = 0.85, 0.99
# Largest size of the report, and room for the pictures of one recording, bytes.
MAX_BYTES, PICTURES = 6_000_000, 900_000


def write_model_report(
    path: str | os.PathLike[str],
    findings: ModelFindings,
    progress: Callable[[float], None] = lambda share: None,
) -> None:
    """
    Write what is found of a model to one HTML file.

    Parameters
    ----------
    path : str or path-like
        File to create, or earlier report to replace, atomically.
    findings : ModelFindings
        What to show. If there are too many recordings for the size, the last ones are shown
        without pictures.
    progress : callable
        Called with the share that is drawn.

    Raises
    ------
    FileAccessError
        If the file cannot be written, or is no earlier report.
    """
    n = len(findings.judgements)
    report = HtmlReport(f"Model {shown_name(Path(findings.judged.path).name)}")
    _summarise(report, findings)
    _show_recordings(report, findings)
    _show_errors(report, findings)
    _show_coverage(report, findings)
    report.heading("Torques, measured and predicted")
    for number, judgement in enumerate(findings.judgements, start=1):
        _show_torques(report, number, judgement)
        progress(0.5 * number / n)
    show_arm(report, findings)
    _show_changes(report, findings)
    report.heading("Tracking")
    for number, judgement in enumerate(findings.judgements, start=1):
        _show_tracking(report, judgement.recording.uri, judgement.tracking)
        progress(0.5 * (n + number) / n)
    report.write(path)


def write_tracking_report(
    path: str | os.PathLike[str], bags: Sequence[str], trackings: Sequence[Tracking]
) -> None:
    """
    Write how well an arm tracked to one HTML file.

    Parameters
    ----------
    path : str or path-like
        File to create, or earlier report to replace, atomically.
    bags : sequence of str
        Recordings.
    trackings : sequence of Tracking
        Reports of the controller in each of them.

    Raises
    ------
    FileAccessError
        If the file cannot be written, or is no earlier report.
    """
    report = HtmlReport("Tracking")
    report.paragraph("Without a model: how well the arm tracked, by the controller's reports.")
    for bag, tracking in zip(bags, trackings, strict=True):
        _show_tracking(report, bag, tracking)
    report.write(path)


def _summarise(report: HtmlReport, findings: ModelFindings) -> None:
    model, recordings = findings.judged.model, findings.recordings
    errors = errors_of(recordings)
    report.paragraph(
        f"{type(model).__name__} of {model.n_outputs_} joints: {model.n_active_} local models "
        f"from {model.n_samples_} samples; "
        + ("dynamics are identified." if findings.judged.dynamics else "no identified dynamics.")
    )
    text = f"Torques are predicted with a root mean square error of {errors.total_rms:.3g} Nm"
    if findings.judged.dynamics is not None:
        described = described_errors(findings.judged.dynamics, recordings)
        text += f"; the described rigid bodies alone are off by {_rms(described):.3g} Nm"
    report.paragraph(f"{text}.")
    _say_coverage(report, covered(recordings), findings.judged.settings.joint_names)
    if all(judgement.learned for judgement in findings.judgements):
        report.paragraph(
            "The model has learned all of these recordings: on others it errs more.", Tone.WARNING
        )


def _say_coverage(report: HtmlReport, shares: FloatArray, joints: Sequence[str]) -> None:
    text = f"{shares.mean():.1%} of the torques lie in their {COVERAGE:.0%} intervals"
    least = int(np.argmin(shares))
    if shares[least] < LEAST_COVERAGE:
        name = shown_name(joints[least])
        text += f", but of {name} only {shares[least]:.1%}: there the model is too sure of itself"
        report.paragraph(f"{text}.", Tone.ERROR)
    elif shares.mean() > LARGEST_COVERAGE:
        text += ": here the model is more careful than it needs to be"
        report.paragraph(f"{text}.", Tone.NOTE)
    else:
        report.paragraph(f"{text}.", Tone.GOOD)


def _show_recordings(report: HtmlReport, findings: ModelFindings) -> None:
    report.heading("Recordings")
    rows: list[list[object]] = []
    for number, judgement in enumerate(findings.judgements, start=1):
        samples = judgement.recording.samples
        errors = errors_of([judgement.recording])
        rows.append(
            [
                number,
                shown_path(judgement.recording.uri),
                "learned" if judgement.learned else "new to the model",
                f"{samples.time[-1]:.1f} s",
                samples.n_used,
                printable(describe_rejections(samples.rejected)),
                errors.total_rms,
            ]
        )
    header = ["no.", "recording", "is", "lasts", "samples", "left out", "rms error [Nm]"]
    report.table(header, rows, "recordings")


def _show_errors(report: HtmlReport, findings: ModelFindings) -> None:
    report.heading("Errors")
    report.paragraph(
        "Root mean square; nMSE is the mean square in units of the torque's variance, so that a "
        "constant torque has 1; the worst second is the one with the largest root mean square."
    )
    header, rows = error_table(findings.recordings)
    extra = _compared(findings)
    report.table(
        [*header, *extra],
        [[*row, *(float(values[k]) for values in extra.values())] for k, row in enumerate(rows)],
        "errors",
    )


def _compared(findings: ModelFindings) -> dict[str, FloatArray]:
    """Root mean square errors of others by their titles, of each joint and of all."""
    others = {}
    if findings.judged.dynamics is not None:
        others["as described [Nm]"] = described_errors(
            findings.judged.dynamics, findings.recordings
        )
    if findings.former_errors is not None:
        others["model before [Nm]"] = findings.former_errors.rms
    return {title: np.append(values, _rms(values)) for title, values in others.items()}


def _show_coverage(report: HtmlReport, findings: ModelFindings) -> None:
    report.heading("Coverage")
    report.paragraph(
        "Share of the measured torques in the intervals that are to hold the share in the title: "
        "more says that the model is too careful, less that it is too sure of itself."
    )
    shares = coverage(findings.judged.model, findings.recordings)
    joints = findings.judged.settings.joint_names
    report.table(
        ["joint", *(f"{level:.0%}" for level in LEVELS)],
        [
            [name, *(f"{share:.1%}" for share in column)]
            for name, column in zip(
                [*map(shown_name, joints), "all"],
                [*shares.T, shares.mean(axis=1)],
                strict=True,
            )
        ],
        "coverage",
    )


def _show_torques(report: HtmlReport, number: int, judgement: Judgement) -> None:
    recording = judgement.recording
    report.heading(f"{number}: {shown_path(recording.uri)}", 3)
    if _is_full(report):
        return
    report.picture(
        draw_torques(recording),
        "Measured and predicted torque over time, and the interval that is to hold "
        f"{COVERAGE:.0%} of the measured ones.",
    )
    worst = errors_of([recording]).worst
    report.picture(
        draw_worst_seconds(recording, worst),
        "Worst second of each joint (grey), with half a second before and after it.",
    )


def _show_changes(report: HtmlReport, findings: ModelFindings) -> None:
    report.heading("Since the earlier model")
    former = findings.former
    if former is None:
        report.paragraph("There is none to compare with: --since names one.")
        return
    model, before = findings.judged.model, former.model
    report.paragraph(
        f"{shown_path(former.path)} had {before.n_active_} local models from {before.n_samples_} "
        f"samples; now there are {model.n_active_} from {model.n_samples_}."
    )
    known = learned_recordings(before.metadata_)
    entries = learned_recordings(model.metadata_)
    new = [entry for digest, entry in entries.items() if digest not in known]
    if new:
        report.table(
            ["learned since", "samples", "gain [nats]"],
            [[shown_path(entry.path), entry.samples, _or_unknown(entry.gain)] for entry in new],
            "recordings learned since",
        )
    else:
        report.paragraph("No recording is known to have been learned since.")
    _show_error_changes(report, findings)
    show_parameter_changes(report, findings)


def _show_error_changes(report: HtmlReport, findings: ModelFindings) -> None:
    now, before = errors_of(findings.recordings), findings.former_errors
    if before is None:
        return
    both = zip(
        [*map(shown_name, findings.judged.settings.joint_names), "all"],
        [*before.rms.tolist(), before.total_rms],
        [*now.rms.tolist(), now.total_rms],
        strict=True,
    )
    rows = [[name, old, new, f"{new / max(old, 1e-12) - 1.0:+.0%}"] for name, old, new in both]
    report.table(
        ["joint", "rms error before [Nm]", "now [Nm]", "change"], rows, "errors before and now"
    )


def _show_tracking(report: HtmlReport, uri: str, tracking: Tracking | str) -> None:
    report.heading(shown_path(uri), 3)
    if isinstance(tracking, str):
        report.paragraph(f"It does not say how the arm tracked: {printable(tracking)}")
        return
    for part in tracking_parts(tracking):
        report.paragraph(printable(part.title))
        report.table(part.header, part.rows, "tracking")
    if _is_full(report):
        return
    report.picture(draw_tracking_errors(tracking), "Tracking errors over time.")
    report.picture(
        draw_tracking_torques(tracking),
        "Commanded torque and its parts: feed-forward, with its 95% interval, and feedback (PD).",
    )
    report.picture(
        draw_gate(tracking),
        "Share of the learned torque that was used, and time from joint state to torque.",
    )


def _is_full(report: HtmlReport) -> bool:
    if report.n_bytes <= MAX_BYTES - PICTURES:
        return False
    report.paragraph("Pictures are left out, as the file would become too large: report it alone.")
    return True


def _rms(values: FloatArray) -> float:
    return float(np.sqrt(np.mean(values**2)))


def _or_unknown(value: float | None) -> float | str:
    return UNKNOWN if value is None else value
