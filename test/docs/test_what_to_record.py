# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The page on what to record names options of `plan`, with their defaults."""

import re

from pages import DOCS, tables

from ilr_dynamics.cli.plan import _parser
from ilr_dynamics.planning import N_CANDIDATES, STEP
from ilr_dynamics.planning.motion_law import SLOWEST_SWING
from ilr_dynamics.planning.plan import N_REGION
from ilr_dynamics.planning.torque_margin import SHARE

PAGE = DOCS / "what_to_record.md"


def test_the_options_and_defaults_are_those_of_the_program():
    defaults = vars(_parser().parse_args(["model.npz", "-o", "motion.csv"]))
    (rows,) = (rows for header, rows in tables(PAGE) if header[1] == "by default")
    named = 0
    for _, default, option in rows:
        found = re.search(r"--([a-z-]+)", option)
        if found and found[1] != "keep-out":
            assert float(default.split()[0]) == defaults[found[1].replace("-", "_")], option
            named += 1
    assert named >= 5
    assert defaults["keep_out"] == []


def test_the_numbers_of_the_choice_are_those_of_the_code():
    text = PAGE.read_text()
    assert f"Of {N_CANDIDATES} that are drawn" in text
    assert f"at {N_REGION} states in reach" in text
    assert f"from {SLOWEST_SWING} times the speed" in text
    assert f"| {SHARE} of the limits |" in text
    assert f"-p rate:={1.0 / STEP:.1f}" in text
