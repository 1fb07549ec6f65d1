# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The parameters of all nodes.

To add one, add a row here, its value in config/wam4.yaml and config/wam7.yaml, and take it where
it becomes a setting (`settings`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ilr_dynamics.nodes.parameter_table import ParameterRow as Row
from ilr_dynamics.nodes.parameter_table import per_joint

__all__ = [
    "INVERSE_DYNAMICS",
    "RECORDER",
    "TRAJECTORY_PUBLISHER",
    "VISUALIZER",
    "WAM_SIMULATOR",
    "joints_in_messages",
]

# Rows fill their lines: with an argument a line, nobody would see the table.
# fmt: off

# What several nodes have to be given alike.
PREFIX = Row("prefix", "", "what the joints' names in messages begin with, as of one of two arms",
             read_only=True)
ARM = (
    Row("robot", "wam4",
        "arm of the package, path of a URDF file, or robot_description: the URDF of that "
        "parameter or, if it is empty, of that topic", read_only=True),
    Row("robot_description", "",
        "URDF as text, as robot_state_publisher has it, for robot: robot_description",
        read_only=True),
    Row("joints", ["j1", "j2", "j3", "j4"],
        "names of the joints in messages, from base to tool, without the prefix", read_only=True),
    PREFIX,
    Row("tool_frame", "",
        "link whose origin is the tool point; empty: the arm's end, of several the only one with "
        "mass, or tool0, flange, the first by name", read_only=True),
)
GRAVITY = Row("gravity", [0.0, 0.0, -9.81],
              "gravity in the axes of the arm's first link; another for one that is tilted, on a "
              "wall or upside down", "m/s^2", (-20.0, 20.0), read_only=True)
STATE_TOPIC = Row("state.topic", "joint_states", "topic of the measured joint states",
                  read_only=True)
INTERFACE = (
    STATE_TOPIC,
    Row("command.topic", "joint_torque_command", "topic of the torque command", read_only=True),
    Row("command.interface", "joint_state", "message of the torque command",
        choices=("joint_state", "float64_multi_array"), read_only=True),
)
PRIORITY = Row("realtime_priority", 0,
               "priority of the real-time scheduler (SCHED_FIFO) to ask for; 0: none",
               within=(0, 99), read_only=True)
# Whoever is on the network may call a service or set a parameter, but not this one.
DIRECTORIES = Row("files.directories", ["/data", "~/.ros/ilr_dynamics"],
                  "directories that recordings and snapshots must lie in, links followed; /: "
                  "anywhere", read_only=True)

INVERSE_DYNAMICS = (
    *ARM,
    GRAVITY,
    Row("autostart", False,
        "whether the node configures and activates itself, and ends if it cannot",
        read_only=True),
    Row("rate", 500.0, "joint states per second", "Hz", (10.0, 5000.0), read_only=True),
    PRIORITY,
    Row("driver_compensates_gravity", False,
        "whether the driver adds the gravity torque to the command", read_only=True),
    *INTERFACE,
    Row("controller", "analytic", "source of the feed-forward", choices=("pd", "analytic", "ilr")),
    per_joint("gains.kp", "stiffness per joint", "Nm/rad"),
    per_joint("gains.kd", "damping per joint", "Nms/rad"),
    Row("limits.position_margin", 0.05, "margin to the joint range", "rad", (0.0, 1.0)),
    per_joint("limits.velocity", "largest desired velocity per joint", "rad/s"),
    per_joint("limits.torque", "largest commanded torque per joint", "Nm"),
    per_joint("limits.torque_rate", "largest change of the command per joint", "Nm/s"),
    per_joint("trajectory.start_tolerance",
              "largest distance of a trajectory's start from the present reference per joint",
              "rad"),
    Row("trajectory.allow_linear", False,
        "whether trajectories of positions alone are followed, without feed-forward of motion"),
    Row("trajectory.max_points", 2000,
        "largest number of points of a trajectory; the controller reads 2,000 in about a "
        "millisecond",
        within=(1, 100_000)),
    Row("trajectory.fade_time", 0.5, "time over which the difference to a new trajectory fades",
        "s", (0.01, 10.0), read_only=True),
    # As joint_trajectory_controller names them; per joint a goal says it.
    Row("constraints.trajectory", 0.0,
        "largest position error of each joint on the way to a goal; 0: any", "rad", (0.0, 10.0)),
    Row("constraints.goal", 0.0,
        "largest position error of each joint at a goal; 0: any", "rad", (0.0, 10.0)),
    Row("constraints.stopped_velocity_tolerance", 0.01,
        "largest velocity of each joint at a goal; 0: any", "rad/s", (0.0, 10.0)),
    Row("constraints.goal_time", 0.0,
        "longest time from a goal's last point until the arm is there; 0: any", "s",
        (0.0, 3600.0)),
    Row("feedforward.fade_time", 0.1, "time over which one feed-forward gives way to the next",
        "s", (0.01, 10.0), read_only=True),
    Row("feedforward.fallback", "analytic", "feed-forward where the learned model is not trusted",
        choices=("none", "analytic")),
    Row("gate.unseen_trusted", 0.2,
        "weight of the unseen component up to which the learned torque is not bounded",
        within=(0.0, 1.0)),
    Row("gate.unseen_refused", 0.8,
        "weight of the unseen component at and above which the learned torque is not used",
        within=(0.0, 1.0)),
    per_joint("gate.std_trusted",
              "predicted standard deviation up to which the learned torque is not bounded", "Nm"),
    per_joint("gate.std_refused",
              "predicted standard deviation at and above which the learned torque is not used",
              "Nm"),
    per_joint("supervision.tracking_error", "largest tracking error per joint", "rad"),
    per_joint("supervision.velocity", "largest measured velocity per joint", "rad/s"),
    Row("supervision.input_timeout", 0.1, "longest time between two joint states", "s",
        (0.001, 10.0)),
    Row("supervision.effort_error", 0.0,
        "how far efforts of the joint states may be from the newest commands, as a share of the "
        "torque limit; 0: not watched, nor if the driver compensates gravity", within=(0.0, 1.0)),
    Row("supervision.answer_timeout", 0.1,
        "longest time for which efforts may exceed supervision.effort_error", "s", (0.02, 10.0)),
    Row("supervision.silence_timeout", 0.5,
        "time without joint states from which on the arm is let down", "s", (0.1, 60.0)),
    Row("payload.estimation", "on_request",
        "whether what the tool carries is estimated: off; on_request, and then fed forward when "
        "~/estimate_payload is called; automatic, and fed forward as soon as it is known",
        choices=("off", "on_request", "automatic")),
    Row("payload.max_mass", 3.0, "largest mass that is fed forward: what the arm may carry", "kg",
        (0.01, 1000.0)),
    Row("payload.size", 0.15,
        "usual distance of a payload's mass from the tool point along each axis", "m",
        (0.01, 5.0), read_only=True),
    Row("model_fit.alarms_per_hour", 0.01,
        "largest expected number of false warnings in an hour of motion that the model no longer "
        "fits; 0: it is not watched", "1/h", (0.0, 10.0), read_only=True),
    Row("external_torque.decimation", 5,
        "joint states for each external torque, while somebody listens; 0: none",
        within=(0, 5000)),
    Row("external_torque.alarms_per_hour", 1.0,
        "how often an hour of free motion may be taken for contact", within=(1e-6, 3600.0)),
    Row("velocity_filter.cutoff", 30.0,
        "low-pass filter of differentiated positions, where joint states have no valid velocities",
        "Hz", (1.0, 1000.0), read_only=True),
    Row("stop.deceleration", 5.0, "deceleration of a stop", "rad/s^2", (0.1, 100.0)),
    Row("guide.friction_share", 0.85,
        "share of the model's friction that is compensated of slow joints while the arm is guided "
        "by hand",
        within=(0.0, 0.99)),
    Row("guide.dither", 0.95,
        "share of the model's friction compensated in alternating directions for joints at rest "
        "while guided; 0: none",
        within=(0.0, 0.99)),
    Row("guide.damping", 0.3, "damping while guided, as a share of gains.kd",
        within=(0.0, 10.0)),
    Row("guide.velocity", 0.5,
        "velocity at which braking begins while guided, as a share of limits.velocity",
        within=(0.01, 1.0)),
    Row("guide.margin", 0.15,
        "distance from the range's ends at which joints are pushed back while guided",
        "rad", (0.0, 1.0)),
    Row("fault.action", "hold", "whether the arm is held at the place of a fault or let down",
        choices=("hold", "let_down")),
    Row("fault.let_down_time", 3.0,
        "time over which the arm is let down, also if joint states stop coming", "s", (0.1, 60.0)),
    Row("controller_state.decimation", 10, "joint states for each controller state",
        within=(1, 5000)),
    Row("diagnostics.period", 1.0, "time between diagnostics", "s", (0.1, 1.0), read_only=True),
    Row("snapshot", "", "snapshot to load when the node is configured", read_only=True),
    DIRECTORIES,
    Row("learning.snapshot_directory", "",
        "folder for snapshots without a name; empty: ~/.ros/ilr_dynamics", read_only=True),
    Row("learning.state_topic", "",
        "topic of the joint states in recordings; empty: that of state.topic"),
    Row("learning.torque", "commanded",
        "torque to learn from: commanded, of learning.command_topic, or measured, the efforts of "
        "the joint states", choices=("commanded", "measured")),
    Row("learning.command_topic", "joint_torque_command",
        "topic of the commanded torques in recordings; empty: learn from the measured ones"),
    Row("learning.controller_state_topic", "inverse_dynamics/controller_state",
        "topic of the controller's reports in recordings: what they say was guided by hand is not "
        "learned from; empty: learn from all"),
    Row("learning.continuous_joints", [""],
        "joints without limits, whose recorded positions may jump by whole turns"),
    Row("learning.sample_rate", 100.0, "samples per second to learn from; 0: all", "Hz",
        (0.0, 5000.0)),
    per_joint("learning.position_scale", "typical deviation of each position", "rad", 1e-9),
    per_joint("learning.velocity_scale", "typical velocity of each joint", "rad/s", 1e-9),
    per_joint("learning.acceleration_scale", "typical acceleration of each joint", "rad/s^2",
              1e-9),
    per_joint("learning.torque_scale", "typical deviation of each torque", "Nm", 1e-9),
    Row("learning.n_components", 300, "largest number of local models that an update adds",
        within=(1, 10000)),
    Row("learning.identify_dynamics", True,
        "whether rigid bodies and friction are identified, for where no local model has data"),
    Row("learning.effective_samples", True,
        "whether samples between which the arm hardly moves count as one; without identified "
        "dynamics, those in which a joint sticks have little weight too"),
    Row("learning.adapt", True,
        "whether an update decides by itself what has changed about the arm, and forgets that"),
    Row("learning.forgetting_factor", 1.0,
        "weight of earlier samples after an update; below 1 it goes before learning.adapt",
        within=(0.001, 1.0)),
    Row("learning.timeout", 300.0,
        "longest time without progress of the learner process, which is killed then", "s",
        (1.0, 86400.0)),
    Row("learning.memory_limit", 4000, "largest memory of the learner process; 0: any", "MB",
        (0, 10**6)),
    Row("learning.random_state", 0, "seed of the learner", within=(0, 2**31 - 1)),
)

WAM_SIMULATOR = (
    *ARM,
    GRAVITY,
    Row("plant", "wam4", "numbers of the plant, by name or path of a YAML file", read_only=True),
    Row("driver_compensates_gravity", False,
        "whether the driver adds the gravity torque, also if the plant's numbers do not say so",
        read_only=True),
    *INTERFACE,
    Row("seed", 0, "seed of encoder and ripple phases and of the offset of the start posture",
        within=(0, 2**31 - 1), read_only=True),
    Row("lock_step", False, "whether each cycle waits for the torque that answers its joint state",
        read_only=True),
    PRIORITY,
    Row("answer_timeout", 1.0,
        "longest wait for the torque that answers a joint state, in lock-step", "s",
        (0.001, 60.0)),
    Row("real_time_factor", 1.0,
        "simulated time per real time; 0: as fast as the torques come, in lock-step only",
        within=(0.0, 100.0)),
    Row("hold_time", 0.02, "how long the last torque is held before the brakes go on", "s",
        (0.0, 1.0), read_only=True),
    Row("diagnostics.period", 1.0, "time between diagnostics", "s", (0.1, 10.0), read_only=True),
)

RECORDER = (
    Row("uri", "", "folder of the recording; given at the start, recording begins at once"),
    DIRECTORIES,
    Row("storage", "mcap", "kind of storage file", choices=("mcap", "sqlite3")),
    Row("topics", ["joint_states", "joint_torque_command"],
        "topics of type sensor_msgs/JointState to record", read_only=True),
    Row("controller_state", "inverse_dynamics/controller_state",
        "topic of ilr_dynamics_msgs/ControllerState to record too, for evaluate, and to tell what "
        "was guided by hand; empty: none", read_only=True),
    Row("reliability", "reliable",
        "quality of service to ask for; drivers with best-effort topics need best_effort",
        choices=("reliable", "best_effort"), read_only=True),
    PREFIX,
    Row("driver_compensates_gravity", "",
        "noted in the recording: whether the driver adds the gravity torque to the command",
        choices=("", "true", "false")),
)

TRAJECTORY_PUBLISHER = (
    *ARM,
    Row("trajectory", "T1",
        "trajectory to follow: train_6 to train_2.6, T1, T2, T3, or the path of a .csv or .yaml "
        "of waypoints",
        read_only=True),
    Row("rate", 25.0, "points of the trajectory per second", "Hz", (5.0, 500.0), read_only=True),
    Row("repeat", 1, "how often to follow the trajectory; 0: without end", within=(0, 10**6),
        read_only=True),
    Row("delay", 1.0, "rest before each time that the trajectory is followed", "s", (0.0, 3600.0),
        read_only=True),
    Row("lead_in", 2.0, "time in which the arm reaches the trajectory's first point", "s",
        (0.1, 60.0), read_only=True),
)

VISUALIZER = (
    *ARM,
    STATE_TOPIC,
    Row("frame", "base", "frame of all markers and paths, without the prefix", read_only=True),
    DIRECTORIES,
    Row("arm_markers", True,
        "whether the arm itself is drawn; false where RViz shows a robot model of it",
        read_only=True),
    Row("rate", 15.0, "pictures per second", "Hz", (1.0, 30.0), read_only=True),
    Row("history", 6.0, "length of the shown paths", "s", (0.1, 60.0)),
    Row("point_rate", 25.0, "largest number of path points per second", "Hz", (1.0, 100.0)),
)

# fmt: on


def joints_in_messages(values: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the joints' names in messages, from the values of ``joints`` and ``prefix``."""
    return tuple(values["prefix"] + joint for joint in values["joints"])
