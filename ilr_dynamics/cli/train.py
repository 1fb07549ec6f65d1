# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Program `train BAG [BAG ...] --output MODEL.npz`: learning from recordings, one by one."""

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
from ilr_dynamics.learning import LearningReport, LearningSettings
from ilr_dynamics.learning.training import Training, learn_recordings, prepare_training

__all__ = ["main"]

# With the time that the stage still takes.
BAR = " {bar} {remaining} left"
INTERRUPTED = 130
"""Exit code of a program that Ctrl-C ended, as shells have it."""


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
                f"{stage:10}", sys.stderr, total=100, count="{percentage:3.0f}%", bar=BAR
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
        Exit code: 0, or 1 after a message on stderr, or 130 if a person interrupted it.
    """
    try:
        _train(*parse_learning_options(_parser(), arguments))
    except IlrDynamicsError as error:
        print(f"train: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(
            "train: interrupted; the same command goes on after what was learned", file=sys.stderr
        )
        return INTERRUPTED
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="train", description="Learn the inverse dynamics of an arm from its recordings."
    )
    parser.add_argument(
        "bags",
        nargs="+",
        metavar="BAG",
        help="folder or file of a rosbag2, or a folder or a glob of such; ** is any folders",
    )
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="snapshot to write")
    parser.add_argument("--snapshot", metavar="FILE", help="model to update")
    parser.add_argument(
        "--accept-worse",
        action="store_true",
        help="learn also from recordings with errors, and from torques that cannot be the arm's",
    )
    parser.add_argument(
        "--skip-bad",
        action="store_true",
        help="leave out recordings that are not fit to learn, instead of refusing all",
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
    with ProgressBar() as progress:
        training = prepare_training(
            options.bags,
            settings,
            options.snapshot,
            output.parent,
            options.accept_worse,
            progress,
        )
    training = _fit_ones(training, options.accept_worse, options.skip_bad)
    with ProgressBar() as progress:
        model, report = learn_recordings(training, settings, progress)
    if report.unsettled:
        print(f"train: {report.unsettled}", file=sys.stderr)
    model.save(output)
    training.unfinished.remove()
    print(_recordings_table(training, report))
    print()
    print(_error_table(settings.joint_names, report))
    print(
        f"\n{report.components_after} local models (before: {report.components_before}) from "
        f"{report.samples_total} samples, learned in {report.learning_time:.1f} s: {output}"
    )


def _fit_ones(training: Training, accept_worse: bool, skip_bad: bool) -> Training:
    """Print notes and findings; refuse or leave out recordings that are not fit to learn."""
    for note in training.notes:
        print(f"train: {note}", file=sys.stderr)
    for candidate in training.candidates:
        for finding in candidate.findings:
            print(f"train: {candidate.uri}: {finding}", file=sys.stderr)
    unfit = {
        uri: reason.replace("accept_worse", "--accept-worse")
        for uri, reason in training.unfit(accept_worse).items()
    }
    if unfit and not skip_bad:
        if len(training.candidates) > 1:
            listed = "".join(f"\n  {uri}: {reason}" for uri, reason in unfit.items())
            raise LearnerError(
                f"{len(unfit)} of {len(training.candidates)} recordings are not fit to learn, and "
                f"nothing was learned; expected all to be, or --skip-bad:{listed}"
            )
        ((uri, reason),) = unfit.items()
        raise training.candidates[0].unusable or LearnerError(f"{uri}: {reason}")
    for uri, reason in unfit.items():
        print(f"train: {uri} is left out: {reason}", file=sys.stderr)
    return training.without(unfit)


def _recordings_table(training: Training, report: LearningReport) -> str:
    """What came of each recording, those before an interruption included."""
    counts = {uri: (entry.samples, entry.rejected) for uri, entry in training.learned.items()}
    counts |= {c.uri: (c.n_samples, c.rejected) for c in training.candidates}
    reasons = sorted({reason for _, rejected in counts.values() for reason in rejected})
    rows = []
    for uri, (n_samples, rejected) in counts.items():
        gain = report.gains[uri]
        shown = "-" if gain is None else f"{gain:+.2f}"
        rows.append([uri, shown, n_samples, *(rejected.get(reason, 0) for reason in reasons)])
    return format_table(["recording", "gain [nats]", "samples", *reasons], rows)


def _error_table(joints: Sequence[str], report: LearningReport) -> str:
    before: Sequence[object] = report.error_before or ["-"] * len(joints)
    return format_table(
        ["newest tenth, held out: mean squared torque error [Nm^2]", "before", "after"],
        list(zip(joints, before, report.error_after, strict=True)),
    )


if __name__ == "__main__":
    sys.exit(main())
