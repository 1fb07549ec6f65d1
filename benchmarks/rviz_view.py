# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
What RViz shows of an arm that holds, tracks, learns and fails: over DDS, drawn without RViz.

Simulator, controller, recorder and visualizer run as processes of their own, with the parameters
of the package. The markers that the visualizer publishes are drawn at the view of
config/wam_tracking.rviz. Printed is the share of a core that the visualizer takes, before anybody
looks and while the markers are received, and how busy the machine is.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from _live_session import add_folder_options, new_folder
from _marker_view import draw, read_view
from _process_memory import processor_time
from lifecycle_msgs.msg import Transition
from PIL import Image
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from visualization_msgs.msg import Marker, MarkerArray

from ilr_dynamics.cli.node_processes import NodeProcesses
from ilr_dynamics.cli.operator import Operator
from ilr_dynamics.cli.ros_domain import OwnDomain
from ilr_dynamics.exceptions import IlrDynamicsError
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.rigid_body import RigidBodyModel
from ilr_dynamics.robot.tool_paths import joint_path, tool_path

CONFIG = Path(__file__).resolve().parents[1] / "config"
CONTROLLER, SIMULATOR = "inverse_dynamics_node", "wam_simulator"
SIZE = (1280, 800)
KNOT_RATE = 25.0
# Time for which the processor's is measured, and after the start of a motion until it is drawn, s.
MEASURED, DRAWN_AT = 60.0, 9.0
DOCUMENTED = ("rviz_wam4_learned.png", "rviz_wam4_learned_all.png", "rviz_wam4_fault.png")
# Pictures of the visualizer that are waited for and may wait, and time for that at most, s.
N_PICTURES, DEPTH, LONGEST_LOOK = 40, 30, 60.0
NO_DITHER = Image.Dither.NONE


class Viewer:
    """Markers as RViz has them: of each name the newest, until its lifetime is over."""

    def __init__(self) -> None:
        self._markers: dict[tuple[str, int], tuple[float, Marker]] = {}
        self._n_pictures = 0
        self._node = Node("viewer")
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self._node)

    def close(self) -> None:
        """Leave the ROS graph."""
        self._executor.shutdown()
        self._node.destroy_node()

    def look(self) -> None:
        """Subscribe as RViz does."""
        self._node.create_subscription(MarkerArray, "visualizer/markers", self._receive, DEPTH)

    def markers(self) -> list[Marker]:
        """Look for some seconds, and return what is shown then."""
        self._n_pictures = 0
        deadline = time.monotonic() + LONGEST_LOOK
        while self._n_pictures < N_PICTURES and time.monotonic() < deadline:
            self._executor.spin_once(timeout_sec=0.02)
        now = time.monotonic()
        return [
            marker
            for received, marker in self._markers.values()
            if not marker.lifetime.sec or now - received < marker.lifetime.sec
        ]

    def _receive(self, array: MarkerArray) -> None:
        self._n_pictures += 1
        for marker in array.markers:
            key = marker.ns, marker.id
            if marker.action == Marker.ADD:
                self._markers[key] = time.monotonic(), marker
            else:
                self._markers.pop(key, None)


