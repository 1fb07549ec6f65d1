# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The end of a program is told with its reason, which its output has."""

from __future__ import annotations

import signal

import pytest

from ilr_dynamics.bringup.last_words import LastWords

STAMPED = "[INFO] [1796000199.29] [left.recorder]: recording\n"
ERROR = "[ERROR] [1796000200.29] [left.recorder]: not started: x is 1; expected 2\n"
TRACEBACK = """Traceback (most recent call last):
  File "recorder", line 1, in <module>
    import mujoco
ModuleNotFoundError: No module named 'mujoco'
"""


def told(*pieces: str, code: int = 1) -> str:
    words = LastWords("/left/recorder")
    for piece in pieces:
        words.hear(piece)
    return words.of_needed(code)


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        (STAMPED + ERROR + STAMPED, "not started: x is 1; expected 2"),
        (ERROR.replace("ERROR", "FATAL"), "not started: x is 1; expected 2"),
        (ERROR + TRACEBACK, "ModuleNotFoundError: No module named 'mujoco'"),
        (TRACEBACK + ERROR, "not started: x is 1; expected 2"),
    ],
)
def test_the_reason_is_the_last_error(output, reason):
    expected = f"/left/recorder ended with exit code 1 ({reason}): mend that and launch again"
    assert told(output) == expected
    half = len(output) // 2
    assert told(output[:half], output[half:]) == expected
    assert told(output.removesuffix("\n")) == expected


@pytest.mark.parametrize("output", ["", STAMPED, "Traceback (most recent call last):\n"])
def test_without_an_error_the_log_is_named(output):
    assert told(output) == (
        "/left/recorder ended with exit code 1: its log says what it did last; launch again"
    )


def test_a_signal_is_named():
    assert told(code=-signal.SIGSEGV).startswith("/left/recorder was ended by SIGSEGV: ")
    assert "memory is short" in told(code=-signal.SIGKILL)


@pytest.mark.parametrize("code", [0, -signal.SIGKILL, -signal.SIGINT])
def test_an_earlier_error_is_not_the_reason_of_a_good_end_or_a_signal(code):
    assert "x is 1" not in told(ERROR, code=code)
    assert "x is 1" in told(ERROR, code=2)


def test_without_an_accessory_the_launch_goes_on():
    words = LastWords("/left/recorder")
    assert words.of_accessory(-9) == (
        "/left/recorder was ended by SIGKILL: the launch goes on without it"
    )


def test_only_the_end_of_long_output_is_kept():
    assert "not started" not in told(ERROR + 200 * STAMPED)
