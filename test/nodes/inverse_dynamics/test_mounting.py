# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""An arm that is published by others, and one on a wall, each controlled over DDS."""

import re
from contextlib import contextmanager

import numpy as np
from lifecycle_msgs.msg import Transition
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String

from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.plant import WamPlant
from ilr_dynamics.robot.plant_config import load_plant_config
from ilr_dynamics_msgs.srv import LoadSnapshot, UpdateModel

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
WALL = [9.81, 0.0, 0.0]
GRIPPER = """<link name="left"/><link name="right"/>
<joint name="finger" type="prismatic"><parent link="tool"/><child link="left"/>
<limit lower="0" upper="0.04" velocity="1" effort="1"/></joint>
<joint name="follower" type="prismatic"><parent link="tool"/><child link="right"/>
<limit lower="0" upper="0.04" velocity="1" effort="1"/><mimic joint="finger"/></joint></robot>"""


@contextmanager
def log_of(bench_of, path, **options):
    with path.open("wb") as stderr, bench_of(stderr=stderr, **options) as bench:
        yield bench


def hold(bench) -> float:
    """Let the arm be held where it is; return its largest error, rad."""
    bench.measured = bench.plant.reset(bench.eight.positions[0])
    assert bench.change_state(Transition.TRANSITION_ACTIVATE)
    bench.run(1.5)
    return float(np.abs(bench.state().position_error).max())


def test_arm_and_its_learner_take_what_robot_state_publisher_has(start_bench, recording, tmp_path):
    few = "learning.n_components:=20"
    options = {"parameters": ["robot:=robot_description", few], "configures": False}
    with log_of(start_bench, tmp_path / "log", **options) as bench:
        said = (tmp_path / "log").read_text()
        assert "not configured: no URDF on /robot_description within 5 s; expected" in said
        publisher = bench.node.create_publisher(String, "robot_description", LATCHED)
        urdf = load_description("wam4").urdf_path.read_text().replace("</robot>", GRIPPER)
        publisher.publish(String(data=urdf))
        bench.spin(1.0)
        assert bench.change_state(Transition.TRANSITION_CONFIGURE), (tmp_path / "log").read_text()
        assert hold(bench) < 0.04
        assert bench.set_parameters(gains__kp=[41.0, 60.0, 25.0, 15.0]).successful
        learned = bench.ask(UpdateModel, "update_model", bag_uri=recording)
        assert learned.success, learned.message


def test_arm_on_a_wall_is_held_without_the_model_of_one_that_stands(start_bench, snapshot):
    with start_bench(parameters=[f"gravity:={WALL}"]) as bench:
        description = load_description("wam4", gravity=WALL)
        bench.plant = WamPlant(description, load_plant_config("wam4"), seed=0)
        assert hold(bench) < 0.04
        refused = bench.ask(LoadSnapshot, "load_snapshot", snapshot_uri=snapshot)
    assert not refused.success
    assert re.search(
        r"is for gravity = \[0.0, 0.0, -9.81\]; expected \[9.81, 0.0, 0.0\]", refused.message
    )
