# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Programs of the nodes, as they are installed.

They end on a signal without a traceback also while Python still imports what the node needs, and
again while it ends: Ctrl-C reaches all programs of a terminal at whatever they are doing.
"""

from __future__ import annotations

import os
import signal
from functools import partial
from importlib import import_module
from types import FrameType

__all__ = [
    "inverse_dynamics_node",
    "recorder",
    "trajectory_publisher",
    "visualizer",
    "wam_simulator",
]

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def _run(module: str) -> int:
    """Run the program of a module of this folder and return its exit code."""
    for number in _SIGNALS:
        signal.signal(number, _end)
    # MuJoCo draws nothing here. To be able to, it would start another program as it is imported,
    # which a signal leaves behind with a traceback.
    os.environ.setdefault("MUJOCO_GL", "disable")
    code: int = import_module(f"ilr_dynamics.nodes.{module}").main()
    # As Python ends it gives signals back to the system, which would kill it.
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    return code


def _end(number: int, frame: FrameType | None) -> None:
    # Nothing has begun. An exception in an import might be taken for a failure of that.
    os._exit(0)


inverse_dynamics_node = partial(_run, "inverse_dynamics_node")
recorder = partial(_run, "recorder")
trajectory_publisher = partial(_run, "trajectory_publisher")
visualizer = partial(_run, "visualizer")
wam_simulator = partial(_run, "wam_simulator")
