# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The reference against running nodes."""

import re

import pytest
from node_interfaces import NODES, sentences
from pages import DOCS
from reference_tables import (
    all_tables,
    benchmark_table,
    endpoint_table,
    filled,
    parameter_table,
)
from write_tables import GENERATED

# Declared by rclpy in every node.
OF_EVERY_NODE = {"use_sim_time", "start_type_description_service"}
FIRST_CODE = re.compile(r"^\| `([^`]+)`", re.MULTILINE)


@pytest.mark.parametrize("name", NODES)
def test_every_parameter_of_a_running_node_stands_in_the_reference(name, running):
    parameters, _ = running[name]
    assert set(FIRST_CODE.findall(parameter_table(name))) == parameters - OF_EVERY_NODE


@pytest.mark.parametrize("name", NODES)
def test_every_endpoint_of_a_running_node_has_a_sentence_and_no_other(name, running):
    _, found = running[name]
    assert {end.name for end in found} == set(sentences()[name])
    table = endpoint_table(found, sentences()[name])
    for end in found:
        assert f"`{end.name}` | `{end.type}` |" in table


def test_endpoints_are_those_of_the_contract(running):
    _, found = running["inverse_dynamics"]
    assert {(end.kind, end.name, end.type) for end in found} == {
        ("in", "joint_states", "sensor_msgs/JointState"),
        ("in", "~/joint_trajectory", "trajectory_msgs/JointTrajectory"),
        ("out", "joint_torque_command", "sensor_msgs/JointState"),
        ("out", "~/controller_state", "ilr_dynamics_msgs/ControllerState"),
        ("out", "~/external_torque", "ilr_dynamics_msgs/ExternalTorque"),
        ("out", "~/external_wrench", "geometry_msgs/WrenchStamped"),
        ("out", "~/payload", "ilr_dynamics_msgs/PayloadEstimate"),
        ("out", "~/model_fit", "ilr_dynamics_msgs/ModelFit"),
        ("out", "diagnostics", "diagnostic_msgs/DiagnosticArray"),
        ("service", "~/update_model", "ilr_dynamics_msgs/UpdateModel"),
        ("service", "~/load_snapshot", "ilr_dynamics_msgs/LoadSnapshot"),
        ("service", "~/save_snapshot", "ilr_dynamics_msgs/SaveSnapshot"),
        ("service", "~/stop", "std_srvs/Trigger"),
        ("service", "~/hold", "std_srvs/Trigger"),
        ("service", "~/guide", "std_srvs/Trigger"),
        ("service", "~/estimate_payload", "ilr_dynamics_msgs/EstimatePayload"),
        ("service", "~/set_payload", "ilr_dynamics_msgs/SetPayload"),
        ("service", "~/clear_payload", "std_srvs/Trigger"),
        ("action", "~/learn", "ilr_dynamics_msgs/Learn"),
        ("action", "~/follow_joint_trajectory", "control_msgs/FollowJointTrajectory"),
    }


def test_pages_show_the_tables_of_every_node_as_they_are(running):
    page = (DOCS / "reference.md").read_text()
    for name in NODES:
        for table in ("summary", "endpoints", "parameters"):
            assert f"<!-- generated {name}.{table} -->\n" in page
    tables = all_tables({name: found for name, (_, found) in running.items()})
    for page in GENERATED:
        text = page.read_text()
        assert "{generated}" not in text
        assert filled(text, tables) == text, f"{page} is not that of the code; run `make docs`"


def test_every_benchmark_says_what_it_measures():
    for line in benchmark_table().splitlines()[2:]:
        assert re.fullmatch(r"\| `make bench NAME=\w+` \| .+[.:] \|", line), line
