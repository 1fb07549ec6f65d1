# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What was shown by hand is played back as the page says."""

import numpy as np
from pages import DOCS, blocks

from ilr_dynamics.recording import RecordingWriter
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.waypoints import read_waypoints, smooth_motion

JOINTS = load_description("wam4").joint_names


def test_a_guided_recording_becomes_waypoints(tmp_path, monkeypatch):
    (script,) = blocks(DOCS / "guiding.md", "python")
    monkeypatch.chdir(tmp_path)
    time = 0.002 * np.arange(2000)
    position = 0.3 * np.sin(time[:, np.newaxis] + np.arange(4))
    with RecordingWriter("shown") as writer:
        for at, angles in zip(time, position, strict=True):
            stamp = 10**18 + round(1e9 * at)
            writer.write_joint_state("/joint_states", stamp, JOINTS, angles)
            writer.write_joint_state("/joint_torque_command", stamp, JOINTS, effort=np.zeros(4))
    exec(script.replace("/data/shown", "shown"), {})  # noqa: S102
    waypoints = read_waypoints("shown.csv")
    assert waypoints.joint_names == JOINTS
    np.testing.assert_array_equal(waypoints.positions, position[::50])
    motion = smooth_motion(waypoints, 25.0)
    # From rest to rest; between the ends it is the motion that was shown.
    amid = (motion.times > 1.0) & (motion.times < 3.0)
    expected = 0.3 * np.sin(motion.times[amid, np.newaxis] + np.arange(4))
    np.testing.assert_allclose(motion.positions[amid], expected, atol=1e-3)
