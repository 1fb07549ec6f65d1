# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Program `train BAG [BAG ...] --output MODEL.npz`: learning from recordings, one by one."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

from ilr_dynamics.cli.argument_parser import ArgumentParser
from ilr_dynamics.cli.learning_options import (
    add_bags,
    add_learning_options,
    parse_learning_options,
)
from ilr_dynamics.cli.output_file import check_output_path
from ilr_dynamics.cli.program import run_program
from ilr_dynamics.cli.progress_bar import ProgressBar
from ilr_dynamics.cli.table import format_table
from ilr_dynamics.exceptions import InvalidParameterError, LearnerError
from ilr_dynamics.learning import LearningReport
from ilr_dynamics.learning.cluster import open_cluster
from ilr_dynamics.learning.joint_training import STOCHASTIC, learn_together
from ilr_dynamics.learning.sequential_training import learn_recordings
from ilr_dynamics.learning.training import Training, prepare_training
from ilr_dynamics.regression.files.model_file import SNAPSHOT

__all__ = ["main"]


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
    interrupted = "interrupted; the same command goes on where it was (by a cluster: anew)"
    return run_program("train", _train, arguments, interrupted=interrupted)


def _parser() -> argparse.ArgumentParser:
    parser = ArgumentParser(
        prog="train", description="Learn the inverse dynamics of an arm from its recordings."
    )
    add_bags(parser)
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
    parser.add_argument(
        "--cluster",
        metavar="ADDRESS|local:N",
        help="learn all recordings at once, as a new model, with N processes of this machine or "
        "the Dask cluster whose scheduler has this address",
    )
    parser.add_argument(
        "--stochastic",
        action="store_true",
        help="with --cluster: learn by steps from a few files of samples at a time, as it suits "
        "very many recordings",
    )
    add_learning_options(parser)
    return parser


def _train(arguments: Sequence[str] | None) -> None:
    options, settings = parse_learning_options(_parser(), arguments)
    output = Path(options.output)
    # Before the recordings are read and learned, which may take hours.
    check_output_path(output, SNAPSHOT.format.encode())
    if options.stochastic and options.cluster is None:
        raise InvalidParameterError("--stochastic is for --cluster, which is missing")
    if options.cluster is not None and options.snapshot:
        raise InvalidParameterError(
            f"--cluster learns a new model of all recordings, and updates none; expected no "
            f"--snapshot, got {options.snapshot}"
        )
    if settings.robot is not None:
        for text in settings.arm().warnings:
            print(f"train: {text}", file=sys.stderr)
    chosen = nullcontext() if options.cluster is None else open_cluster(options.cluster, _tell)
    with chosen as cluster:
        with ProgressBar() as progress:
            training = prepare_training(
                options.bags,
                settings,
                options.snapshot,
                output.parent,
                options.accept_worse,
                progress,
                goes_on=cluster is None,
            )
        training = _fit_ones(training, options.accept_worse, options.skip_bad)
        with ProgressBar() as progress:
            if cluster is None:
                model, report = learn_recordings(
                    training, settings, progress, skip_bad=options.skip_bad
                )
            else:
                inference = STOCHASTIC if options.stochastic else None
                with cluster.samples_folder(output.parent) as folder:
                    model, report = learn_together(
                        training,
                        settings,
                        cluster,
                        folder,
                        progress,
                        inference,
                        skip_bad=options.skip_bad,
                    )
    # Of recordings that were left out after all had been inspected.
    for note in report.notes[len(training.notes) :]:
        print(f"train: {note}", file=sys.stderr)
    if report.unsettled:
        print(f"train: {report.unsettled}", file=sys.stderr)
    model.save(output)
    if cluster is None:
        training.unfinished.remove()
    print(_recordings_table(training, report))
    print()
    print(_error_table(settings.joint_names, report))
    if report.change:
        print(f"\n{report.change}")
    print(
        f"\n{report.components_after} local models (before: {report.components_before}) from "
        f"{report.samples_total} samples, learned in {report.learning_time:.1f} s: {output}"
    )


def _tell(text: str) -> None:
    """Print a note below the bar that is shown meanwhile."""
    print(f"\ntrain: {text}", file=sys.stderr, flush=True)


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
    left = training.without(unfit)
    for note in left.notes[len(training.notes) :]:
        print(f"train: {note}", file=sys.stderr)
    return left


def _recordings_table(training: Training, report: LearningReport) -> str:
    """What came of each recording, those before an interruption included."""
    counts = {uri: (entry.samples, entry.rejected) for uri, entry in training.learned.items()}
    counts |= {c.uri: (c.n_samples, c.rejected) for c in training.candidates}
    counts = {uri: count for uri, count in counts.items() if uri in report.gains}
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
