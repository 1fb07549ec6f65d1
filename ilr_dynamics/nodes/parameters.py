# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The parameters of /inverse_dynamics. config/wam4.yaml gives their values for the WAM."""

from __future__ import annotations

from rclpy.parameter import Parameter

from ilr_dynamics.nodes.arm_parameters import ARM, INTERFACE
from ilr_dynamics.nodes.file_parameters import DIRECTORIES
from ilr_dynamics.nodes.parameter_table import ParameterRow as Row
from ilr_dynamics.nodes.realtime import PRIORITY_ROW

__all__ = ["CONTROLLERS", "PARAMETERS"]

CONTROLLERS = ("pd", "analytic", "ilr")

_PER_JOINT = Parameter.Type.DOUBLE_ARRAY

PARAMETERS = (
    *ARM,
    Row("rate", 500.0, "joint states a second", "Hz", 10.0, 5000.0, read_only=True),
    PRIORITY_ROW,
    Row(
        "driver_compensates_gravity",
        False,
        "whether the driver adds the gravity torque to the command",
        read_only=True,
    ),
    *INTERFACE,
    Row("controller", "analytic", "source of the feed-forward", choices=CONTROLLERS),
    Row("gains.kp", _PER_JOINT, "stiffness per joint", "Nm/rad"),
    Row("gains.kd", _PER_JOINT, "damping per joint", "Nms/rad"),
    Row("limits.position_margin", 0.05, "margin to the joint range", "rad", 0.0, 1.0),
    Row("limits.velocity", _PER_JOINT, "largest desired velocity per joint", "rad/s"),
    Row("limits.torque", _PER_JOINT, "largest commanded torque per joint", "Nm"),
    Row("limits.torque_rate", _PER_JOINT, "largest change of the command per joint", "Nm/s"),
    Row(
        "trajectory.start_tolerance",
        _PER_JOINT,
        "largest distance of a trajectory's start from the present reference per joint",
        "rad",
    ),
    Row(
        "trajectory.allow_linear",
        False,
        "whether trajectories of positions alone are followed, without feed-forward of motion",
    ),
    Row(
        "trajectory.max_points",
        2000,
        "points of a trajectory; the controller reads 2,000 in about a millisecond",
        "",
        1,
        100_000,
    ),
    Row(
        "trajectory.fade_time",
        0.5,
        "time over which the difference to a new trajectory fades",
        "s",
        0.01,
        10.0,
        read_only=True,
    ),
    Row(
        "feedforward.fade_time",
        0.1,
        "time over which one feed-forward gives way to the next",
        "s",
        0.01,
        10.0,
        read_only=True,
    ),
    Row(
        "feedforward.fallback",
        "analytic",
        "feed-forward where the learned model does not know",
        choices=("none", "analytic"),
    ),
    Row(
        "gate.unseen_trusted",
        0.2,
        "weight of the unseen component up to which the learned torque is fully used",
        "",
        0.0,
        1.0,
    ),
    Row(
        "gate.unseen_refused",
        0.8,
        "weight of the unseen component from which on it is not used",
        "",
        0.0,
        1.0,
    ),
    Row(
        "gate.std_trusted",
        _PER_JOINT,
        "predicted spread per joint up to which the learned torque is fully used",
        "Nm",
    ),
    Row(
        "gate.std_refused",
        _PER_JOINT,
        "predicted spread per joint from which on it is not used",
        "Nm",
    ),
    Row("supervision.tracking_error", _PER_JOINT, "largest tracking error per joint", "rad"),
    Row("supervision.velocity", _PER_JOINT, "largest measured velocity per joint", "rad/s"),
    Row(
        "supervision.input_timeout",
        0.1,
        "longest time between two joint states",
        "s",
        0.001,
        10.0,
    ),
    Row(
        "supervision.effort_error",
        0.0,
        "how far efforts of the joint states may be from the newest commands, as a share of the "
        "torque limit; 0: not watched, nor if the driver compensates gravity",
        "",
        0.0,
        1.0,
    ),
    Row(
        "supervision.answer_timeout",
        0.1,
        "for how long they may be farther",
        "s",
        0.02,
        10.0,
    ),
    Row(
        "supervision.silence_timeout",
        0.5,
        "time without joint states from which on the arm is let down",
        "s",
        0.1,
        60.0,
    ),
    Row(
        "velocity_filter.cutoff",
        30.0,
        "low-pass on differentiated positions, where joint states hold no sound velocities",
        "Hz",
        1.0,
        1000.0,
        read_only=True,
    ),
    Row("stop.deceleration", 5.0, "deceleration of a stop", "rad/s^2", 0.1, 100.0),
    Row(
        "fault.action",
        "hold",
        "whether the arm is held at the place of a fault or let down",
        choices=("hold", "let_down"),
    ),
    Row(
        "fault.let_down_time",
        3.0,
        "time over which the arm is let down, also if joint states stop coming",
        "s",
        0.1,
        60.0,
    ),
    Row("controller_state.decimation", 10, "joint states for each controller state", "", 1, 5000),
    Row("diagnostics.period", 1.0, "time between diagnostics", "s", 0.1, 1.0, read_only=True),
    Row("snapshot", "", "snapshot to load when the node is configured", read_only=True),
    DIRECTORIES,
    Row(
        "learning.snapshot_directory",
        "",
        "folder for snapshots without a name; empty: ~/.ros/ilr_dynamics",
        read_only=True,
    ),
    Row("learning.state_topic", "/joint_states", "topic of the joint states in recordings"),
    Row(
        "learning.command_topic",
        "/joint_torque_command",
        "topic of the torques in recordings; empty: take the efforts of the joint states",
    ),
    Row(
        "learning.continuous_joints",
        [""],
        "joints without limits, whose recorded positions may jump by whole turns",
    ),
    Row(
        "learning.sample_rate",
        100.0,
        "samples a second to learn from; 0: all",
        "Hz",
        0.0,
        5000.0,
    ),
    Row("learning.position_scale", _PER_JOINT, "typical deviation of each position", "rad"),
    Row("learning.velocity_scale", _PER_JOINT, "typical velocity of each joint", "rad/s"),
    Row("learning.acceleration_scale", _PER_JOINT, "typical acceleration", "rad/s^2"),
    Row("learning.torque_scale", _PER_JOINT, "typical deviation of each torque", "Nm"),
    Row(
        "learning.n_components",
        300,
        "largest number of local models that an update adds",
        "",
        1,
        10000,
    ),
    Row(
        "learning.identify_dynamics",
        True,
        "identify the arm's rigid bodies and friction too, for where no local model has data",
    ),
    Row(
        "learning.effective_samples",
        True,
        "count samples between which the arm hardly moves as one; without identified dynamics "
        "also those in which a joint sticks for little",
    ),
    Row(
        "learning.forgetting_factor",
        1.0,
        "what earlier samples still weigh after an update; below 1 for an arm that has changed",
        "",
        0.001,
        1.0,
    ),
    Row(
        "learning.timeout",
        300.0,
        "longest time without progress of the learner process, which is killed then",
        "s",
        1.0,
        86400.0,
    ),
    Row("learning.memory_limit", 4000, "memory of the learner process; 0: any", "MB", 0, 10**6),
    Row("learning.random_state", 0, "seed of the learner", "", 0, 2**31 - 1),
)
