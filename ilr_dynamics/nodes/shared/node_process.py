# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Process of a node: start of ROS with checked arguments, end on a signal."""

from __future__ import annotations

import faulthandler
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from types import FrameType

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from ilr_dynamics.exceptions import IlrDynamicsError
from ilr_dynamics.nodes.parameter_file import check_lists, check_names
from ilr_dynamics.nodes.parameter_table import ParameterRow
from ilr_dynamics.nodes.shared.fast_dds import prepare_fast_dds

__all__ = [
    "StopRequest",
    "limited_end",
    "run_program",
    "spin",
    "start_ros",
]

# Longest time until a signal is handled, s.
_SPIN_PERIOD = 0.1
# Longest time in which a node ends once its work is done, s.
_END_TIMEOUT = 20.0
# Of an error of rcl, which goes on with lines of its source files.
_PLACE = ", at "
_MIXED_LIST = "Sequence should be of same type"
_WHERE_MIXED = "parameter override rule: '-p "


def start_ros(node: str, table: Sequence[ParameterRow], arguments: list[str] | None) -> bool:
    """
    Initialize ROS for a node that handles its signals by itself (`StopRequest`).

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
    prepare_fast_dds()
    words = sys.argv if arguments is None else arguments
    full_name = _full_name(node, words)
    try:
        for option, file in pairwise(words):
            if option == "--params-file":
                check_names(Path(file), full_name, table)
                check_lists(Path(file), full_name, table)
        rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.NO)
    # Errors of rcl are of the latter kind.
    except (IlrDynamicsError, RuntimeError) as error:
        text = str(error).partition(_PLACE)[0]
        if _MIXED_LIST in text:
            override = text.partition(_WHERE_MIXED)[2].partition("'. ")[0]
            if override:
                text = f"parameter {override} has integers and floats in one list"
            text += "; expected numbers of one type: write 80.0, not 80"
        rclpy.logging.get_logger(node).error(f"not started: {text}")
        return False
    return True


def _full_name(node: str, arguments: Sequence[str]) -> str:
    """Return a node's name with the namespace, or the other name, that its arguments give it."""
    given = {"__ns": "/", "__node": node}
    for option, rule in pairwise(arguments):
        if option in ("-r", "--remap"):
            name, _, value = rule.rpartition(":=")
            given[name.rpartition(":")[2]] = value
    return f"{given['__ns'].rstrip('/')}/{given['__node']}"


class StopRequest:
    """
    Flag that becomes true with the first SIGINT or SIGTERM.

    For use with ``rclpy.init(signal_handler_options=SignalHandlerOptions.NO)``: rclpy's own
    handlers close the context at once, whatever the node is doing.
    """

    def __init__(self) -> None:
        self._requested = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._handle)

    def __bool__(self) -> bool:
        return self._requested

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self._requested = True


def run_program(
    name: str,
    table: Sequence[ParameterRow],
    arguments: list[str] | None,
    program: Callable[[StopRequest], int],
) -> int:
    """
    Run the program of a node in a process with ROS.

    Parameters
    ----------
    name : str
        Name of the node.
    table : sequence of ParameterRow
        Its parameters (`start_ros`).
    arguments : list of str or None
        Command line; None: that of the process.
    program : callable
        Function that makes the node, runs it until a stop is requested and returns the exit code.

    Returns
    -------
    int
        Exit code; 1, with the reason in the log, after an error of this package.
    """
    if not start_ros(name, table, arguments):
        return 1
    stop = StopRequest()
    try:
        return program(stop)
    except IlrDynamicsError as error:
        rclpy.logging.get_logger(name).error(str(error))
        return 1
    finally:
        rclpy.shutdown()


@contextmanager
def limited_end(timeout: float = _END_TIMEOUT) -> Iterator[None]:
    """
    Destroy a node in a ``with`` block; if it takes too long, print a traceback and exit with 1.

    Fast DDS can wait for itself for ever when endpoints are destroyed (docs/architecture.md), and
    the process would then handle no further signal.

    Parameters
    ----------
    timeout : float
        Longest time of the block, s.
    """
    faulthandler.dump_traceback_later(timeout, exit=True)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def spin(node: Node, stop: StopRequest, is_done: Callable[[], bool] = lambda: False) -> None:
    """Let a node handle what comes in, until a stop is requested or it is done."""
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    try:
        while not (stop or is_done()):
            executor.spin_once(timeout_sec=_SPIN_PERIOD)
    finally:
        executor.shutdown()
