# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Parameter files read without a node, by names with dots as the node has them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ilr_dynamics.exceptions import InvalidParameterError
from ilr_dynamics.nodes.parameter_table import ParameterRow
from ilr_dynamics.robot.yaml_config import read_yaml

__all__ = ["check_lists", "check_names", "read_complete_parameters", "read_parameter_file"]

# Parameters that every node has.
_OF_ROS = ("use_sim_time", "start_type_description_service", "qos_overrides.")


def read_parameter_file(path: Path, node: str) -> dict[str, Any]:
    """Return the parameters that a file has for a node.

    Parameters
    ----------
    path : Path
        ROS parameter file.
    node : str
        Full name of the node, such as /left/recorder.

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
        Full name of the node, such as /left/recorder.
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
    """Check that what a file has for a node of this name is for this node, and known to it.

    What it has for every node may be another's.

    Parameters
    ----------
    path : Path
        ROS parameter file.
    node : str
        Full name of the node, such as /left/recorder.
    table : sequence of ParameterRow
        The node's parameters.

    Raises
    ------
    InvalidParameterError
        If a parameter is not in the table, or if all of this name is for other namespaces: the
        node would run on its defaults.
    RobotDescriptionError
        If the file cannot be read.
    """
    name = node.rpartition("/")[2]
    sections = [section for section in read_yaml(path) if section.rpartition("/")[2] == name]
    if sections and not any(_matches(section, node) for section in sections):
        raise InvalidParameterError(
            f"{path} has parameters for {', '.join(sections)} and none for {node}; "
            f"expected them for /**/{name}, which is in any namespace"
        )
    known = [row.name for row in table]
    for section, parameters in _sections(path, node):
        if section not in sections:
            continue
        for parameter in parameters:
            if parameter in known or parameter.startswith(_OF_ROS):
                continue
            similar = difflib.get_close_matches(parameter, known, cutoff=0.0)
            raise InvalidParameterError(
                f"parameter {parameter} in {path} is none of {node}; expected one such as "
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
    """Sections of a file that apply to a node, as name and parameters."""
    for name, content in read_yaml(path).items():
        if _matches(name, node):
            yield name, dict(_flat((content or {}).get("ros__parameters") or {}))


def _matches(section: str, node: str) -> bool:
    """Whether a section applies to a node: as in rclpy, /* is one name and /** any number."""
    if re.fullmatch(r"[\w/*]+", section) is None:
        return False
    pattern = f"/{section.lstrip('/')}".replace("/*", r"(/\w+)")
    return re.fullmatch(pattern, node) is not None


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
