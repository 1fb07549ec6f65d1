# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Bags with a known motion."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest

from ilr_dynamics.recording import RecordingWriter, encode_joint_state

# Test folders are no packages (--import-mode=importlib): kept_messages is found by its path.
sys.path.insert(0, str(Path(__file__).parent))

Message = tuple[str, bytes]


class KnownMotion:
    """Two joints on sines, each state answered by a known torque."""

    joints = ("j1", "j2")
    period = 2_000_000  # ns
    start = 1_700_000_000_000_000_000  # ns

    def __init__(self, n_states: int = 600) -> None:
        self.stamps = self.start + self.period * np.arange(n_states)
        self.amplitude = np.array([0.4, 0.3])
        self.rate = 2.0 * np.pi * np.array([0.5, 1.3])

    def seconds(self, stamps: np.ndarray) -> np.ndarray:
        return (np.asarray(stamps) - self.start)[:, np.newaxis] / 1e9

    def position(self, time: np.ndarray) -> np.ndarray:
        return self.amplitude * np.sin(self.rate * time)

    def velocity(self, time: np.ndarray) -> np.ndarray:
        return self.amplitude * self.rate * np.cos(self.rate * time)

    def acceleration(self, time: np.ndarray) -> np.ndarray:
        return -(self.rate**2) * self.position(time)

    def torque(self, time: np.ndarray) -> np.ndarray:
        return np.array([5.0, 3.0]) * np.sin(np.array([2.0, 3.0]) * time + 0.5)

    def states(self, stamps: np.ndarray | None = None, effort: bool = False) -> list[Message]:
        stamps = self.stamps if stamps is None else stamps
        time = self.seconds(stamps)
        q, qd, tau = self.position(time), self.velocity(time), self.torque(time)
        return [
            (
                "/joint_states",
                encode_joint_state(stamp, self.joints, q[k], qd[k], tau[k] if effort else ()),
            )
            for k, stamp in enumerate(stamps)
        ]

    def commands(self, stamps: np.ndarray | None = None) -> list[Message]:
        stamps = self.stamps if stamps is None else stamps
        tau = self.torque(self.seconds(stamps))
        return [
            ("/joint_torque_command", encode_joint_state(stamp, self.joints, effort=tau[k]))
            for k, stamp in enumerate(stamps)
        ]


@pytest.fixture
def motion() -> KnownMotion:
    return KnownMotion()


@pytest.fixture
def write_bag(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Write messages (topic, CDR) to a new bag, received in the order given."""

    def write(messages: Iterable[Message], storage: str = "mcap", **options: object) -> Path:
        path = tmp_path_factory.mktemp("bags") / "bag"
        with RecordingWriter(path, storage, **options) as writer:
            for received, (topic, data) in enumerate(messages):
                writer.write(topic, received, data)
        return path

    return write


@pytest.fixture
def write_received(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Write states, each with its command behind it, received and stamped as said."""

    def write(received, stamps, joints, position, torque=None, effort=None, storage="mcap"):
        path = tmp_path_factory.mktemp("bags") / "bag"
        with RecordingWriter(path, storage) as writer:
            for k, (at, stamp) in enumerate(zip(received, stamps, strict=True)):
                force = () if effort is None else effort[k]
                state = encode_joint_state(stamp, joints, position[k], effort=force)
                writer.write("/joint_states", int(at), state)
                if torque is not None:
                    command = encode_joint_state(stamp, joints, effort=torque[k])
                    writer.write("/joint_torque_command", int(at) + 1, command)
        return path

    return write
