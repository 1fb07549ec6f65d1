# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What the page on MoveIt shows, against the node and its files."""

import re
from pathlib import Path

import pytest
import yaml
from pages import CODE, DOCS, ROOT, blocks, tables

from ilr_dynamics.control import trajectory_goal
from ilr_dynamics.nodes.controller import motion_requests
from ilr_dynamics.nodes.parameter_file import read_parameter_file

PAGE = DOCS / "moveit.md"
FILES = [yaml.safe_load(block) for block in blocks(PAGE, "yaml")]
ENDS = next(rows for header, rows in tables(PAGE) if "error code" in header)


@pytest.mark.parametrize("arms", [[("", "")], [("left/", "left_"), ("right/", "right_")]])
def test_controllers_are_the_actions_and_joints_of_the_node(arms, running):
    (found,) = (file for file in FILES if len(_names(file)) == len(arms))
    parameters = read_parameter_file(ROOT / "config" / "wam4.yaml", "/inverse_dynamics")
    actions = {
        end.name: end.type for end in running["inverse_dynamics"][1] if end.kind == "action"
    }
    for namespace, prefix in arms:
        controller = found["moveit_simple_controller_manager"][f"{namespace}inverse_dynamics"]
        kind = f"control_msgs/{controller['type']}"
        assert actions[f"~/{controller['action_ns']}"] == kind
        assert controller["joints"] == [prefix + joint for joint in parameters["joints"]]
    assert _names(found) == [f"{namespace}inverse_dynamics" for namespace, _ in arms]


def _names(file):
    return file["moveit_simple_controller_manager"]["controller_names"]


@pytest.mark.parametrize("robot", ["wam4", "wam7"])
def test_moveit_waits_longer_than_the_controller(robot):
    parameters = read_parameter_file(ROOT / "config" / f"{robot}.yaml", "/inverse_dynamics")
    margins = [
        file["trajectory_execution"]["allowed_goal_duration_margin"]
        for file in FILES
        if "trajectory_execution" in file
    ]
    assert margins and min(margins) > parameters["constraints.goal_time"] > 0.0


@pytest.mark.parametrize("row", ENDS, ids=[row[0] for row in ENDS])
def test_error_strings_and_codes_are_those_of_the_code(row):
    _, status, code, text = row
    assert status in {end.value for end in trajectory_goal.End}
    assert code in trajectory_goal.ErrorCode.__members__
    source = "".join(
        re.sub(r'"\s*\n\s*f?"', "", Path(module.__file__).read_text())
        for module in (trajectory_goal, motion_requests)
    )
    (said,) = CODE.findall(text)
    pattern = "[^\n]*".join(re.escape(part) for part in said.split("…"))
    assert re.search(pattern, source), said
