# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Give tests a ROS domain of their own, Hypothesis no deadline, and recordings to learn from."""
# flake8: noqa: E402

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path

# Tests run beside each other: a second thread would have no core. Read when NumPy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import settings

from ilr_dynamics.cli import ros_domain
from ilr_dynamics.learning import LearningSettings
from ilr_dynamics.recording import RecordingWriter

# In a domain that a worker of pytest-xdist gave back, nodes may live on that Python has not
# collected yet: each has a part of the domains of its own.
_worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
_n_workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
ros_domain.DOMAINS = ros_domain.DOMAINS[_worker % _n_workers :: _n_workers]

# Before any test imports rclpy, and inherited by the nodes that tests start.
_domain = ros_domain.OwnDomain()
os.environ.update(_domain.environment())

# A busy machine is no failure.
settings.register_profile("no_deadline", settings(), deadline=None)
settings.load_profile("no_deadline")

JOINTS = ("j1", "j2")

HERE = Path(__file__).parent
NUMERICAL = [
    HERE / name
    for name in (
        "regression",
        "robot",
        "learning",
        "inspection",
        "planning",
        "nodes/test_wam7.py",
    )
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests whose results are those of floating-point arithmetic."""
    for item in items:
        if any(item.path.is_relative_to(place) for place in NUMERICAL):
            item.add_marker(pytest.mark.numerical)


class TookTooLongError(BaseException):
    """A test took too long; no failure as Hypothesis catches it, to search for shorter ones."""


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_timeout_set_timer():
    """Let pytest-timeout end tests of Hypothesis too."""
    result = yield
    fail = signal.getsignal(signal.SIGALRM)

    def end(number, frame):
        try:
            fail(number, frame)
        except pytest.fail.Exception as failure:
            raise TookTooLongError(failure.msg) from None

    signal.signal(signal.SIGALRM, end)
    return result


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter):
    """Say, as the last thing, how many tests were skipped for which reason."""
    result = yield
    reasons = Counter(
        report.longrepr[2].removeprefix("Skipped: ")
        for report in terminalreporter.stats.get("skipped", [])
    )
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"{count} skipped: {reason}")
    return result


@pytest.fixture(scope="session")
def arm_settings() -> LearningSettings:
    return LearningSettings(JOINTS, model={"n_components": 8, "random_state": 0})


@pytest.fixture(scope="session")
def record_motion(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Record two pendulums with viscous friction; the torque acts as long as it is measured."""

    def record(
        amplitude: float = 0.4,
        n_states: int = 800,
        joints=JOINTS,
        frequencies=(0.9, 1.3),
        wrong_until: float = 0.0,
        namespace: str = "",
        notes: dict[str, str] | None = None,
    ) -> Path:
        path = tmp_path_factory.mktemp("recordings") / "bag"
        period = 2_000_000
        rate = 2.0 * np.pi * np.array(frequencies)
        time = 1e-9 * period * np.arange(n_states)[:, np.newaxis]
        q = amplitude * np.sin(rate * time)
        # The command that is at work at this time was sent three half periods before.
        later = time + 1.5e-9 * period
        q_then, qd_then = amplitude * np.sin(rate * later), amplitude * rate * np.cos(rate * later)
        torque = -0.5 * rate**2 * q_then + 0.3 * qd_then + 4.0 * np.sin(q_then)
        torque[: round(wrong_until * n_states)] *= -1.0
        with RecordingWriter(path, annotations=notes) as writer:
            for k in range(n_states):
                stamp = period * (k + 1)
                states, commands = f"{namespace}/joint_states", f"{namespace}/joint_torque_command"
                writer.write_joint_state(states, stamp, joints, q[k])
                writer.write_joint_state(commands, stamp, joints, effort=torque[k])
        return path

    return record


@pytest.fixture(scope="session")
def bag(record_motion) -> Path:
    return record_motion()
