# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Recordings of a WAM with friction, with the controller's reports."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rclpy.serialization import serialize_message

from ilr_dynamics.nodes.recorder import controller_state_definition
from ilr_dynamics.recording import RecordingWriter
from ilr_dynamics.recording.guided_states import CONTROLLER_STATE
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.rigid_body import RigidBodyModel
from ilr_dynamics_msgs.msg import ControllerState

REPORTS = "/inverse_dynamics/controller_state"
PERIOD = 4_000_000
# A command acts from one period after its state on, for one.
DELAY = 1.5


def write_arm(path: Path, rate: float, n_states: int = 700, *, reports: bool = False) -> Path:
    """Record waves of the four-joint WAM: published bodies, dry and viscous friction."""
    arm = load_description("wam4")
    model, joints = RigidBodyModel(arm), arm.joint_names
    middle = 0.5 * (arm.position_lower + arm.position_upper)
    rates = rate * np.array([1.0, 1.37, 1.71, 2.13])

    def motion(seconds):
        phase = rates * seconds
        q = middle + 0.5 * np.sin(phase)
        return q, 0.5 * rates * np.cos(phase), -0.5 * rates**2 * np.sin(phase)

    with RecordingWriter(path) as writer:
        if reports:
            writer.add_topic(REPORTS, CONTROLLER_STATE, controller_state_definition())
        for k in range(n_states):
            stamp, seconds = PERIOD * (k + 1), 1e-9 * PERIOD * k
            q, qd, _ = motion(seconds)
            acting = motion(seconds + DELAY * 1e-9 * PERIOD)
            torque = model.inverse_dynamics(*acting)
            torque += np.tanh(acting[1] / 0.03) + 0.3 * acting[1]
            writer.write_joint_state("/joint_states", stamp, joints, q, qd)
            writer.write_joint_state("/joint_torque_command", stamp, joints, effort=torque)
            if reports and k % 10 == 0:
                state = _report(joints, q, torque, stamp)
                writer.write(REPORTS, stamp, serialize_message(state))
    return path


def _report(joints, position, torque, stamp) -> ControllerState:
    state = ControllerState(mode=ControllerState.TRACKING, joint_names=list(joints))
    state.controller, state.model, state.gate = "ilr", "model.npz", 0.9
    state.header.stamp.sec, state.header.stamp.nanosec = divmod(stamp, 10**9)
    state.desired_position = (position + 0.01).tolist()
    state.measured_position = position.tolist()
    state.feedforward_torque = state.commanded_torque = torque.tolist()
    state.pd_torque = state.predicted_std = np.ones(len(joints)).tolist()
    return state
