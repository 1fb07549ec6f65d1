# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The end of a node's process is limited in time."""

from __future__ import annotations

import subprocess
import sys

import pytest

CODE = """
import sys, time
from ilr_dynamics.nodes.shared.node_process import limited_end

def destroy(seconds):
    time.sleep(seconds)

with limited_end(0.3):
    destroy(float(sys.argv[1]))
time.sleep(0.5)
"""


@pytest.mark.parametrize(("seconds", "code"), [(0.0, 0), (60.0, 1)], ids=["in time", "too long"])
def test_process_that_cannot_end_is_ended_with_a_traceback(seconds, code):
    command = [sys.executable, "-c", CODE, str(seconds)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert ended.returncode == code
    assert ("in destroy" in ended.stderr) == (code == 1)
