# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""A recorded motion of an arm with friction, as it is and with one thing wrong."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from rclpy.serialization import serialize_message
from std_msgs.msg import Header

from ilr_dynamics.learning import LearningSettings
from ilr_dynamics.nodes.recorder import controller_state_definition
from ilr_dynamics.recording import RecordingWriter, SampleSettings
from ilr_dynamics.recording.guided_states import CONTROLLER_STATE
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.rigid_body import RigidBodyModel
from ilr_dynamics_msgs.msg import ControllerState

ARM = load_description("wam4")
MODEL = RigidBodyModel(ARM)
PERIOD = 0.002
REPORTS = "/inverse_dynamics/controller_state"


@dataclass(frozen=True)
class Motion:
    """What is written down; torques are those of the moment, and of 3 ms before in the file."""

    time: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    torque: np.ndarray
    delay: float = 0.003
    limit: float = np.inf
    step: float = 0.0  # of rounded torques
    fraction: int = 1  # ns in the unit of the stamps' nanosec field
    held: np.ndarray | None = None  # rows of the torques in the file, as a driver holds them
    guided: tuple[float, float] | None = None  # when a person guides the arm, s

    def changed(self, **values):
        return replace(self, **values)


def _motion(seed=0, n=5000):
    generator = np.random.default_rng(seed)
    time = PERIOD * np.arange(n)
    rate = 2.0 * np.pi * generator.uniform(0.15, 0.8, (3, 4))
    phase = generator.uniform(0.0, 2.0 * np.pi, (3, 4))
    angle = rate * time[:, np.newaxis, np.newaxis] + phase
    size = generator.uniform(0.1, 0.3, (3, 4))
    q = np.array([0.0, 0.6, 0.0, 1.2]) + (size * np.sin(angle)).sum(axis=1)
    qd = (size * rate * np.cos(angle)).sum(axis=1)
    qdd = -(size * rate**2 * np.sin(angle)).sum(axis=1)
    states = zip(q, qd, qdd, strict=True)
    torque = np.array([MODEL.inverse_dynamics(*state) for state in states])
    torque += np.array([3.0, 3.0, 1.5, 1.5]) * np.tanh(qd / 0.02) + 0.5 * qd
    return Motion(time, q, qd, qdd, torque)


@pytest.fixture(scope="session")
def motion():
    return _motion()


def _report(stamp, mode):
    header = Header(stamp=Time(sec=stamp // 10**9, nanosec=stamp % 10**9))
    return bytes(serialize_message(ControllerState(header=header, mode=mode)))


@pytest.fixture
def record(tmp_path):
    """Write a motion to a bag, with noise on the torques and an encoder's steps."""

    def write(motion, name="bag", storage="mcap"):
        noise = np.random.default_rng(1).normal(size=motion.torque.shape)
        step = 2.0 * np.pi / (4096 * 30)
        ahead = motion.time + motion.delay
        torque = [np.interp(ahead, motion.time, column) for column in motion.torque.T]
        torque = np.column_stack(torque) + 0.03 * noise * (motion.torque != 0.0)
        torque = np.clip(torque, -motion.limit, motion.limit)
        if motion.step:
            torque = motion.step * np.round(torque / motion.step)
        if motion.held is not None:
            torque = torque[motion.held]
        position = step * np.round(motion.position / step)
        with RecordingWriter(tmp_path / name, storage) as writer:
            if motion.guided:
                writer.add_topic(REPORTS, CONTROLLER_STATE, controller_state_definition())
            for k, time in enumerate(motion.time):
                seconds, fraction = divmod(round(1e9 * time), 10**9)
                stamp = 10**18 + 10**9 * seconds + fraction // motion.fraction
                at = (stamp, ARM.joint_names)
                writer.write_joint_state("/joint_states", *at, position[k], motion.velocity[k])
                writer.write_joint_state("/joint_torque_command", *at, effort=torque[k])
                if motion.guided and k % 10 == 0:
                    mode = 5 if motion.guided[0] <= time <= motion.guided[1] else 2
                    writer.write(REPORTS, stamp, _report(stamp, mode))
        return tmp_path / name

    return write


@pytest.fixture(scope="session")
def arm_of_motion():
    return LearningSettings(
        ARM.joint_names,
        samples=SampleSettings(sample_rate=100.0, torque_limit=ARM.torque_limit.tolist()),
        robot="wam4",
    )
