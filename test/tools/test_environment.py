# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What the tools of a checkout find: its folder, a Python, and packages of others."""

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


def test_checkout_has_one_name_whichever_link_leads_to_it(tmp_path):
    link = tmp_path / "link"
    link.symlink_to(ROOT)
    question = 'cd "$1" && source tools/environment.sh && printf %s "$root"'
    asked = subprocess.run(
        ["bash", "-c", question, "_", link],
        # Where cd would look for `tools` first, and say where it found it.
        env={**os.environ, "CDPATH": f".:{tmp_path}"},
        capture_output=True,
        text=True,
    )
    assert asked.stdout == str(ROOT.resolve()), asked.stderr


def test_python_that_does_not_run_is_named(tmp_path):
    python = tmp_path / "python3.12"
    python.write_text("#!/bin/sh\necho 'pyenv: python3.12: command not found' >&2\nexit 127\n")
    python.chmod(0o755)
    refused = subprocess.run(
        [ROOT / "tools" / "setup"],
        env={**os.environ, "PYTHON": str(python)},
        capture_output=True,
        text=True,
        timeout=60.0,
    )
    assert refused.returncode == 1
    reason, advice = refused.stderr.splitlines()
    assert reason == f"setup: '{python}' does not run: pyenv: python3.12: command not found"
    assert advice.startswith("setup: Name a Python that does")
