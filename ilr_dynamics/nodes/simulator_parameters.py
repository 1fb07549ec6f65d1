# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The parameters of /wam_simulator."""

from __future__ import annotations

from ilr_dynamics.nodes.arm_parameters import ARM, INTERFACE
from ilr_dynamics.nodes.parameter_table import ParameterRow as Row
from ilr_dynamics.nodes.realtime import PRIORITY_ROW

__all__ = ["PARAMETERS"]

PARAMETERS = (
    *ARM,
    Row("plant", "wam4", "numbers of the plant, by name or path of a YAML file", read_only=True),
    Row(
        "driver_compensates_gravity",
        False,
        "whether the driver adds the gravity torque, also if the plant's numbers do not say so",
        read_only=True,
    ),
    *INTERFACE,
    Row(
        "seed",
        0,
        "draws the phases of encoders and ripple and the offset of the start posture",
        "",
        0,
        2**31 - 1,
        read_only=True,
    ),
    Row(
        "lock_step",
        False,
        "whether each cycle waits for the torque that answers its joint state",
        read_only=True,
    ),
    PRIORITY_ROW,
    Row("answer_timeout", 1.0, "longest wait for that torque", "s", 0.001, 60.0),
    Row(
        "real_time_factor",
        1.0,
        "simulated time per real time; 0: as fast as the torques come, in lock-step only",
        "",
        0.0,
        100.0,
    ),
    Row(
        "hold_time",
        0.02,
        "how long the last torque is held before the brakes go on",
        "s",
        0.0,
        1.0,
        read_only=True,
    ),
    Row("diagnostics.period", 1.0, "time between diagnostics", "s", 0.1, 10.0, read_only=True),
)
