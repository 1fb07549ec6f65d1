# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""A node on a machine that has no control_msgs."""

import os
import subprocess

from controller_bench import COMMAND, PARAMETERS


def test_node_without_control_msgs_says_so_once_and_runs(tmp_path):
    # An importable package of that name that has no such action comes before the real one.
    (tmp_path / "control_msgs").mkdir()
    (tmp_path / "control_msgs" / "__init__.py").touch()
    path = os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH"))))
    with subprocess.Popen(
        [*COMMAND, *PARAMETERS],
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
        text=True,
    ) as node:
        lines = []
        for line in node.stderr:
            lines.append(line)
            if "waiting to be configured" in line:
                break
        assert node.poll() is None
        node.terminate()
        lines += node.stderr.read().splitlines()
    assert node.returncode == 0
    told = [line for line in lines if "control_msgs" in line]
    assert len(told) == 1, lines
    assert "[INFO]" in told[0]
    assert "control_msgs is not installed: there is no action ~/follow_joint_trajectory" in told[0]
