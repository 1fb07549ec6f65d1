# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Parameter files are read as a node that is started with them reads them."""

from __future__ import annotations

from pathlib import Path

import pytest
import rclpy
from rclpy.node import Node

from ilr_dynamics.exceptions import InvalidParameterError
from ilr_dynamics.nodes.parameter_file import (
    check_lists,
    check_names,
    read_complete_parameters,
    read_parameter_file,
)
from ilr_dynamics.nodes.parameter_table import ParameterRow
from ilr_dynamics.nodes.parameters import INVERSE_DYNAMICS, RECORDER

FIRST = """
/seen: {ros__parameters: {own: here, both: here, a: {b: 1}}}
/**: {ros__parameters: {every: everywhere, both: everywhere}}
/other: {ros__parameters: {every: elsewhere, own: elsewhere}}
"""
SECOND = """
/*: {ros__parameters: {last: everywhere}}
seen: {ros__parameters: {own: later, both: later, last: later}}
"""
NAMESPACES = """
/**/seen: {ros__parameters: {own: anywhere, both: anywhere, last: anywhere}}
/*/seen: {ros__parameters: {both: in one namespace}}
/left/seen: {ros__parameters: {last: left}}
/left/*: {ros__parameters: {every: left}}
"""
TABLE = [
    ParameterRow("own", "", ""),
    ParameterRow("both", "", ""),
    ParameterRow("every", "", ""),
    ParameterRow("last", "", ""),
    ParameterRow("a.b", 0, ""),
    ParameterRow("left_out", 2.0, ""),
]


def write(tmp_path, *texts: str) -> list[Path]:
    paths = [tmp_path / f"{number}.yaml" for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    return paths


@pytest.mark.parametrize(
    ("texts", "namespace"),
    [
        *((texts, "") for texts in [(FIRST, SECOND), (SECOND, FIRST), (FIRST,), (SECOND,)]),
        *(((NAMESPACES,), namespace) for namespace in ("", "/left", "/lab/left")),
    ],
)
def test_parameters_are_those_of_a_node(tmp_path, texts, namespace):
    files = write(tmp_path, *texts)
    options = [word for path in files for word in ("--params-file", str(path))]
    context = rclpy.Context()
    rclpy.init(context=context, args=["--ros-args", "-r", f"__ns:=/{namespace[1:]}", *options])
    node = Node("seen", context=context)
    expected = {row.name: node.declare_parameter(row.name, row.default).value for row in TABLE}
    node.destroy_node()
    rclpy.shutdown(context=context)
    assert read_complete_parameters(files, f"{namespace}/seen", TABLE) == expected


def test_a_file_for_another_namespace_is_refused(tmp_path):
    (file,) = write(tmp_path, "/seen: {ros__parameters: {}}\n/right/seen: {ros__parameters: {}}")
    text = r"for /seen, /right/seen and none for /left/seen; expected them for /\*\*/seen"
    with pytest.raises(InvalidParameterError, match=text):
        check_names(file, "/left/seen", TABLE)


def test_a_node_that_a_file_does_not_name_has_what_every_node_has(tmp_path):
    first, second = write(tmp_path, FIRST, SECOND)
    assert read_parameter_file(first, "/unnamed") == {"every": "everywhere", "both": "everywhere"}
    assert read_parameter_file(second, "/unnamed") == {"last": "everywhere"}


@pytest.mark.parametrize("text", ["/**:\n", "visualizer:\n", "/visualizer:\n  ros__parameters:\n"])
def test_a_node_without_content_has_no_parameters(tmp_path, text):
    file = tmp_path / "parameters.yaml"
    file.write_text(text)
    assert read_parameter_file(file, "/visualizer") == {}


@pytest.mark.parametrize(
    ("own", "text"),
    [
        (
            "{a: {c: 1}}",
            r"a\.c in \S+0\.yaml is none of /seen; expected .* such as a\.b",
        ),
        (
            "{a: {b: 1.5}}",
            r"a\.b in \S+0\.yaml is 1\.5; expected an integer from 0 to 9",
        ),
        ("{a: {b: 10}}", r"a\.b in \S+0\.yaml is 10; expected an integer from 0 to 9"),
        ("{left_out: 2}", "left_out .* is 2; expected a float: write 2.0, not 2"),
        ("{}", r"parameter given is not in \S+0\.yaml for /seen; expected what has no default"),
    ],
)
def test_what_is_wrong_in_a_file_is_said_with_its_name(tmp_path, own, text):
    table = [
        ParameterRow("a.b", 0, "", within=(0, 9)),
        ParameterRow("left_out", 2.0, ""),
        ParameterRow("given", None, "what has no default"),
    ]
    files = write(tmp_path, f"/seen: {{ros__parameters: {own}}}")
    with pytest.raises(InvalidParameterError, match=text):
        read_complete_parameters(files, "/seen", table)


def test_what_every_node_may_have_is_no_unknown_name(tmp_path):
    own = "{own: a, use_sim_time: true, qos_overrides: {/joint_states: {depth: 1}}}"
    (file,) = write(
        tmp_path,
        f"/seen: {{ros__parameters: {own}}}\n/**: {{ros__parameters: {{anything: 1}}}}\n"
        "/other: {ros__parameters: {another: 1}}",
    )
    check_names(file, "/seen", TABLE)


@pytest.mark.parametrize("section", ["/inverse_dynamics", "/**"])
def test_list_of_several_types_is_named(tmp_path, section):
    file = tmp_path / "arm.yaml"
    file.write_text(f"{section}:\n  ros__parameters:\n    gains:\n      kp: [80, 90.0]\n")
    check_names(file, "/inverse_dynamics", INVERSE_DYNAMICS)
    with pytest.raises(
        InvalidParameterError,
        match=r"gains.kp in .*arm.yaml is \[80, 90.0\]; expected floats, .*: write 80.0, not 80$",
    ):
        check_lists(file, "/inverse_dynamics", INVERSE_DYNAMICS)
    check_lists(file, "/recorder", RECORDER)
