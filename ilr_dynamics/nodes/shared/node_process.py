# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Process of a node: transport, start of ROS with checked arguments, end on a signal."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
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

__all__ = [
    "StopRequest",
    "avoid_shared_memory",
    "run_program",
    "shared_memory_warning",
    "spin",
    "start_ros",
]

# Longest time until a signal is handled, s.
_SPIN_PERIOD = 0.1
# Of an error of rcl, which goes on with lines of its source files.
_PLACE = ", at "
_MIXED_LIST = "Sequence should be of same type"
_WHERE_MIXED = "parameter override rule: '-p "
_SHARED_MEMORY = "/dev/shm/fastdds"


def avoid_shared_memory() -> None:
    """
    Restrict Fast DDS to UDP, unless the environment selects transports; before `rclpy.init`.

    When Fast DDS first sends to a port of its shared memory, as to each process that joins, and
    the last owner of the port was killed, ``publish`` blocks for 0.33 s, up to three times, to
    check whether the port is alive. With UDP it does not block.

    Other middlewares do not read the variable. With ``ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST``
    ROS 2 adds shared memory nevertheless.
    """
    os.environ.setdefault("FASTDDS_BUILTIN_TRANSPORTS", "UDPv4")


def shared_memory_warning() -> str:
    """Return a warning if this process, which has a node, uses Fast DDS's shared memory, or ""."""
    if _SHARED_MEMORY not in Path("/proc/self/maps").read_text():
        return ""
    return (
        "Fast DDS sends through shared memory, where a process that was killed can hold up "
        "torques for 0.33 s and more: expected FASTDDS_BUILTIN_TRANSPORTS to be UDPv4 and "
        "ROS_AUTOMATIC_DISCOVERY_RANGE not to be LOCALHOST; config/fastdds_this_machine.xml "
        "says how to stay on this machine without it"
    )


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
    try:
        for option, file in pairwise(sys.argv if arguments is None else arguments):
            if option == "--params-file":
                check_names(Path(file), f"/{node}", table)
                check_lists(Path(file), f"/{node}", table)
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


def spin(node: Node, stop: StopRequest, is_done: Callable[[], bool] = lambda: False) -> None:
    """Let a node handle what comes in, until a stop is requested or it is done."""
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    try:
        while not (stop or is_done()):
            executor.spin_once(timeout_sec=_SPIN_PERIOD)
    finally:
        executor.shutdown()
