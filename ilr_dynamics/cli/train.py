# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Program `train BAG [BAG ...] --output MODEL.npz`: learning from recordings."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from ilr_dynamics.cli.learning_options import add_learning_options, parse_learning_options
from ilr_dynamics.cli.stage_bar import StageBar
from ilr_dynamics.cli.table import format_table
from ilr_dynamics.exceptions import IlrDynamicsError, LearnerError, SnapshotError
from ilr_dynamics.inspection import Inspection, Severity, inspect_recording, with_samples
from ilr_dynamics.learning import (
    LearningReport,
    LearningSettings,
    implausible_torques,
    learn,
    load_compatible_snapshot,
)
from ilr_dynamics.recording import Samples, concatenate

__all__ = ["main"]


class ProgressBar:
    """Progress bars, one per stage of learning."""

    def __init__(self) -> None:
        self._bar: StageBar | None = None
        self._stage = ""

    def __call__(self, stage: str, fraction: float, lower_bound: float) -> None:
        """Show the progress of a stage (`learning.Progress`)."""
        if self._bar is None or stage != self._stage:
            self._finish()
            self._stage = stage
            self._bar = StageBar(
                f"{stage:10}", sys.stderr, total=100, count="{percentage:3.0f}%", bar=" {bar}"
            )
        self._bar(100.0 * fraction)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the last bar as it is."""
        if kind is None:
            self._finish()
        elif self._bar is not None:
            self._bar.close()

    def _finish(self) -> None:
        """Complete the bar of a stage, as learning may converge before its last iteration."""
        if self._bar is not None:
            self._bar(100.0)
            self._bar.close()
            self._bar = None


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Learn from recordings and save the model.

    Parameters
    ----------
    arguments : sequence of str, optional
        Command line without the program's name; by default that of the process.

    Returns
    -------
    int
        Exit code: 0, or 1 after a message on stderr.
    """
    try:
        _train(*parse_learning_options(_parser(), arguments))
    except IlrDynamicsError as error:
        print(f"train: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="train", description="Learn the inverse dynamics of an arm from its recordings."
    )
    parser.add_argument("bags", nargs="+", metavar="BAG", help="folder or file of a rosbag2")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="snapshot to write")
    parser.add_argument("--snapshot", metavar="FILE", help="model to update")
    parser.add_argument(
        "--accept-worse",
        action="store_true",
        help="learn also from recordings with errors, and from torques that cannot be the arm's",
    )
    add_learning_options(parser)
    return parser


def _train(options: argparse.Namespace, settings: LearningSettings) -> None:
    output = Path(options.output)
    if not output.parent.is_dir():
        raise SnapshotError(f"there is no folder {output.parent}; expected one for {output.name}")
    if settings.robot is not None:
        for text in settings.arm().warnings:
            print(f"train: {text}", file=sys.stderr)
    known = load_compatible_snapshot(options.snapshot, settings) if options.snapshot else None
    with ProgressBar() as progress:
        inspections = [
            with_samples(inspect_recording(bag, settings, progress), settings)
            for bag in options.bags
        ]
    parts = [_usable(inspection, settings, options.accept_worse) for inspection in inspections]
    with ProgressBar() as progress:
        model, report = learn(concatenate(parts), settings, known, progress, options.bags)
    if report.unsettled:
        print(f"train: {report.unsettled}", file=sys.stderr)
    model.save(output)
    print(_samples_table(options.bags, parts))
    print()
    print(_error_table(settings.joint_names, report))
    print(
        f"\n{report.components_after} local models (before: {report.components_before}) from "
        f"{report.samples_total} samples, learned in {report.learning_time:.1f} s: {output}"
    )


def _usable(inspection: Inspection, settings: LearningSettings, accept_worse: bool) -> Samples:
    """Print the findings in a recording; refuse one with errors or implausible torques."""
    bag, samples = inspection.uri, inspection.required_samples()
    for finding in inspection.findings:
        if finding.severity is not Severity.INFO:
            print(f"train: {bag}: {finding}", file=sys.stderr)
    refusal = implausible_torques(samples, settings) or inspection.refusal
    if refusal and not accept_worse:
        raise LearnerError(f"{bag}: {refusal.replace('accept_worse', '--accept-worse')}")
    return samples


def _samples_table(bags: Sequence[str], parts: Sequence[Samples]) -> str:
    reasons = sorted(set().union(*(part.rejected for part in parts)))
    return format_table(
        ["recording", "samples", *reasons],
        [
            [bag, part.n_used, *(part.rejected[reason] for reason in reasons)]
            for bag, part in zip(bags, parts, strict=True)
        ],
    )


def _error_table(joints: Sequence[str], report: LearningReport) -> str:
    before: Sequence[object] = report.error_before or ["-"] * len(joints)
    return format_table(
        ["newest tenth, held out: mean squared torque error [Nm^2]", "before", "after"],
        list(zip(joints, before, report.error_after, strict=True)),
    )


if __name__ == "__main__":
    sys.exit(main())
