# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Whoever operates the nodes is told why something does not happen, and does not wait for ever."""

from __future__ import annotations

from pathlib import Path

import pytest
from lifecycle_msgs.msg import Transition

from ilr_dynamics.cli.node_processes import NodeProcesses
from ilr_dynamics.cli.operator import Operator
from ilr_dynamics.cli.ros_domain import OwnDomain
from ilr_dynamics.exceptions import IlrDynamicsError
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.joint_motion import JointMotion
from ilr_dynamics.robot.rigid_body import RigidBodyModel
from ilr_dynamics.robot.tool_paths import joint_path, tool_path

CONFIG = Path(__file__).parents[2] / "config" / "wam4.yaml"


@pytest.fixture
def operator(tmp_path, monkeypatch):
    with OwnDomain() as domain, NodeProcesses(tmp_path) as processes:
        for name, value in domain.environment().items():
            monkeypatch.setenv(name, value)
        operator = Operator(load_description("wam4").joint_names, processes.check)
        try:
            lock_step = {"lock_step": "true", "real_time_factor": 0.0, "answer_timeout": 5.0}
            processes.start("wam_simulator", lock_step, CONFIG)
            processes.start("inverse_dynamics_node", {"controller": "analytic"}, CONFIG)
            operator.change_state(Transition.TRANSITION_CONFIGURE)
            yield operator
        finally:
            operator.close()


def test_a_trajectory_that_is_refused_raises_with_the_reason(operator):
    motion = joint_path(tool_path("T1"), RigidBodyModel(load_description("wam4")), 25.0)
    far = JointMotion(motion.times, motion.positions + 10.0, *motion[2:])
    with pytest.raises(IlrDynamicsError, match="trajectory refused: joint j1 would be at"):
        operator.follow(far, lambda _: None)


def test_a_fault_raises_with_the_reason(operator):
    operator.activate()
    # Less than friction holds the arm away from where it is to be.
    operator.set_parameters("inverse_dynamics", supervision__tracking_error=[1e-9] * 4)
    with pytest.raises(IlrDynamicsError, match="went to fault: .*joint j[1-4]"):
        operator.watch(30.0, lambda _: None)