class Session:
    """
    Arm that is looked at.

    Parameters
    ----------
    processes : NodeProcesses
    folder : Path
        For recordings, models, logs and pictures.
    pictures : Path
        For pictures that are in the documentation.
    robot : str
    """

    def __init__(self, processes: NodeProcesses, folder: Path, pictures: Path, robot: str) -> None:
        self._processes, self._folder, self._robot = processes, folder, robot
        self._pictures = pictures
        self._file = CONFIG / f"{robot}.yaml"
        self._model = RigidBodyModel(load_description(robot))
        self._view = read_view(CONFIG / "wam_tracking.rviz", SIZE)
        self._operator = Operator(self._model.description.joint_names, processes.check)
        self._viewer = Viewer()
        self.used: dict[str, float] = {}

    def close(self) -> None:
        """Leave the ROS graph."""
        self._viewer.close()
        self._operator.close()

    def run(self) -> None:
        """Draw the arm in each of its modes."""
        operator, files = self._operator, {"files.directories": [str(self._folder)]}
        self._processes.start(SIMULATOR, {"lock_step": "true"}, self._file)
        self._processes.start("visualizer", files, self._file)
        self._processes.start("recorder", files, self._file)
        self._processes.start(CONTROLLER, files, self._file)
        operator.change_state(Transition.TRANSITION_CONFIGURE)
        operator.activate()
        self._hold("nobody looks")
        self._viewer.look()
        self._hold("holding")
        self._draw("holding")
        operator.deactivate()
        bag = self._folder / "recording"
        operator.start_recording(bag)
        self._track("train_3.8", "analytic")
        operator.stop_recording()
        operator.activate()
        operator.update_model(bag, self._folder / f"{self._robot}_1.npz", lambda elapsed: None)
        operator.deactivate()
        operator.set_parameters("inverse_dynamics", controller="ilr")
        self._track("T1", "learned", twice=True)
        operator.activate()
        self._hold("holding, learned")
        self._fail()

    def _track(self, name: str, label: str, *, twice: bool = False) -> None:
        """Follow a path, and draw on the way."""
        drawn = False

        def progress(elapsed: float) -> None:
            nonlocal drawn
            if elapsed >= DRAWN_AT and not drawn:
                drawn = True
                self._draw(label, twice=twice)

        motion = joint_path(tool_path(name), self._model, KNOT_RATE)
        self._measure(label, lambda: self._operator.follow(motion, progress))

    def _hold(self, label: str) -> None:
        self._measure(label, lambda: self._operator.watch(MEASURED, lambda elapsed: None))

    def _fail(self) -> None:
        """Take the arm's states away: the controller goes to its fault."""
        simulator = self._processes.pid(SIMULATOR)
        os.kill(simulator, signal.SIGSTOP)
        try:
            self._draw("fault")
        finally:
            os.kill(simulator, signal.SIGCONT)

    def _measure(self, label: str, action: Callable[[], object]) -> None:
        """Do something, and say what the visualizer took of a core meanwhile."""
        process = self._processes.pid("visualizer")
        start, before = time.monotonic(), processor_time(process)
        action()
        used = (processor_time(process) - before) / (time.monotonic() - start)
        self.used[label] = used
        load = os.getloadavg()[0]
        print(f"{label}: {100.0 * used:.1f} % of a core, at a load of {load:.1f}", flush=True)

    def _draw(self, label: str, *, twice: bool = False) -> None:
        """Draw what is shown; and once more with the namespaces that are off."""
        markers = self._viewer.markers()
        views = {label: self._view}
        if twice:
            views[f"{label}_all"] = replace(self._view, hidden=frozenset())
        for name, view in views.items():
            path = self._folder / f"rviz_{self._robot}_{name}.png"
            if path.name in DOCUMENTED:
                path = self._pictures / path.name
            # Few colours: the picture is in everybody's clone.
            draw(markers, view).quantize(256, dither=NO_DITHER).save(path, optimize=True)
            print(f"picture: {path}", flush=True)


def main() -> int:
    """Draw and measure; 1 if something failed, 130 after Ctrl-C."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--robot", choices=("wam4", "wam7"), default="wam4")
    add_folder_options(parser)
    options = parser.parse_args()
    options.figures.mkdir(parents=True, exist_ok=True)
    folder = new_folder(options, "rviz_view")
    try:
        with OwnDomain() as domain, NodeProcesses(folder) as processes:
            os.environ.update(domain.environment())
            with closing(Session(processes, folder, options.figures, options.robot)) as session:
                session.run()
    except IlrDynamicsError as error:
        print(f"rviz_view: {error}\n(the nodes' logs are in {folder})", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    print(json.dumps({"benchmark": "rviz_view", "robot": options.robot, **session.used}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
