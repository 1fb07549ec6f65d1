# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What benchmarks share that run the nodes in real time: parameters, folders and their options."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from ament_index_python.packages import get_package_share_directory

__all__ = ["DECIMATION", "add_folder_options", "new_folder", "parameter_file"]

# Joint states for each controller state: a prime, so that nothing periodic in the node is met
# always or never.
DECIMATION = 7


def parameter_file() -> Path:
    """Return the parameters of the four-joint arm."""
    return Path(get_package_share_directory("ilr_dynamics")) / "config" / "wam4.yaml"


def add_folder_options(parser: argparse.ArgumentParser) -> None:
    """Let the user say where files and pictures go."""
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("output"),
        help="a folder is made in here for recordings, models and logs (%(default)s)",
    )
    parser.add_argument(
        "--figures",
        type=Path,
        default=Path(__file__).resolve().parent.parent / "docs" / "figures",
        help="folder of the picture",
    )


def new_folder(options: argparse.Namespace, name: str) -> Path:
    """Make a folder for this run of the benchmark `name`."""
    folder = options.output.absolute() / time.strftime(f"{name}-%Y%m%d-%H%M%S")
    folder.mkdir(parents=True)
    return folder
