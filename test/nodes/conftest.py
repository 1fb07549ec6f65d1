# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""A log and its lines; and let the tests draw markers."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from rclpy.logging import get_logger

from ilr_dynamics.nodes.shared.event_log import EventLog

# Benchmarks are scripts, whose modules are found by their path.
sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))


@pytest.fixture
def log():
    return EventLog(get_logger("test"))


@pytest.fixture
def lines(capfd):
    """Lines since the last call, without stamps."""
    return lambda: [line.split("[test]: ")[1] for line in capfd.readouterr().err.splitlines()]
