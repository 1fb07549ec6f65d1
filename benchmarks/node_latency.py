# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Timing of the controller while it learns and loads, at 500 Hz or faster: over DDS, in real time.

Simulator, controller and trajectory publisher run as processes of their own. A model of 1,350
occupied components is loaded and updated from a recording, again and again, unless it is to be
left alone; busy programs can run beside. The arm tracks eights. With --guided it is in the hands
of nobody instead and stays where it is: each cycle asks the model for either direction of all
joints, whether they move or not. With --external-torque somebody listens to what pushes at the
arm, on both topics. Measured are the processor time that simulator and controller take and, in
milliseconds, inside: from receipt of a joint state to publication of its torque, as every seventh
cycle reports; outside: from publication of a joint state to arrival of its torque in a third
process; and the lateness of a process that only sleeps, all at the same time, all with the same
real-time priority where that is allowed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import yaml
from _busy_programs import busy_programs
from _latency_model import make_snapshot, write_recording
from _latency_probes import Probe, observe_torques, watch_clock
from _live_session import DECIMATION, add_folder_options, new_folder, parameter_file
from _process_memory import processor_time, resident_size
from geometry_msgs.msg import WrenchStamped
from lifecycle_msgs.msg import Transition
from matplotlib.figure import Figure

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.cli.node_processes import NodeProcesses
from ilr_dynamics.cli.operator import Operator
from ilr_dynamics.cli.ros_domain import OwnDomain
from ilr_dynamics.cli.table import format_table
from ilr_dynamics.exceptions import IlrDynamicsError
from ilr_dynamics.nodes.parameter_file import read_parameter_file
from ilr_dynamics.robot.description import DESCRIPTION_FOLDER, load_description
from ilr_dynamics_msgs.msg import ControllerState, ExternalTorque

NODE, NAME = "inverse_dynamics_node", "inverse_dynamics"
SIMULATOR = "wam_simulator"
PRIORITY = 50
OPTIONS = {
    "controller": "ilr",
    # As a lab would run it, where that is allowed; the simulator, which is the driver, too.
    "realtime_priority": PRIORITY,
    "controller_state.decimation": DECIMATION,
    # When the machine holds everything up, that is measured and does not end in a fault.
    "supervision.input_timeout": 10.0,
    "supervision.silence_timeout": 60.0,
    "supervision.effort_error": 0.0,
    "supervision.tracking_error": [6.0] * 4,
    "supervision.velocity": [50.0] * 4,
}
LATE = 2.0
HISTOGRAM_MS = np.geomspace(0.02, 100.0, 150)


