# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Demo: record, learn and track with a simulated arm.

Simulator, controller and recorder run as separate processes that communicate over DDS, in a
separate ROS domain. In each of three rounds the arm tracks figure-eights at several speeds, is
recorded and learns from the recording; then it tracks the figure-eight at a speed that was never
recorded. Finally a new controller loads the snapshot and tracks the same.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from ament_index_python.packages import get_package_share_directory
from lifecycle_msgs.msg import Transition

from ilr_dynamics.cli.demo_figures import draw_torques, draw_tracks
from ilr_dynamics.cli.demo_results import DemoResults, summary, table
from ilr_dynamics.cli.node_processes import NodeProcesses
from ilr_dynamics.cli.operator import Operator
from ilr_dynamics.cli.ros_domain import OwnDomain
from ilr_dynamics.cli.stage_bar import StageBar
from ilr_dynamics.cli.tracking_record import TrackingRecord
from ilr_dynamics.exceptions import IlrDynamicsError
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.joint_motion import JointMotion
from ilr_dynamics.robot.rigid_body import RigidBodyModel
from ilr_dynamics.robot.tool_paths import joint_path, tool_path, tool_path_names

__all__ = ["main"]

ROBOT = "wam4"
TEST = "T1"
# Rate of knots, Hz: quintic interpolation between them is exact to micrometres at these speeds.
KNOT_RATE = 25.0
N_ROUNDS = 3
# Joint states per controller state: reports at 100 Hz describe the motion and cost little.
DECIMATION = 5
# Timeout of silence, s: in lock-step the simulator waits for torques, which is no silence.
SILENCE_TIMEOUT = 10.0
# Local models alone: without confidence gate, analytic model as fallback or identified dynamics.
# On a real arm the defaults of config/wam4.yaml are the safer choice.
LOCAL_MODELS_ALONE = {
    "learning.identify_dynamics": False,
    "gate.unseen_trusted": 0.999,
    "gate.unseen_refused": 1.0,
    "gate.std_trusted": [1e3] * 4,
    "gate.std_refused": [2e3] * 4,
    "feedforward.fallback": "none",
}


class Demo:
    """
    Stages of the demo.

    Parameters
    ----------
    processes : NodeProcesses
        Processes of the nodes.
    operator : Operator
        Client that operates the nodes.
    folder : Path
        Folder for recordings, snapshots and pictures.
    parameter_file : Path
        ROS parameters of the nodes.
    training_time : float
        Time for which each training trajectory is tracked in each round, s.
    """

    def __init__(
        self,
        processes: NodeProcesses,
        operator: Operator,
        folder: Path,
        parameter_file: Path,
        training_time: float,
    ) -> None:
        self.results = DemoResults()
        description = load_description(ROBOT)
        self.joints = description.joint_names
        self.model = RigidBodyModel(description)
        self._processes = processes
        self._operator = operator
        self._folder = folder
        self._parameter_file = parameter_file
        training = [name for name in tool_path_names() if name.startswith("train")]
        self._training = {name: self._motion(name, training_time) for name in training}
        self._test = self._motion(TEST)

    def run(self) -> None:
        """Run all stages."""
        self._start_nodes()
        results = self.results
        results.records["pd"] = self._track_test("pd", "PD alone")
        results.records["analytic"] = self._track_test("analytic", "analytic model + PD")
        for round_number in range(1, N_ROUNDS + 1):
            bag = self._record(round_number)
            self._learn(round_number, bag)
            results.rounds.append(self._track_test("ilr", f"ILR + PD after round {round_number}"))
        results.records["ilr"] = results.rounds[-1]
        self._restart_controller()
        self._operator.load_snapshot(self._snapshot(N_ROUNDS))
        results.records["loaded"] = self._track_test("ilr", "ILR + PD, snapshot loaded")

    def _start_nodes(self) -> None:
        self._processes.start(
            "wam_simulator",
            {"lock_step": "true", "real_time_factor": 0.0, "answer_timeout": 5.0},
            self._parameter_file,
        )
        self._processes.start(
            "recorder", {"files.directories": [str(self._folder)]}, self._parameter_file
        )
        self._start_controller()

    def _start_controller(self) -> None:
        self._processes.start(
            "inverse_dynamics_node",
            {
                "controller_state.decimation": DECIMATION,
                "supervision.silence_timeout": SILENCE_TIMEOUT,
                "files.directories": [str(self._folder)],
                **LOCAL_MODELS_ALONE,
            },
            self._parameter_file,
        )
        self._operator.change_state(Transition.TRANSITION_CONFIGURE)

    def _restart_controller(self) -> None:
        print("A second controller starts fresh and loads the snapshot", flush=True)
        self._processes.stop("inverse_dynamics_node")
        self._start_controller()

    def _track_test(self, controller: str, label: str) -> TrackingRecord:
        self._operator.set_parameters("inverse_dynamics", controller=controller)
        record = self._follow(self._test, f"{TEST}: {label}")
        print(
            f"    {record.mean_squared_error:.2e} rad^2, PD torque {record.mean_pd_torque:.2f} Nm",
            flush=True,
        )
        return record

    def _record(self, round_number: int) -> Path:
        controller = "pd" if round_number == 1 else "ilr"
        self._operator.set_parameters("inverse_dynamics", controller=controller)
        bag = self._folder / f"recording_{round_number}"
        self._operator.start_recording(bag)
        for name, motion in self._training.items():
            self._follow(motion, f"round {round_number}: record {name}")
        self._operator.stop_recording()
        return bag

    def _learn(self, round_number: int, bag: Path) -> None:
        """Learn while the controller holds the arm, in real time."""
        operator = self._operator
        operator.set_parameters("wam_simulator", real_time_factor=1.0)
        operator.activate()
        with _progress_bar(f"round {round_number}: learn", None) as waiting:
            answer = operator.update_model(bag, self._snapshot(round_number), waiting)
        meanwhile = operator.answered_states()
        operator.deactivate()
        operator.set_parameters("wam_simulator", real_time_factor=0.0)
        self.results.loop_times.append(meanwhile.loop_time)
        self.results.samples += answer.samples_used
        self.results.components = answer.components_after
        self.results.learn_s += answer.learning_time
        print(
            f"    {answer.samples_used} samples, {answer.samples_rejected} left out, "
            f"{answer.components_before} -> {answer.components_after} local models in "
            f"{answer.learning_time:.1f} s; meanwhile the arm was held for "
            f"{meanwhile.time[-1]:.1f} s, with never more than "
            f"{1e3 * np.max(np.diff(meanwhile.time)):.0f} ms between two reports",
            flush=True,
        )

    def _follow(self, motion: JointMotion, label: str) -> TrackingRecord:
        with _progress_bar(label, float(motion.times[-1])) as progress:
            record = self._operator.follow(motion, progress)
        self.results.loop_times.append(record.loop_time)
        return record

    def _motion(self, name: str, duration: float | None = None) -> JointMotion:
        motion = joint_path(tool_path(name), self.model, KNOT_RATE)
        kept = motion.times <= (np.inf if duration is None else duration)
        return JointMotion(*(part[kept] for part in motion))

    def _snapshot(self, round_number: int) -> Path:
        return self._folder / f"model_{round_number}.npz"


