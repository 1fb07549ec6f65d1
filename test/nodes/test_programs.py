# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Programs of nodes end on a signal without a traceback, whenever it comes."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROGRAMS = (
    "inverse_dynamics_node",
    "recorder",
    "trajectory_publisher",
    "visualizer",
    "wam_simulator",
)
CODE = "import sys; from ilr_dynamics.nodes import programs; sys.exit(programs.{program}())"
TIMEOUT = 60.0


def wait_until_begun(process: subprocess.Popen[str]) -> None:
    """Wait until Python has run its first lines, which catch SIGTERM."""
    deadline = time.monotonic() + TIMEOUT
    while time.monotonic() < deadline:
        status = Path(f"/proc/{process.pid}/status").read_text()
        caught = int(re.search(r"SigCgt:\s*(\w+)", status)[1], 16)
        if caught >> (signal.SIGTERM - 1) & 1:
            return
        time.sleep(0.005)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("delay", [0.0, 0.2, 0.8])
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_ends_on_a_signal_while_it_starts_too(program, delay, number):
    command = [sys.executable, "-P", "-c", CODE.format(program=program)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            wait_until_begun(process)
            time.sleep(delay)
            process.send_signal(number)
            _, errors = process.communicate(timeout=TIMEOUT)
        finally:
            process.kill()
    assert "Traceback" not in errors
    assert process.returncode == 0, errors


@pytest.mark.parametrize("program", ["visualizer", "wam_simulator"])
def test_a_program_ends_on_many_signals(program):
    command = [sys.executable, "-P", "-c", CODE.format(program=program)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            wait_until_begun(process)
            time.sleep(1.5)
            while process.poll() is None:
                process.send_signal(signal.SIGINT)
                time.sleep(0.02)
            _, errors = process.communicate(timeout=TIMEOUT)
        finally:
            process.kill()
    assert "Traceback" not in errors
    assert process.returncode == 0, errors
