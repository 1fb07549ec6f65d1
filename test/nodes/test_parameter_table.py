# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What follows from the description of a parameter."""

from __future__ import annotations

import math
from array import array

import pytest

from ilr_dynamics.exceptions import InvalidParameterError
from ilr_dynamics.nodes import parameters
from ilr_dynamics.nodes.parameter_table import ParameterRow, check, per_joint
from ilr_dynamics.robot.tool_paths import tool_path_names

RATE = ParameterRow("rate", 500.0, "", "Hz", (10.0, 5000.0))
SEED = ParameterRow("seed", 0, "", within=(0, 9))
GAINS = per_joint("gains", "", "Nm/rad")
STORAGE = ParameterRow("storage", "mcap", "", choices=("mcap", ""))
JOINTS = ParameterRow("joints", ["j1"], "")
SWITCH = ParameterRow("switch", True, "")


@pytest.mark.parametrize(
    ("row", "value"),
    [
        (RATE, 10.0),
        (SEED, 9),
        (GAINS, [0.0, 1e9]),
        (GAINS, array("d", [1.0])),
        (STORAGE, ""),
        (JOINTS, [""]),
        (SWITCH, False),
    ],
)
def test_values_as_described_are_accepted(row, value):
    row.check(value)


@pytest.mark.parametrize(
    ("row", "value", "text"),
    [
        (RATE, 9.0, "parameter rate is 9.0; expected a float from 10 to 5000 Hz"),
        (RATE, math.nan, "parameter rate is nan; expected a float from 10 to 5000 Hz"),
        (RATE, 80, "expected a float from 10 to 5000 Hz: write 80.0, not 80"),
        (RATE, "fast", "parameter rate is 'fast'; expected a float from 10 to 5000 Hz"),
        (SEED, 0.0, "parameter seed is 0.0; expected an integer from 0 to 9"),
        (SEED, True, "parameter seed is True; expected an integer from 0 to 9"),
        (
            GAINS,
            [80, 90.0],
            "parameter gains is [80, 90.0]; expected floats, one per joint, each ",
        ),
        (GAINS, [80, 90.0], "each from 0 Nm/rad: write 80.0, not 80"),
        (GAINS, [1.0, -1.0], "parameter gains is [1.0, -1.0]; expected floats, one per joint"),
        (GAINS, [1.0, math.inf], "parameter gains is [1.0, inf]; expected floats, one per joint"),
        (GAINS, [], "parameter gains is []; expected floats, one per joint"),
        (STORAGE, "csv", "parameter storage is 'csv'; expected one of mcap, ''"),
        (JOINTS, [], "parameter joints is []; expected strings"),
        (SWITCH, "yes", "parameter switch is 'yes'; expected true or false"),
    ],
)
def test_what_is_found_and_what_is_expected_is_said(row, value, text):
    with pytest.raises(InvalidParameterError) as error:
        row.check(value)
    assert text in str(error.value)


def test_lists_are_as_long_as_the_joints_where_they_are_known():
    check({"joints": ["j1", "j2"], "gains": [1.0, 2.0]}, [JOINTS, GAINS])
    check({"joints": ["j1", "j2"], "gains": None}, [JOINTS, GAINS])
    with pytest.raises(InvalidParameterError, match="gains holds 1 values; expected 2, one per"):
        check({"joints": ["j1", "j2"], "gains": [1.0]}, [JOINTS, GAINS])


def test_trajectories_of_the_description_are_those_there_are():
    (row,) = (row for row in parameters.TRAJECTORY_PUBLISHER if row.name == "trajectory")
    names = tool_path_names()
    training = [name for name in names if name.startswith("train")]
    others = [name for name in names if name not in training]
    named = ", ".join([f"{training[0]} to {training[-1]}", *others])
    assert row.description.startswith(f"trajectory to follow: {named}, ")