def _progress_bar(label: str, total: float | None) -> StageBar:
    """Return a bar for seconds of motion, or of waiting."""
    if total is None:
        return StageBar(f"{label:36s}", sys.stdout, total=None, count="{n:6.1f} s")
    return StageBar(
        f"{label:36s}",
        sys.stdout,
        total=total,
        count="{n:6.1f} of {total:.1f} s",
        bar=" |{bar:30}|",
    )


def _draw(demo: Demo, folder: Path) -> list[Path]:
    records = demo.results.records
    tracks, torques = folder / "tracks.png", folder / "torques.png"
    shown = {kind: records[kind] for kind in ("pd", "analytic", "ilr")}
    draw_tracks(tracks, shown, demo.model, "An eight at a speed that was never recorded")
    draw_torques(torques, records["ilr"], demo.joints, "ILR + PD after three rounds")
    return [tracks, torques]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="demo", description="A simulated arm records itself, learns and tracks."
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("output"),
        help="a folder is made in here for recordings, snapshots, logs and pictures (%(default)s)",
    )
    parser.add_argument(
        "--training-time",
        type=float,
        default=8.0,
        metavar="SECONDS",
        help="how long each training trajectory is tracked in each round (%(default)s)",
    )
    parser.add_argument(
        "--json", action="store_true", help="print all figures in the last line, as JSON"
    )
    return parser


def main(args: Sequence[str] | None = None) -> int:
    """Run the demo; 0 on success, 1 if something failed, 130 after Ctrl-C."""
    options = _parser().parse_args(args)
    folder = options.output.absolute() / time.strftime("demo-%Y%m%d-%H%M%S")
    try:
        folder.mkdir(parents=True)
    # ValueError: a path with a null byte.
    except (OSError, ValueError) as error:
        print(f"demo: no folder can be made in {str(options.output)!r} ({error})", file=sys.stderr)
        return 1
    parameter_file = Path(get_package_share_directory("ilr_dynamics")) / "config" / f"{ROBOT}.yaml"
    print(f"Everything is written to {folder}", flush=True)
    try:
        with OwnDomain() as domain, NodeProcesses(folder) as processes:
            os.environ.update(domain.environment())
            joints = load_description(ROBOT).joint_names
            operator = Operator(joints, processes.check)
            try:
                demo = Demo(processes, operator, folder, parameter_file, options.training_time)
                demo.run()
            finally:
                operator.close()
    except IlrDynamicsError as error:
        print(f"\ndemo: {error}\n(the nodes' logs are in {folder})", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"\nstopped; what was recorded so far is in {folder}", file=sys.stderr)
        return 130
    pictures = _draw(demo, folder)
    print(f"\n{table(demo.results, TEST)}\n")
    for picture in pictures:
        print(f"picture: {picture}")
    if options.json:
        print(json.dumps(summary(demo.results)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
