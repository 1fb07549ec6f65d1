# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import os
import pty
import subprocess
import sys
import termios

SCRIPT = """
import sys
import time
from ilr_dynamics.cli.stage_bar import StageBar

shape = {"count": "{n:6.1f} of {total:.1f} s", "bar": " |{bar:30}|"}
with StageBar("T1: PD      ", sys.stdout, total=20.0, **shape) as bar:
    for k in range(1, 1001):
        bar(0.02 * k)
        time.sleep(0.0005)
with StageBar("learn       ", sys.stdout, total=None, count="{n:6.1f} s") as bar:
    bar(3.2)
with StageBar("learning", sys.stdout, total=100, count="{percentage:3.0f}%", bar=" {bar}") as bar:
    bar(100.0)
with StageBar("breaks      ", sys.stdout, total=20.0, **shape) as bar:
    bar(5.0)
    raise SystemExit(3)
"""
COMMAND = [sys.executable, "-c", SCRIPT]


def in_a_terminal():
    """What the script writes to a terminal."""
    ours, its = pty.openpty()
    termios.tcsetwinsize(its, (24, 100))
    with subprocess.Popen(COMMAND, stdin=its, stdout=its, stderr=its) as process:
        os.close(its)
        written = b""
        # The end of what a terminal's program has written is told as an error.
        while part := _read(ours):
            written += part
    os.close(ours)
    assert process.returncode == 3
    return written.decode()


def _read(descriptor):
    try:
        return os.read(descriptor, 65536)
    except OSError:
        return b""


def test_a_log_has_one_line_a_stage():
    run = subprocess.run(COMMAND, capture_output=True, timeout=60.0)
    assert run.returncode == 3
    assert run.stderr == b""
    assert run.stdout.decode().split("\n") == [
        "T1: PD        20.0 of 20.0 s",
        "learn          3.2 s",
        "learning100%",
        "breaks         5.0 of 20.0 s",
        "",
    ]


def test_a_terminal_has_a_bar_that_moves():
    shown = in_a_terminal()
    frames = shown.split("\r")
    moving = [frame for frame in frames if frame.startswith("T1: PD")]
    assert len(moving) > 2
    assert moving[0].rstrip() == "T1: PD         0.0 of 20.0 s |                              |"
    assert moving[-1].rstrip() == f"T1: PD        20.0 of 20.0 s |{30 * '█'}|"
    assert any(frame.startswith("learn          3.2 s") for frame in frames)
    assert any(frame.startswith("breaks         5.0 of 20.0 s |███████▌") for frame in frames)


def test_a_stage_is_named_when_it_begins():
    script = """
import sys
from ilr_dynamics.cli.stage_bar import StageBar
with StageBar("T1: PD", sys.stdout, total=None, count="{n:6.1f} s") as bar:
    sys.stdin.read()
"""
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert os.read(process.stdout.fileno(), 100) == b"T1: PD"
        out, _ = process.communicate(timeout=30.0)
    assert out == b"   0.0 s\n"
