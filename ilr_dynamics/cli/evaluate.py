# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Program `evaluate [MODEL] BAG [BAG ...]`: a model on recordings, or how well the arm tracked."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from ilr_dynamics.cli.argument_parser import ArgumentParser
from ilr_dynamics.cli.judged_model import JudgedModel, add_model_and_bags, model_and_bags
from ilr_dynamics.cli.judged_recording import JudgedRecording, error_table
from ilr_dynamics.cli.learning_options import add_recording_options, named_bags, report_topic
from ilr_dynamics.cli.program import run_program
from ilr_dynamics.cli.shown_text import printable
from ilr_dynamics.cli.table import format_table
from ilr_dynamics.cli.tracking_evaluation import (
    read_tracking,
    tracking_tables,
)

__all__ = ["main"]

GONE = (
    "evaluate prints tables and draws nothing any more; expected no --picture: "
    "`report [MODEL] BAG --html FILE` has the pictures"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Print how well a model predicts recordings, or how well an arm tracked.

    Parameters
    ----------
    arguments : sequence of str, optional
        Command line without the program's name; by default that of the process.

    Returns
    -------
    int
        Exit code: 0, or 1 after a message on stderr.
    """
    return run_program("evaluate", _evaluate, arguments)


def _parser() -> argparse.ArgumentParser:
    parser = ArgumentParser(
        prog="evaluate",
        description="Compare the torques a model predicts with recordings. Without a model: show "
        "how well the arm tracked, by the controller's reports in the recordings.",
    )
    add_model_and_bags(parser)
    parser.add_argument("--picture", nargs="?", const="", help=argparse.SUPPRESS)
    add_recording_options(parser)
    return parser


def _evaluate(arguments: Sequence[str] | None) -> None:
    parser = _parser()
    options = parser.parse_intermixed_args(arguments)
    if options.picture is not None:
        parser.error(GONE)
    snapshot, patterns = model_and_bags(options)
    if snapshot is None:
        bags = named_bags("evaluate", patterns)
        tables = [tracking_tables(read_tracking(bag, report_topic(options))) for bag in bags]
    else:
        judged = JudgedModel.load(snapshot, options)
        bags = named_bags("evaluate", patterns)
        recordings = [JudgedRecording.of(bag, judged.samples(bag), judged.model) for bag in bags]
        tables = [_table([recording]) for recording in recordings]
        if len(bags) > 1:
            bags = [*bags, f"all {len(bags)} recordings"]
            tables.append(_table(recordings))
    if len(bags) == 1:
        print(*tables)
    else:
        print("\n\n".join(map("{}\n\n{}".format, map(printable, bags), tables)))


def _table(recordings: Sequence[JudgedRecording]) -> str:
    n_samples = sum(recording.samples.n_used for recording in recordings)
    text = format_table(*error_table(recordings))
    return f"{text}\n\n{n_samples} samples; a constant torque has nMSE 1"


if __name__ == "__main__":
    sys.exit(main())
