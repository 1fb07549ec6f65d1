# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Program `report [MODEL] BAG [BAG ...] --html FILE`: what a model knows, for people."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence

import numpy as np

from ilr_dynamics.cli.argument_parser import ArgumentParser
from ilr_dynamics.cli.described_arm import NOT_IDENTIFIED, add_arm_options, described_arm
from ilr_dynamics.cli.html_report import REPORT_MARK
from ilr_dynamics.cli.judged_model import JudgedModel, add_model_and_bags, model_and_bags
from ilr_dynamics.cli.judged_recording import JudgedRecording
from ilr_dynamics.cli.learning_options import add_recording_options, named_bags, report_topic
from ilr_dynamics.cli.model_findings import Judgement, ModelFindings, arm_findings
from ilr_dynamics.cli.model_report import write_model_report, write_tracking_report
from ilr_dynamics.cli.output_file import check_output_path
from ilr_dynamics.cli.program import run_program
from ilr_dynamics.cli.progress_bar import ProgressBar
from ilr_dynamics.cli.tracking_evaluation import Tracking, read_tracking
from ilr_dynamics.exceptions import RecordingError, RobotDescriptionError
from ilr_dynamics.learning.candidate import digest_of
from ilr_dynamics.learning.learn import Progress
from ilr_dynamics.learning.learned_recording import learned_recordings
from ilr_dynamics.robot.description import RobotDescription, load_description

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Write a page on a model and recordings: errors, intervals, friction, parameters, workspace.

    Parameters
    ----------
    arguments : sequence of str, optional
        Command line without the program's name; by default that of the process.

    Returns
    -------
    int
        Exit code: 0, 1 after a message on stderr, or 130 if a person interrupted it. In both of
        these cases nothing is written.
    """
    return run_program("report", _report, arguments)


def _parser() -> argparse.ArgumentParser:
    parser = ArgumentParser(
        prog="report",
        description="Write a report on a model and recordings as one HTML file that needs no "
        "network. Without a model: on how well the arm tracked.",
    )
    add_model_and_bags(parser)
    parser.add_argument("--html", required=True, metavar="FILE", help="report to write")
    parser.add_argument(
        "--since", metavar="OLD_MODEL", help="earlier model of the arm, to show what has changed"
    )
    add_arm_options(parser)
    add_recording_options(parser)
    return parser


def _report(arguments: Sequence[str] | None) -> None:
    parser = _parser()
    options = parser.parse_intermixed_args(arguments)
    snapshot, patterns = model_and_bags(options)
    if snapshot is None and options.since is not None:
        parser.error("--since compares two models; expected a MODEL (.npz) before the recordings")
    bags = named_bags("report", patterns)
    # Before the recordings are read, which may take minutes.
    check_output_path(options.html, REPORT_MARK, bags)
    if snapshot is None:
        topic = report_topic(options)
        write_tracking_report(options.html, bags, [read_tracking(bag, topic) for bag in bags])
    else:
        with ProgressBar() as progress:
            findings = _findings(snapshot, bags, options, progress)
            write_model_report(options.html, findings, _share(progress, "drawing", 0, 1))
    print(f"written: {options.html}")


def _findings(
    snapshot: str, bags: Sequence[str], options: argparse.Namespace, progress: ProgressBar
) -> ModelFindings:
    judged = JudgedModel.load(snapshot, options)
    former = None
    if options.since is not None:
        former = JudgedModel.load(options.since, options)
        # Of one robot, or nothing can be compared.
        judged.check_same_robot(former)
    description = _description(judged, options)
    arm = None if isinstance(description, str) else description
    known = learned_recordings(judged.model.metadata_)
    samples = [
        judged.samples(bag, arm, _share(progress, "reading", number, len(bags)))
        for number, bag in enumerate(bags)
    ]
    judgements = []
    for number, (bag, found) in enumerate(zip(bags, samples, strict=True)):
        show = _share(progress, "judging", number, len(bags))
        judgements.append(
            Judgement(
                recording=JudgedRecording.of(bag, found, judged.model, show),
                former=None if former is None else np.asarray(former.model.predict(found.X)),
                learned=digest_of(bag, judged.settings) in known,
                tracking=_tracking(bag, report_topic(options)),
            )
        )
    return ModelFindings(
        judged,
        former,
        tuple(judgements),
        arm_findings(judged, former, description, samples, progress),
    )


def _description(judged: JudgedModel, options: argparse.Namespace) -> RobotDescription | str:
    """Description of the model's arm, or why there is none."""
    if judged.dynamics is None:
        if not options.arm:
            return f"{NOT_IDENTIFIED}, or --robot for the kinematics"
        gravity = judged.settings.gravity
        description = load_description(options.arm, options.tool_frame, gravity)
        judged.check_joints(description)
        return description
    try:
        return described_arm(judged.model, judged.dynamics, options.arm, options.tool_frame)
    except RobotDescriptionError as error:
        # A robot, or a link of it, that somebody names has to be the right one.
        if options.arm or options.tool_frame:
            raise
        return str(error)


def _tracking(bag: str, topic: str) -> Tracking | str:
    """Reports of the controller in a recording, or why there are none."""
    try:
        return read_tracking(bag, topic)
    except RecordingError as error:
        return str(error)


def _share(progress: Progress, stage: str, number: int, of: int) -> Callable[[float], None]:
    """Progress of one recording as a part of that of all."""
    return lambda share: progress(stage, (number + share) / of, math.nan)


if __name__ == "__main__":
    sys.exit(main())
