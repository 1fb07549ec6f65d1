# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
A report of a simulated arm: what it takes to make, and its pictures for the documentation.

The arm is recorded at two speeds, a model learns each recording on top of the other, and the
controller tracks a path with it that was not recorded. `train` and `report` are called as by a
person; what they need is measured.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import re
import sys
import time
from pathlib import Path

import numpy as np
from _live_session import add_folder_options, new_folder
from _simulated_motion import Arm
from rclpy.serialization import serialize_message

from ilr_dynamics.cli import report, train
from ilr_dynamics.cli.table import format_table
from ilr_dynamics.control import (
    ConfidenceGate,
    FeedForward,
    LearnedFeedForward,
    RigidBodyFeedForward,
    TrackingResult,
    track,
)
from ilr_dynamics.nodes.recorder import CONTROLLER_STATE, controller_state_definition
from ilr_dynamics.recording import RecordingWriter
from ilr_dynamics.regression import load_snapshot
from ilr_dynamics.robot.tool_paths import tool_path
from ilr_dynamics_msgs.msg import ControllerState

# One recording and model after the other, and the path on which the last is judged.
LEARNED, TEST = ("train_6", "train_3.8"), "T1"
# Controller states are reported once in so many cycles.
DECIMATION = 5
STATES, COMMANDS = "/joint_states", "/joint_torque_command"
REPORTS = "/inverse_dynamics/controller_state"
PICTURE = re.compile(rb'alt="([^"]*)" src="data:image/png;base64,([^"]*)"')
"""Pictures of a report with what they show."""
DOCUMENTED = {
    "Friction of each joint": "report_friction.png",
    "Worst second": "report_worst_second.png",
    "Doubt by the place of the tool point, from the side": "report_workspace.png",
}


def main() -> int:
    """Make a report, print a table of its parts and a line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--robot", choices=("wam4", "wam7"), default="wam4")
    add_folder_options(parser)
    options = parser.parse_args()
    folder = new_folder(options, "report")
    arm = Arm(0, options.robot)
    analytic = RigidBodyFeedForward(arm.model)
    models: list[Path] = []
    for name in LEARNED:
        bag = folder / name
        recorded = _track(arm, analytic, name)
        write_bag(bag, arm, recorded, "analytic", "")
        models.append(folder / f"model_{name}.npz")
        before = ["--snapshot", str(models[-2])] if len(models) > 1 else []
        arguments = [str(bag), "-o", str(models[-1]), "--robot", options.robot, *before]
        if train.main(arguments):
            return 1
    learned = LearnedFeedForward(
        load_snapshot(models[-1]).predictor(), _trusting(arm), fallback=analytic
    )
    tested = _track(arm, learned, TEST)
    write_bag(folder / TEST, arm, tested, "ilr", models[-1].name)
    page = folder / "report.html"
    bags = [str(folder / name) for name in (TEST, LEARNED[-1])]
    arguments = [str(models[-1]), *bags, "--since", str(models[0]), "--html", str(page)]
    begin, used = time.perf_counter(), time.process_time()
    if report.main(arguments):
        return 1
    seconds, used = time.perf_counter() - begin, time.process_time() - used
    _save_pictures(page, options.figures)
    row = {
        "recorded [s]": round(float(recorded.time[-1] + tested.time[-1])),
        "local models": load_snapshot(models[-1]).n_active_,
        "time [s]": round(seconds, 2),
        "of a processor [s]": round(used, 2),
        "size [MB]": round(page.stat().st_size / 1e6, 2),
        "load": round(os.getloadavg()[0], 1),
    }
    print(format_table(list(row), [list(row.values())]))
    print(json.dumps({"benchmark": "report", "robot": options.robot, **row}))
    return 0


def _track(arm: Arm, feedforward: FeedForward, name: str) -> TrackingResult:
    return track(arm.plant, arm.controller(feedforward), arm.joint_path(tool_path(name)))


def _trusting(arm: Arm) -> ConfidenceGate:
    limit = arm.description.torque_limit
    return ConfidenceGate(0.2, 0.6, 0.1 * limit, 0.3 * limit)


def write_bag(path: Path, arm: Arm, result: TrackingResult, controller: str, model: str) -> None:
    """
    Write a track as the recorder does: states, commands and the controller's reports.

    Parameters
    ----------
    path : Path
        Folder to write.
    arm : Arm
    result : TrackingResult
        What the arm did.
    controller, model : str
        As in ControllerState.
    """
    joints = list(arm.description.joint_names)
    stamps = np.round(1e9 * result.time).astype(int) + 1_000_000_000
    with RecordingWriter(path) as writer:
        writer.add_topic(REPORTS, CONTROLLER_STATE, controller_state_definition())
        for k, stamp in enumerate(stamps.tolist()):
            motion = result.position[k], result.velocity[k]
            writer.write_joint_state(STATES, stamp, joints, *motion)
            writer.write_joint_state(COMMANDS, stamp, joints, effort=result.torque[k])
            if k % DECIMATION == 0:
                state = _report(joints, result, k, stamp)
                state.controller, state.model = controller, model
                writer.write(REPORTS, stamp, serialize_message(state))


def _report(joints: list[str], result: TrackingResult, k: int, stamp: int) -> ControllerState:
    state = ControllerState(mode=ControllerState.TRACKING, joint_names=joints)
    state.header.stamp.sec, state.header.stamp.nanosec = divmod(stamp, 10**9)
    state.desired_position = result.desired[k].tolist()
    state.measured_position = result.position[k].tolist()
    state.feedforward_torque = result.feedforward[k].tolist()
    state.pd_torque = result.pd[k].tolist()
    state.commanded_torque = result.torque[k].tolist()
    state.predicted_std = result.std[k].tolist()
    state.gate = float(result.gate[k])
    return state


def _save_pictures(page: Path, folder: Path) -> None:
    """Take the pictures of the documentation out of a report."""
    folder.mkdir(parents=True, exist_ok=True)
    pictures = PICTURE.findall(page.read_bytes())
    for beginning, name in DOCUMENTED.items():
        data = next(data for shown, data in pictures if shown.startswith(beginning.encode()))
        (folder / name).write_bytes(base64.b64decode(data))
        print(f"picture: {folder / name}")


if __name__ == "__main__":
    sys.exit(main())
