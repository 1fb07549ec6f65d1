# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Command-line options of programs that read recordings."""

from __future__ import annotations

import argparse

__all__ = ["add_recording_options"]


def add_recording_options(parser: argparse.ArgumentParser) -> None:
    """Add the topics of recordings and the rate of samples to a parser."""
    parser.add_argument("--state-topic", default="/joint_states", help="topic of the joint states")
    parser.add_argument(
        "--command-topic",
        default="/joint_torque_command",
        help="topic of the commanded torques; '' to use the efforts of the joint states",
    )
    parser.add_argument(
        "--sample-rate",
        type=float,
        default=100.0,
        metavar="HZ",
        help="samples per second of recording; 0 for all (default: %(default)s)",
    )
