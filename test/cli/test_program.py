# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest

from ilr_dynamics.cli import evaluate, export, inspect_recordings, report, train
from ilr_dynamics.cli.program import run_program
from ilr_dynamics.exceptions import RecordingError

PROGRAMS = {
    "evaluate": evaluate.main,
    "export": export.main,
    "inspect": inspect_recordings.main,
    "report": report.main,
    "train": train.main,
}


def raising(error):
    def work(arguments):
        raise error

    return work


@pytest.mark.parametrize("error", [RecordingError("it is short"), OSError("it is short")])
def test_an_error_is_a_line_and_an_exit_code(error, capsys):
    assert run_program("train", raising(error), []) == 1
    assert run_program("train", raising(error), [], failed=2) == 2
    shown = capsys.readouterr()
    assert shown.err == 2 * "train: it is short\n" and shown.out == ""


def test_an_interruption_is_said_without_a_traceback(capsys):
    assert run_program("train", raising(KeyboardInterrupt()), [], interrupted="go on") == 130
    assert capsys.readouterr().err == "train: go on\n"


def test_a_mistake_of_ours_keeps_its_traceback():
    with pytest.raises(ZeroDivisionError):
        run_program("train", raising(ZeroDivisionError()), [])


def test_what_a_program_returns_is_its_exit_code():
    assert run_program("inspect", lambda arguments: len(arguments or ()), ["a", "b"]) == 2
    assert run_program("inspect", lambda arguments: None, None) == 0


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_program_helps_and_names_itself(name, capsys):
    with pytest.raises(SystemExit) as ended:
        PROGRAMS[name](["--help"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: {name} ")