@dataclass
class Requests:
    """What was asked of the controller meanwhile, and the memory and time that it took."""

    loads: int = 0
    updates: int = 0
    external_torques: int = 0
    refusals: list[str] = field(default_factory=list)
    memory: list[tuple[float, float]] = field(default_factory=list)
    load: dict[str, float] = field(default_factory=dict)

    def memory_growth(self) -> float:
        """Median over the last tenth of the time minus that over the first, MB."""
        size = np.array([size for _, size in self.memory])
        tenth = max(1, len(size) // 10)
        return float(np.median(size[-tenth:]) - np.median(size[:tenth]))


class Session:
    """The controller at work, and someone who keeps its learner busy."""

    def __init__(
        self, processes: NodeProcesses, operator: Operator, folder: Path, rate: float
    ) -> None:
        self._processes, self._operator, self._folder = processes, operator, folder
        self._rate = rate
        self._snapshot, self._bag = folder / "large.npz", folder / "recording"
        self.requests = Requests()

    def start(self, *, guided: bool, external_torque: bool) -> None:
        """Have the arm track, or be guided, with the large model."""
        file = parameter_file()
        parameters = read_parameter_file(file, "/inverse_dynamics")
        print("learning a large model ...", flush=True)
        occupied = make_snapshot(self._snapshot, parameters)
        write_recording(self._bag)
        print(f"... of {occupied} occupied components", flush=True)
        simulated = {"realtime_priority": PRIORITY, "plant": str(self._plant())}
        self._processes.start(SIMULATOR, simulated, file)
        options = {**OPTIONS, "rate": self._rate, "files.directories": [str(self._folder)]}
        self._processes.start(NODE, options, file)
        self._operator.change_state(Transition.TRANSITION_CONFIGURE)
        self._operator.load_snapshot(self._snapshot)
        if external_torque:
            self._operator.listen(ExternalTorque, f"{NAME}/external_torque", self._on_torque)
            self._operator.listen(WrenchStamped, f"{NAME}/external_wrench", lambda wrench: None)
        self._operator.activate()
        if guided:
            self._operator.guide()
        else:
            self._processes.start("trajectory_publisher", {"repeat": 0}, file)

    def run(self, seconds: float, *, learning: bool) -> None:
        """Load and update again and again, or leave the controller alone."""
        start, before = time.monotonic(), self._processor_times()
        while (passed := time.monotonic() - start) < seconds:
            if learning:
                self._operator.load_snapshot(self._snapshot)
                self.requests.loads += 1
                self._update()
            else:
                self._note_memory(passed)
                self._operator.watch(min(1.0, seconds - passed), lambda elapsed: None)
            self._processes.check()
        passed = time.monotonic() - start
        times = self._processor_times()
        self.requests.load = {name: (times[name] - before[name]) / passed for name in times}

    def _processor_times(self) -> dict[str, float]:
        """Of both nodes so far, without those of learners, s."""
        return {name: processor_time(self._processes.pid(name)) for name in (NODE, SIMULATOR)}

    def _plant(self) -> Path:
        """Write the arm's plant with cycles of this rate."""
        numbers = yaml.safe_load((DESCRIPTION_FOLDER / "wam4_plant.yaml").read_text())
        numbers["cycle"] = 1.0 / self._rate
        numbers["physics_step"] = min(numbers["physics_step"], numbers["cycle"])
        path = self._folder / "plant.yaml"
        path.write_text(yaml.safe_dump(numbers))
        return path

    def _update(self) -> None:
        snapshot = self._folder / "updated.npz"
        snapshot.unlink(missing_ok=True)
        try:
            # The same recording again and again makes no better model.
            self._operator.update_model(self._bag, snapshot, self._note_memory, accept_worse=True)
            self.requests.updates += 1
        except IlrDynamicsError as error:
            self._processes.check()
            self.requests.refusals.append(str(error))

    def _on_torque(self, message: ExternalTorque) -> None:
        self.requests.external_torques += 1

    def _note_memory(self, elapsed: float) -> None:
        """Once a second, from the first update on."""
        now, memory = time.monotonic(), self.requests.memory
        if not memory or now - memory[-1][0] > 1.0:
            memory.append((now, resident_size(self._processes.pid(NODE))))


def main() -> int:
    """Measure; 0 if the controller went through."""
    options = _options()
    folder = new_folder(options, "node_latency")
    try:
        with OwnDomain() as domain, NodeProcesses(folder) as processes:
            os.environ.update(domain.environment())
            operator = Operator(load_description("wam4").joint_names, processes.check)
            try:
                session = Session(processes, operator, folder, options.rate)
                session.start(guided=options.guided, external_torque=options.external_torque)
                session.run(options.warm_up, learning=options.learning)
                session.requests = Requests()
                operator.clear_states()
                period = 1.0 / options.rate
                with (
                    busy_programs(options.busy),
                    Probe(observe_torques, PRIORITY, period) as observer,
                    Probe(watch_clock, PRIORITY, period) as clock,
                ):
                    session.run(60.0 * options.minutes, learning=options.learning)
                    times, clock_times = observer.result(), clock.result()
                    states = operator.answered_states()
                    inside = 1e3 * states.loop_time
            finally:
                operator.close()
    except IlrDynamicsError as error:
        print(f"node_latency: {error}\n(the nodes' logs are in {folder})", file=sys.stderr)
        return 1
    lateness = 1e3 * clock_times[:, 1]
    unanswered = _unanswered(times, clock_times, period)
    figures = _figures(inside, times, lateness, session.requests)
    figures |= {"rate": options.rate, "busy": options.busy, **unanswered}
    figures |= {"guided": float(np.mean(states.mode == ControllerState.GUIDING))}
    _print_table(inside, times, lateness, session.requests, unanswered)
    options.figures.mkdir(parents=True, exist_ok=True)
    _draw(inside, times, lateness, options.figures / "node_latency.png")
    print(json.dumps({"benchmark": "node_latency", **figures}))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=10.0, help="how long (%(default)s)")
    parser.add_argument(
        "--warm-up",
        type=float,
        default=10.0,
        metavar="SECONDS",
        help="loading and updating before that; ends with an update (%(default)s)",
    )
    parser.add_argument(
        "--rate", type=float, default=500.0, help="of joint states, Hz (%(default)s)"
    )
    parser.add_argument(
        "--busy", type=int, default=0, metavar="N", help="busy programs beside (%(default)s)"
    )
    parser.add_argument(
        "--no-learning",
        dest="learning",
        action="store_false",
        help="load and update nothing while it is measured",
    )
    parser.add_argument(
        "--guided", action="store_true", help="guide the arm by hand; otherwise it tracks"
    )
    parser.add_argument(
        "--external-torque",
        action="store_true",
        help="listen to ~/external_torque and ~/external_wrench",
    )
    add_folder_options(parser)
    return parser.parse_args()


