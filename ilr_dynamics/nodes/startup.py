# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Initializes ROS in the process of a node, or says what is wrong with the process's arguments."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import rclpy
from rclpy.signals import SignalHandlerOptions

from ilr_dynamics.exceptions import IlrDynamicsError
from ilr_dynamics.nodes.parameter_file import check_names
from ilr_dynamics.nodes.parameter_table import ParameterRow

__all__ = ["start_ros"]

# Of an error of rcl, which goes on with lines of its source files.
_PLACE = ", at "
_MIXED_LIST = "Sequence should be of same type"


def start_ros(node: str, table: Sequence[ParameterRow], arguments: list[str] | None) -> bool:
    """Initialize ROS for a node that handles its signals by itself (`StopRequest`).

    Parameters
    ----------
    node : str
        Its name.
    table : sequence of ParameterRow
        Its parameters: a file that has another one for this node is refused.
    arguments : list of str or None
        Command line; None: that of the process.

    Returns
    -------
    bool
        Whether that was possible; else the log says why it was not.
    """
    try:
        for option, file in pairwise(sys.argv if arguments is None else arguments):
            if option == "--params-file":
                check_names(Path(file), f"/{node}", table)
        rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.NO)
    # Errors of rcl are of the latter kind.
    except (IlrDynamicsError, RuntimeError) as error:
        text = str(error).partition(_PLACE)[0]
        if _MIXED_LIST in text:
            text += "; expected numbers of one type: write 80.0, not 80"
        rclpy.logging.get_logger(node).error(f"not started: {text}")
        return False
    return True
