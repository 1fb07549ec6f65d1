# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Program `inspect BAG [BAG ...] --params-file my_arm.yaml`: checks of recordings."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from tqdm import tqdm

from ilr_dynamics.cli.argument_parser import ArgumentParser
from ilr_dynamics.cli.findings_table import format_findings
from ilr_dynamics.cli.learning_options import (
    add_bags,
    add_learning_options,
    named_bags,
    parse_learning_options,
)
from ilr_dynamics.cli.output_file import check_output_path
from ilr_dynamics.cli.program import run_program
from ilr_dynamics.inspection import (
    Inspection,
    Severity,
    inspect_recording,
    with_model_torque,
    with_samples,
)
from ilr_dynamics.learning import LearningSettings

__all__ = ["main"]

SOUND, FLAWED, UNREADABLE = 0, 1, 2
BAR = "{desc}: {percentage:3.0f}%|{bar}| [{elapsed}<{remaining}]"


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Inspect recordings and print the findings.

    Parameters
    ----------
    arguments : sequence of str, optional
        Command line without the program's name; by default that of the process.

    Returns
    -------
    int
        Exit code: 0 if nothing is above info, 1 with warnings or errors, 2 if a recording or a
        file cannot be read or written.
    """
    return run_program("inspect", _inspect, arguments, failed=UNREADABLE)


def _inspect(arguments: Sequence[str] | None) -> int:
    options, settings = parse_learning_options(_parser(), arguments)
    bags = named_bags("inspect", options.bags)
    if options.html is not None:
        # Without a report there is no need to load, or to install, Matplotlib.
        from ilr_dynamics.cli.html_report import REPORT_MARK
        from ilr_dynamics.cli.inspection_report import write_inspection_report

        # Before the recordings are read, which may take minutes.
        check_output_path(options.html, REPORT_MARK, bags)
    inspections = _inspections(bags, settings)
    if options.html is not None:
        write_inspection_report(
            options.html,
            [
                with_model_torque(with_samples(inspection, settings), settings)
                for inspection in inspections
            ],
        )
    if options.json:
        print(json.dumps([_to_json(inspection) for inspection in inspections]))
    else:
        print("\n\n".join(format_findings(inspection) for inspection in inspections))
    return max(map(_status, inspections))


def _inspections(bags: Sequence[str], settings: LearningSettings) -> list[Inspection]:
    """Inspect recordings, with a progress bar that also moves within a large recording."""
    inspections = []
    with tqdm(total=len(bags), desc="inspecting", bar_format=BAR, disable=None) as bar:
        for number, bag in enumerate(bags):

            def show(_: str, share: float, __: float, number: int = number) -> None:
                bar.update(number + share - bar.n)

            inspections.append(inspect_recording(bag, settings, show))
            show("", 1.0, 0.0)
    return inspections


def _parser() -> argparse.ArgumentParser:
    parser = ArgumentParser(
        prog="inspect",
        description="Check recordings before a model learns from them.",
    )
    add_bags(parser)
    parser.add_argument("--html", type=Path, metavar="FILE", help="report with pictures to write")
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    add_learning_options(parser)
    return parser


def _to_json(inspection: Inspection) -> dict[str, object]:
    findings = [finding.to_json() for finding in inspection.findings]
    return {"recording": inspection.uri, "findings": findings}


def _status(inspection: Inspection) -> int:
    if any(finding.kind == "unreadable" for finding in inspection.findings):
        return UNREADABLE
    return SOUND if inspection.worst is Severity.INFO else FLAWED


if __name__ == "__main__":
    sys.exit(main())