def _unanswered(times: FloatArray, clock: FloatArray, period: float) -> dict[str, int]:
    """
    Count joint states without a torque, also those of them that the machine is not to blame for.

    During the others the bare timer was late by more than a cycle.
    """
    published = times[np.isnan(times[:, 1]), 0]
    due, lateness = clock[clock[:, 1] > period].T
    held_up = (due < published[:, None] + period) & (published[:, None] < due + lateness)
    return {
        "states": len(times),
        "unanswered": len(published),
        "unanswered_in_time": int(np.sum(~np.any(held_up, axis=1))),
    }


def _outside(times: FloatArray) -> FloatArray:
    """Time to each torque, ms; infinite where none came."""
    return np.nan_to_num(1e3 * (times[:, 1] - times[:, 0]), nan=np.inf)


def _figures(
    inside: FloatArray, times: FloatArray, lateness: FloatArray, requests: Requests
) -> dict[str, float | None]:
    outside = _outside(times)
    received = np.sort(times[np.isfinite(times[:, 1]), 1])
    figures = {
        "ms_p50": np.percentile(inside, 50),
        "ms_p99": np.percentile(inside, 99),
        "outside_ms_p50": np.percentile(outside, 50, method="higher"),
        "outside_ms_p99": np.percentile(outside, 99, method="higher"),
        "over_2ms": np.mean(outside > LATE),
        "timer_over_2ms": np.mean(lateness > LATE),
        "timer_ms_p99": np.percentile(lateness, 99),
        "max_gap_ms": 1e3 * np.max(np.diff(received)),
        "timer_max_ms": np.max(lateness),
        "rss_growth_mb": requests.memory_growth(),
        "external_torques": requests.external_torques,
        "controller_load": requests.load[NODE],
        "simulator_load": requests.load[SIMULATOR],
    }
    # JSON knows no infinity, which a percentile is if that many torques are missing.
    return {
        name: float(f"{value:.4g}") if np.isfinite(value) else None
        for name, value in figures.items()
    }


def _print_table(
    inside: FloatArray,
    times: FloatArray,
    lateness: FloatArray,
    requests: Requests,
    unanswered: dict[str, int],
) -> None:
    rows = []
    for name, values in (
        ("inside the node", inside),
        ("outside, queues included", _outside(times)),
        ("bare timer", lateness),
    ):
        percentiles = np.percentile(values, (50, 99, 99.9, 100), method="higher")
        late = f"{100.0 * np.mean(values > LATE):.3f} %"
        rows.append([name, len(values), *(f"{p:.3f}" for p in percentiles), late])
    header = ["latency [ms]", "cycles", "median", "99 %", "99.9 %", "largest", f"over {LATE:g} ms"]
    print("\n" + format_table(header, rows))
    received = np.sort(times[np.isfinite(times[:, 1]), 1])
    print(
        f"joint states without a torque: {unanswered['unanswered']} of {unanswered['states']}, "
        f"{unanswered['unanswered_in_time']} of them while the bare timer was in time"
    )
    for name, load in requests.load.items():
        print(f"{name}: {100 * load:.1f} % of a processor")
    print(f"largest gap between torques: {1e3 * np.max(np.diff(received)):.2f} ms")
    sizes = [size for _, size in requests.memory]
    print(
        f"{requests.loads} loads, {requests.updates} updates; "
        f"the node held {min(sizes):.1f} to {max(sizes):.1f} MB, "
        f"growth {requests.memory_growth():+.2f} MB"
    )
    print(f"external torques received: {requests.external_torques}\n")
    for refusal in requests.refusals:
        print(f"update refused: {refusal}")


def _draw(inside: FloatArray, times: FloatArray, lateness: FloatArray, path: Path) -> None:
    outside = _outside(times)
    figure = Figure(figsize=(8.0, 3.6), layout="constrained")
    axes = figure.subplots()
    for label, values, colour in (
        ("inside the node", inside, "tab:green"),
        ("outside, queues included", outside[np.isfinite(outside)], "tab:blue"),
        ("bare timer", lateness, "black"),
    ):
        weights = np.full(len(values), 1.0 / len(values))
        clipped = np.clip(values, HISTOGRAM_MS[0], HISTOGRAM_MS[-1])
        axes.hist(
            clipped, HISTOGRAM_MS, weights=weights, histtype="step", color=colour, label=label
        )
    axes.axvline(LATE, color="0.5", lw=0.8, ls=":")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("latency, lateness [ms]")
    axes.set_ylabel("share of cycles")
    axes.legend()
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    sys.exit(main())
