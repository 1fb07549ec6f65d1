# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Parameter files read without a node, by names with dots as the node has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ilr_dynamics.robot.yaml_config import read_yaml

__all__ = ["read_parameter_file"]


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
    return dict(_flat(read_yaml(path).get(node, {}).get("ros__parameters", {})))


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
