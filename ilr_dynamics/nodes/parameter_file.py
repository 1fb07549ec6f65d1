# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Parameter files read without a node, by names with dots as the node has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rclpy.parameter import Parameter

from ilr_dynamics.exceptions import InvalidParameterError
from ilr_dynamics.nodes.parameter_table import ParameterRow
from ilr_dynamics.robot.yaml_config import read_yaml

__all__ = ["read_complete_parameters", "read_parameter_file"]

# Whose parameters those of every node are; this package's nodes have no namespace.
_EVERY_NODE = ("/**", "/*")


def read_parameter_file(path: Path, node: str) -> dict[str, Any]:
    """Return the parameters that a file has for a node.

    Parameters
    ----------
    path : Path
        ROS parameter file.
    node : str
        Name of the node, with its slash; without parameters in the file it has none.

    Raises
    ------
    RobotDescriptionError
        If the file cannot be read.
    """
    return _given([path], node)


def read_complete_parameters(
    paths: Sequence[Path], node: str, table: Sequence[ParameterRow]
) -> dict[str, Any]:
    """Return the values of all parameters of a node that is started with parameter files.

    Parameters
    ----------
    paths : sequence of Path
        ROS parameter files; what a later one says goes before.
    node : str
        Name of the node, with its slash.
    table : sequence of ParameterRow
        The node's parameters.

    Raises
    ------
    InvalidParameterError
        If a value is of another type than the node accepts, or one without a default is missing.
    RobotDescriptionError
        If the file cannot be read.
    """
    given = _given(paths, node)
    files = ", ".join(map(str, paths))
    values = {}
    for row in table:
        if row.name not in given and not row.has_default:
            raise InvalidParameterError(
                f"parameter {row.name} is not in {files} for {node}: expected {row.description}"
            )
        value = given.get(row.name, row.default)
        if Parameter.Type.from_parameter_value(value) is not row.type:
            raise InvalidParameterError(
                f"parameter {row.name} in {files} is {value!r}: expected a value of type "
                f"{row.type.name.lower()}"
            )
        values[row.name] = value
    return values


def _given(paths: Sequence[Path], node: str) -> dict[str, Any]:
    """Return what files say of a node, or of every node, with ROS's precedence.

    What a later file says goes before; but between a node and every node that of which the files
    speak last for the first time.
    """
    given: dict[str, dict[str, Any]] = {}
    for path in paths:
        for key, content in read_yaml(path).items():
            if f"/{key.lstrip('/')}" in (*_EVERY_NODE, node):
                parameters = (content or {}).get("ros__parameters") or {}
                given.setdefault(key, {}).update(_flat(parameters))
    return {name: value for values in given.values() for name, value in values.items()}


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
