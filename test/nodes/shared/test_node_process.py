# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Controller and simulator keep off Fast DDS's shared memory, or say that they cannot."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

# And what they log when they are there.
NODES = {"inverse_dynamics_node": "waiting to be", "wam_simulator": "simulating wam4"}
SHARED_MEMORY = "/dev/shm/fastdds"
WARNING = "Fast DDS sends through shared memory"
# Nobody else is seen. What is on offer are Fast DDS's own transports.
ALONE = {"ROS_AUTOMATIC_DISCOVERY_RANGE": "OFF"}


def log_and_mapped_files(node, environment, folder, until):
    """Run a node until it has logged something; return its log and what it has mapped then."""
    inherited = {name: value for name, value in os.environ.items() if "PROFILES" not in name}
    command = [sys.executable, "-P", "-m", f"ilr_dynamics.nodes.{node}"]
    log = folder / "log"
    with (
        log.open("w") as stream,
        subprocess.Popen(command, env=inherited | environment, stderr=stream) as process,
    ):
        try:
            deadline = time.monotonic() + 120.0
            while until not in log.read_text() and time.monotonic() < deadline:
                time.sleep(0.02)
            mapped = Path(f"/proc/{process.pid}/maps").read_text()
        finally:
            process.terminate()
    return log.read_text(), mapped


@pytest.mark.parametrize(("node", "ready"), list(NODES.items()))
def test_by_itself_a_node_has_no_shared_memory(node, ready, tmp_path):
    log, mapped = log_and_mapped_files(node, ALONE, tmp_path, ready)
    assert ready in log
    assert WARNING not in log
    assert SHARED_MEMORY not in mapped


@pytest.mark.skipif(
    not os.access("/dev/shm", os.W_OK | os.X_OK),
    reason="Fast DDS has shared memory only where /dev/shm can be written to",
)
@pytest.mark.parametrize("node", NODES)
def test_shared_memory_that_was_asked_for_is_warned_of(node, tmp_path):
    asked = ALONE | {"FASTDDS_BUILTIN_TRANSPORTS": "DEFAULT"}
    log, mapped = log_and_mapped_files(node, asked, tmp_path, WARNING)
    assert WARNING in log
    assert SHARED_MEMORY in mapped
