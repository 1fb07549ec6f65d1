# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Where files may lie that are named over ROS."""

from __future__ import annotations

from ilr_dynamics.nodes.parameter_table import ParameterRow

__all__ = ["DIRECTORIES"]

# Whoever is on the network may call a service or set a parameter, but not this one.
DIRECTORIES = ParameterRow(
    "files.directories",
    ["/data", "~/.ros/ilr_dynamics"],
    "directories that recordings and snapshots must lie in, links followed; /: anywhere",
    read_only=True,
)
