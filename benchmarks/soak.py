# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
A long session as on the arm: tracking without end, and an update once a minute.

Simulator, controller, recorder and trajectory publisher run as processes of their own, over DDS,
in real time, with the parameters of config/wam4.yaml; controller and simulator ask for real-time
priority. The controller sets out without a model, on its analytic fallback; the training
figure-eights follow one another. Minute 0 is only recorded; within each later one the model learns
from the recording of the one before, while tracking goes on. A process that only sleeps shows how
late the machine itself is.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from contextlib import closing, suppress
from itertools import cycle
from pathlib import Path

from _latency_probes import Probe, watch_clock
from _live_session import DECIMATION, add_folder_options, new_folder, parameter_file
from _process_memory import children_peak_size, resident_size
from _soak_minutes import Minute, Observations, draw, minutes_table, summary, was_worse
from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.msg import Transition

from ilr_dynamics.cli.node_processes import NodeProcesses
from ilr_dynamics.cli.operator import Operator
from ilr_dynamics.cli.ros_domain import OwnDomain
from ilr_dynamics.exceptions import IlrDynamicsError, InvalidDataError
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.tool_paths import tool_path_names
from ilr_dynamics_msgs.srv import UpdateModel

CONTROLLER, PUBLISHER = "inverse_dynamics_node", "trajectory_publisher"
MINUTE = 60.0
# As a lab would run controller and driver, where that is allowed.
PRIORITY = {"realtime_priority": 50}


class Session:
    """
    An arm that tracks and learns.

    Parameters
    ----------
    processes
        Where the nodes are started.
    folder
        For recordings and snapshots.
    """

    def __init__(self, processes: NodeProcesses, folder: Path) -> None:
        self._processes, self._folder = processes, folder
        self._parameter_file = parameter_file()
        self._paths = cycle(name for name in tool_path_names() if name.startswith("train"))
        self._publisher: str | None = None
        self._operator = Operator(load_description("wam4").joint_names, self._check)
        self._operator.listen(DiagnosticArray, "/diagnostics", self._on_diagnostics)
        self._observations = Observations()
        self._update: UpdateModel.Response | None = None
        self._observed = 0.0
        self.minutes: list[Minute] = []

    def close(self) -> None:
        """Leave the ROS graph."""
        self._operator.close()

    def run(self, n_minutes: int) -> None:
        """
        Track, and learn once a minute after the first.

        Raises
        ------
        IlrDynamicsError
            If the controller goes to fault or falls silent, a node ends, or an update fails for
            another reason than being worse. What was seen until then is in `minutes`.
        """
        self._start_nodes()
        try:
            for number in range(n_minutes + 1):
                self._track_minute(number)
        except IlrDynamicsError:
            # Not even a part of a minute if the controller fell silent at its start.
            with suppress(InvalidDataError):
                self._end_minute()
            raise

    def _start_nodes(self) -> None:
        files = {"files.directories": [str(self._folder)]}
        controller = {
            "controller": "ilr",
            "controller_state.decimation": DECIMATION,
            **PRIORITY,
            **files,
        }
        self._processes.start("wam_simulator", PRIORITY, self._parameter_file)
        self._processes.start("recorder", files, self._parameter_file)
        self._processes.start(CONTROLLER, controller, self._parameter_file)
        self._operator.change_state(Transition.TRANSITION_CONFIGURE)
        self._operator.activate()
        self._publish_next()
        self._begin_minute()

    def _track_minute(self, number: int) -> None:
        end = time.monotonic() + MINUTE
        self._operator.start_recording(self._recording(number))
        if number > 0:
            self._learn(number)
        self._operator.watch(max(0.0, end - time.monotonic()), self._observe)
        self._operator.stop_recording()
        self._end_minute()

    def _learn(self, number: int) -> None:
        """Update the model from the minute before."""
        recording, snapshot = self._recording(number - 1), self._folder / f"model_{number}.npz"
        self._update = self._operator.try_update(recording, snapshot, self._observe)
        if not self._update.success and not was_worse(self._update):
            raise IlrDynamicsError(f"the update in minute {number}: {self._update.message}")
        shutil.rmtree(recording)

    def _begin_minute(self) -> None:
        self._operator.clear_states()
        self._observations, self._update = Observations(), None

    def _end_minute(self) -> None:
        record, number = self._operator.answered_states(), len(self.minutes)
        minute = Minute(number, record, self._observations, self._update)
        self.minutes.append(minute)
        tracked = minute.tracked
        print(
            f"minute {number}: {tracked.mean_squared_error:.2e} rad^2, "
            f"PD torque {tracked.mean_pd_torque:.2f} Nm"
            + (f"; update: {self._update.message}" if self._update else ""),
            *minute.warnings(),
            sep="\n    ",
            flush=True,
        )
        self._begin_minute()

    def _check(self) -> None:
        """Called while waiting: keep the arm moving, and see that the nodes are alive."""
        self._processes.check()
        if self._publisher is not None and not self._processes.running(self._publisher):
            self._publish_next()

    def _publish_next(self) -> None:
        name = next(self._paths)
        self._publisher = f"{PUBLISHER}_{name}"
        self._processes.start(
            PUBLISHER, {"trajectory": name}, self._parameter_file, self._publisher, may_end=True
        )

    def _observe(self, elapsed: float) -> None:
        """Note the memory: the learner's always, as it may end soon, the node's once a second."""
        pid, seen, now = self._processes.pid(CONTROLLER), self._observations, time.monotonic()
        seen.learner_size = max(seen.learner_size, children_peak_size(pid))
        if now - self._observed > 1.0:
            seen.node_sizes.append(resident_size(pid))
            self._observed = now

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        self._observations.add_diagnostics(message)

    def _recording(self, number: int) -> Path:
        return self._folder / f"recording_{number}"


def main() -> int:
    """Track and learn; 0 if there was no fault and no update failed."""
    options = _options()
    folder = new_folder(options, "soak")
    failed = False
    with OwnDomain() as domain, NodeProcesses(folder) as processes:
        os.environ.update(domain.environment())
        session = Session(processes, folder)
        with closing(session), Probe(watch_clock, PRIORITY["realtime_priority"]) as clock:
            try:
                session.run(options.minutes)
            except IlrDynamicsError as error:
                failed = True
                print(f"soak: {error}\n(the nodes' logs are in {folder})", file=sys.stderr)
            lateness = clock.result()
    if not session.minutes:
        return 1
    print(f"\n{minutes_table(session.minutes)}\n")
    options.figures.mkdir(parents=True, exist_ok=True)
    draw(session.minutes, options.figures / "soak.png")
    figures = summary(session.minutes, lateness)
    print(json.dumps({"benchmark": "soak", **figures}))
    return int(failed or figures["faults"] > 0)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--minutes",
        type=int,
        default=15,
        help="minutes with an update in each, after the first one without (%(default)s)",
    )
    add_folder_options(parser)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
