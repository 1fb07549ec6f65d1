# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Numbers on command lines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ilr_dynamics.cli.argument_parser import ArgumentParser


def parser():
    found = ArgumentParser()
    found.add_argument("--box", nargs=2, type=float)
    found.add_argument("--seed", type=int)
    found.add_argument("-x", action="store_true")
    return found


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(-99, 99))
def test_any_finite_number_is_a_value(number, seed):
    options = parser().parse_args(["--box", repr(number), f"{number:e}", "--seed", str(seed)])
    assert options.box == [number, float(f"{number:e}")] and options.seed == seed


@pytest.mark.parametrize("number", ["-1.", "-1e-1", "-1E3", "-.5", "-0", "-1e300"])
def test_a_number_may_be_written_as_python_takes_it(number):
    assert parser().parse_args(["--box", number, "1"]).box == [float(number), 1.0]


def test_options_are_options_still(capsys):
    assert parser().parse_args(["-x", "--box", "1", "2"]).x
    with pytest.raises(SystemExit):
        parser().parse_args(["--box", "1", "-y"])
    assert "expected 2 arguments" in capsys.readouterr().err
