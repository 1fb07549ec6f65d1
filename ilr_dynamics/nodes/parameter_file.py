# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Parameter files read without a node, by names with dots as the node has them."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ilr_dynamics.exceptions import InvalidParameterError
from ilr_dynamics.nodes.parameter_table import ParameterRow
from ilr_dynamics.robot.yaml_config import read_yaml

__all__ = ["check_lists", "check_names", "read_complete_parameters", "read_parameter_file"]

# Sections for every node; this package's nodes have no namespace.
_EVERY_NODE = ("/**", "/*")
# Parameters that every node has.
_OF_ROS = ("use_sim_time", "start_type_description_service", "qos_overrides.")


def read_parameter_file(path: Path, node: str) -> dict[str, Any]:
    """Return the parameters that a file has for a node.

    Parameters
    ----------
    path : Path
        ROS parameter file.
    node : str
        Name of the node, with its slash.

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
        ROS parameter files; a later one takes precedence.
    node : str
        Name of the node, with its slash.
    table : sequence of ParameterRow
        The node's parameters.

    Raises
    ------
    InvalidParameterError
        If the node would refuse a value, a name is unknown, or a parameter without a default is
        missing.
    RobotDescriptionError
        If the file cannot be read.
    """
    for path in paths:
        check_names(path, node, table)
    given = _given(paths, node)
    where = f" in {', '.join(map(str, paths))}"
    values = {}
    for row in table:
        values[row.name] = given.get(row.name, row.default)
        if values[row.name] is None:
            raise InvalidParameterError(
                f"parameter {row.name} is not{where} for {node}; expected {row.description}"
            )
        row.check(values[row.name], where)
    return values


def check_names(path: Path, node: str, table: Sequence[ParameterRow]) -> None:
    """Check the names of the parameters that a file has for this very node.

    Those for every node may be another's.

    Raises
    ------
    InvalidParameterError
        If one is not in the table.
    RobotDescriptionError
        If the file cannot be read.
    """
    known = [row.name for row in table]
    for section, parameters in _sections(path, node):
        if f"/{section.lstrip('/')}" in _EVERY_NODE:
            continue
        for name in parameters:
            if name in known or name.startswith(_OF_ROS):
                continue
            similar = difflib.get_close_matches(name, known, cutoff=0.0)
            raise InvalidParameterError(
                f"parameter {name} in {path} is none of {node}; expected one such as "
                f"{', '.join(similar)}"
            )


def check_lists(path: Path, node: str, table: Sequence[ParameterRow]) -> None:
    """Check the lists that a file has for a node, which ROS reads only if their types are alike.

    Raises
    ------
    InvalidParameterError
        If one holds values of several types, such as integers and floats; the text names it.
    RobotDescriptionError
        If the file cannot be read.
    """
    rows = {row.name: row for row in table}
    for _, parameters in _sections(path, node):
        for name, value in parameters.items():
            mixed = isinstance(value, list) and len({type(entry) for entry in value}) > 1
            if mixed and name in rows:
                rows[name].check(value, f" in {path}")


def _given(paths: Sequence[Path], node: str) -> dict[str, Any]:
    """Return what files have for a node and for every node, with ROS's precedence.

    Of one section a later file takes precedence; among sections the one whose first mention is
    the last.
    """
    given: dict[str, dict[str, Any]] = {}
    for path in paths:
        for section, parameters in _sections(path, node):
            given.setdefault(section, {}).update(parameters)
    return {name: value for values in given.values() for name, value in values.items()}


def _sections(path: Path, node: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Sections of a file for a node and for every node, as name and parameters."""
    for name, content in read_yaml(path).items():
        if f"/{name.lstrip('/')}" in (*_EVERY_NODE, node):
            yield name, dict(_flat((content or {}).get("ros__parameters") or {}))


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
