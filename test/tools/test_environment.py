# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for packages of others are for machines that lack these."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
QUESTION = f'source "{ROOT}/tools/environment.sh"; has_ros_package control_msgs'


@pytest.fixture
def lab(tmp_path):
    """Two install prefixes, of which the second has control_msgs."""
    index = tmp_path / "second" / "share" / "ament_index" / "resource_index" / "packages"
    index.mkdir(parents=True)
    (index / "control_msgs").touch()
    return f"{tmp_path / 'first'}:{tmp_path / 'second'}"


def has_control_msgs(**environment):
    names = ("ROS_DISTRO", "AMENT_PREFIX_PATH")
    others = {name: value for name, value in os.environ.items() if name not in names}
    asked = subprocess.run(["bash", "-c", QUESTION], env={**others, **environment})
    return asked.returncode == 0


def test_package_of_the_sourced_ros_is_found(lab):
    assert has_control_msgs(ROS_DISTRO="kilted", AMENT_PREFIX_PATH=lab)
    first = lab.partition(":")[0]
    assert not has_control_msgs(ROS_DISTRO="kilted", AMENT_PREFIX_PATH=first)


def test_wheels_have_no_control_msgs(lab):
    # Without ROS_DISTRO nothing is sourced, and what the prefixes have is not used.
    assert not has_control_msgs(AMENT_PREFIX_PATH=lab)


def test_setup_refuses_arguments_that_it_does_not_know():
    refused = subprocess.run(
        [ROOT / "tools" / "setup", "--tests"], capture_output=True, text=True, timeout=60.0
    )
    assert refused.returncode == 1
    assert "found the argument '--tests'; expected none, or --test" in refused.stderr
