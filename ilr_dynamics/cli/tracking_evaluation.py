# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""How well an arm tracked, by a recording of the controller's reports."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from rclpy.serialization import deserialize_message

from ilr_dynamics.arrays import BoolArray
from ilr_dynamics.cli.shown_text import printable
from ilr_dynamics.cli.table import format_table
from ilr_dynamics.cli.tracking_record import TrackingRecord
from ilr_dynamics.exceptions import RecordingError
from ilr_dynamics.recording.bag import read_bag
from ilr_dynamics.recording.guided_states import CONTROLLER_STATE
from ilr_dynamics.recording.message_collector import absolute_topic
from ilr_dynamics_msgs.msg import ControllerState

__all__ = [
    "DEVIATIONS",
    "Tracking",
    "TrackingTable",
    "read_tracking",
    "tracking_parts",
    "tracking_tables",
]

# Half the width of a 95 % interval of a normal distribution, in standard deviations.
DEVIATIONS = 1.96
# Fields of a report that are shown, with a value for each joint.
PER_JOINT = (
    "desired_position",
    "measured_position",
    "feedforward_torque",
    "pd_torque",
    "commanded_torque",
    "predicted_std",
)
# Memory of a report, bytes: Python's objects for its fields.
REPORT_BYTES = 4000


@dataclass(frozen=True)
class Tracking:
    """
    Reports of the controller while it followed trajectories.

    Attributes
    ----------
    joint_names : tuple of str
    controller : tuple of str
        Kind of controller in each report: pd, analytic or ilr.
    model : tuple of str
        Identity of the learned model in each report; empty without one.
    record : TrackingRecord
        Values of the n reports.
    """

    joint_names: tuple[str, ...]
    controller: tuple[str, ...]
    model: tuple[str, ...]
    record: TrackingRecord

    def kinds(self) -> Iterator[tuple[str, bool, BoolArray]]:
        """Yield each controller with its model: title, whether it is learned, its reports (n,)."""
        used = [
            (kind, model if kind == "ilr" else "")
            for kind, model in zip(self.controller, self.model, strict=True)
        ]
        for kind, model in dict.fromkeys(used):
            rows = np.array([entry == (kind, model) for entry in used])
            yield printable(f"{kind} ({model})" if model else kind), bool(model), rows


class _Reports:
    """Consumer of controller states, of which those of a trajectory are kept."""

    message_nbytes = 0

    def __init__(self) -> None:
        self.states: list[ControllerState] = []

    @property
    def nbytes(self) -> int:
        return REPORT_BYTES * len(self.states)

    def take(self, messages: list[bytes], received: list[int]) -> None:
        for message in messages:
            state = deserialize_message(message, ControllerState)
            if state.mode == ControllerState.TRACKING:
                self.states.append(state)


def read_tracking(uri: str, topic: str) -> Tracking:
    """
    Read the controller's reports of a recording.

    Parameters
    ----------
    uri : str
        Folder or file of a rosbag2.
    topic : str
        Topic of the reports.

    Returns
    -------
    Tracking
        Those while a trajectory was followed.

    Raises
    ------
    RecordingError
        If the recording cannot be read, has no such topic, or no report of a trajectory, or if its
        reports differ in their joints.
    """
    topic = absolute_topic(topic)
    reports = _Reports()
    bag = read_bag(uri, {topic: reports})
    if bag.types.get(topic) != CONTROLLER_STATE:
        named = [name for name, kind in bag.types.items() if kind == CONTROLLER_STATE]
        found = printable(", ".join(named)) or "no topic"
        raise RecordingError(
            f"recording {uri} has {found} of {CONTROLLER_STATE}; expected the topic {topic}"
        )
    states = reports.states
    if not states:
        raise RecordingError(
            f"recording {uri} has no report of a trajectory on {topic}; expected some in the mode "
            "tracking"
        )
    joints = tuple(states[0].joint_names)
    if any(tuple(state.joint_names) != joints for state in states):
        raise RecordingError(
            f"recording {uri} has reports on different joints; expected {', '.join(joints)} in all"
        )
    lengths = {len(getattr(state, name)) for state in states for name in PER_JOINT}
    if lengths != {len(joints)}:
        raise RecordingError(
            f"recording {uri} has reports of {sorted(lengths)} values; expected {len(joints)}, "
            "one per joint"
        )
    return Tracking(
        joints,
        tuple(state.controller for state in states),
        tuple(state.model for state in states),
        TrackingRecord.from_states(states),
    )


class TrackingTable(NamedTuple):
    """How well one controller tracked: a line on all joints, and a row for each."""

    title: str
    header: list[str]
    rows: list[list[object]]


def tracking_parts(tracking: Tracking) -> list[TrackingTable]:
    """
    Return a table for each controller: errors, torques, trust and coverage of each joint.

    The coverage is the share of reports whose commanded torque, which the motion took, lies in the
    95 % interval of the predicted one.
    """
    parts = []
    for title, learned, rows in tracking.kinds():
        record = tracking.record
        error = (record.desired - record.measured)[rows]
        pd, feedforward = np.abs(record.pd[rows]), np.abs(record.feedforward[rows])
        share = pd.mean(axis=0) / np.maximum((pd + feedforward).mean(axis=0), 1e-12)
        header = ["joint", "rms error [rad]", "largest [rad]", "feed-forward [Nm]", "PD [Nm]"]
        header += ["PD share"] + (["in 95% interval"] if learned else [])
        covered = _covered(record)[rows].mean(axis=0)
        table: list[list[object]] = [
            [
                printable(joint),
                float(np.sqrt(np.mean(error[:, k] ** 2))),
                float(np.abs(error[:, k]).max()),
                float(feedforward[:, k].mean()),
                float(pd[:, k].mean()),
                f"{share[k]:.1%}",
                *([f"{covered[k]:.1%}"] if learned else []),
            ]
            for k, joint in enumerate(tracking.joint_names)
        ]
        text = f"{title}: {rows.sum()} reports, mean squared error {np.mean(error**2):.2e} rad^2"
        if learned:
            gate = record.gate[rows]
            text += f", gate {gate.mean():.2f} (smallest {gate.min():.2f})"
        parts.append(TrackingTable(text, header, table))
    return parts


def tracking_tables(tracking: Tracking) -> str:
    """Return `tracking_parts` as text for a terminal."""
    return "\n\n".join(
        f"{part.title}\n\n{format_table(part.header, part.rows)}"
        for part in tracking_parts(tracking)
    )


def _covered(record: TrackingRecord) -> BoolArray:
    """Whether each commanded torque (n, n_joints) lies in the predicted interval."""
    away = np.abs(record.commanded - record.feedforward)
    return np.asarray(away <= DEVIATIONS * record.predicted_std)
