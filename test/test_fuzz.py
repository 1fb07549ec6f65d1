# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""A few of the inputs that `make bench NAME=fuzz` has many of."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

FUZZ = Path(__file__).parents[1] / "benchmarks" / "fuzz.py"


def test_odd_files_are_refused_or_of_use():
    command = [sys.executable, "-W", "ignore", str(FUZZ), "--inputs", "50"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    summary = json.loads(done.stdout.splitlines()[-1])
    assert (summary["inputs"], summary["faults"]) == (200, 0)
    assert 0 < summary["loaded"] < 200
