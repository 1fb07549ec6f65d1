# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""A set-up that fails or is interrupted says so, and goes on the next time."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pip
import pytest

ROOT = Path(__file__).parents[2]
# The environment is made without pip's own installation, which would take seconds: it is found on
# PYTHONPATH.
PYTHON = f"""#!/bin/sh
case "$1 $2" in
"-m venv") exec "{sys.executable}" -m venv --without-pip "$3" ;;
"-c "*_base_executable*) echo "$0" ;;
*) exec "{sys.executable}" "$@" ;;
esac
"""
pytestmark = pytest.mark.skipif(
    shutil.disk_usage(tempfile.gettempdir()).free < 2e9,
    reason="the set-up refuses a disk that is nearly full",
)


@pytest.fixture
def index():
    """A package index that is asked and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60.0)
        yield server


@dataclass
class FirstRun:
    """What a set-up left and said whose index nobody serves."""

    checkout: Path
    returncode: int
    out: str
    err: str


@pytest.fixture(scope="module")
def first_run(tmp_path_factory):
    """Run the set-up in just what it needs to come to pip, where half an environment is there."""
    folder = tmp_path_factory.mktemp("setup")
    checkout = folder / "ilr"
    for name in ("tools", "requirements"):
        shutil.copytree(ROOT / name, checkout / name)
    for name in ("package.xml", "setup.py", "setup.cfg", "colcon_defaults.yaml"):
        shutil.copy(ROOT / name, checkout)
    (folder / "pip").mkdir()
    (folder / "pip" / "pip").symlink_to(Path(pip.__file__).parent)
    python = folder / "python"
    python.write_text(PYTHON)
    python.chmod(0o755)
    (checkout / ".venv" / "bin").mkdir(parents=True)
    (checkout / ".venv" / "bin" / "python").touch()
    with start(checkout, closed_port()) as setup:
        out, err = setup.communicate(timeout=60.0)
    return FirstRun(checkout, setup.returncode, out, err)


@pytest.fixture
def checkout(first_run):
    """A checkout with an environment in which packages are missing."""
    return first_run.checkout


def start(checkout, port):
    """Start a set-up whose packages come from a port of this machine."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PIP_", "ROS_", "AMENT_"))
    }
    environment |= {
        "PYTHON": str(checkout.parent / "python"),
        "PYTHONPATH": str(checkout.parent / "pip"),
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_INDEX_URL": f"http://127.0.0.1:{port}/simple",
        "PIP_RETRIES": "1",
    }
    return subprocess.Popen(
        [checkout / "tools" / "setup"],
        cwd=checkout,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Tests that run in the background ignore it, and what they start inherits that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def closed_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def is_locked(checkout):
    with (checkout / "log" / "setup" / "lock").open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def test_half_an_environment_is_made_anew(first_run):
    assert re.search(r"^Python environment \(.venv\) +\d+ s$", first_run.out, re.MULTILINE)
    subprocess.run([first_run.checkout / ".venv" / "bin" / "python", "-c", ""], check=True)


def test_a_network_that_fails_is_named(first_run):
    assert first_run.returncode == 1
    assert re.search(r"^ROS 2 +failed after \d+ s$", first_run.out, re.MULTILINE)
    assert first_run.err.count("the network failed: ") == 1
    assert re.search(r"^    ERROR: No matching distribution found", first_run.err, re.MULTILINE)
    assert first_run.err.endswith(
        "setup: the whole log is log/setup/install_ros.log; the next run goes on with this stage\n"
    )
    assert len(first_run.err.splitlines()) < 6


def test_the_next_run_goes_on_without_what_pip_left_half_installed(checkout):
    (packages,) = (checkout / ".venv" / "lib").glob("python3*/site-packages")
    for name in ("whole-1.0.dist-info", "half-1.0.dist-info", "~eplaced-1.0.dist-info"):
        (packages / name).mkdir()
        (packages / name / "METADATA").touch()
    (packages / "whole-1.0.dist-info" / "RECORD").touch()
    with start(checkout, closed_port()) as setup:
        out, _ = setup.communicate(timeout=60.0)
    assert "Python environment" not in out
    assert [path.name for path in packages.glob("*.dist-info")] == ["whole-1.0.dist-info"]


def test_interruption_ends_what_runs_and_says_so(checkout, index):
    with start(checkout, index.getsockname()[1]) as setup:
        connection, _ = index.accept()
        with connection:
            setup.send_signal(signal.SIGINT)
            out, _ = setup.communicate(timeout=60.0)
            assert setup.returncode == 130
            assert "interrupted: the next run goes on where this one stopped" in out
            # The one that asked has ended: nothing more comes.
            connection.settimeout(60.0)
            while connection.recv(65536):
                pass
    assert not is_locked(checkout)


def test_what_a_killed_setup_left_running_is_waited_for_and_named(checkout, index):
    port = index.getsockname()[1]
    with start(checkout, port) as killed:
        connection, _ = index.accept()
        killed.kill()
        killed.communicate(timeout=60.0)
    assert is_locked(checkout)
    with connection, start(checkout, port) as second:
        assert second.stdout is not None
        said = second.stdout.readline()
        assert "waiting for another set-up of this checkout, or what is left of it" in said
        for process in said.rsplit("process ", 1)[1].split():
            os.kill(int(process), signal.SIGKILL)
        # It goes on from there, and so asks the index.
        index.accept()[0].close()
        second.terminate()
        out, _ = second.communicate(timeout=60.0)
    assert "Python environment" not in out
