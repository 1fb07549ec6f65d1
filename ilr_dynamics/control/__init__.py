# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Tracking control without ROS: reference, feed-forward, feedback, limits and supervision."""

from ilr_dynamics.control.closed_loop import TrackingResult, track
from ilr_dynamics.control.command import Command
from ilr_dynamics.control.confidence import ConfidenceGate
from ilr_dynamics.control.driver_watch import DriverWatch
from ilr_dynamics.control.feedforward import (
    FeedForward,
    FeedForwardTorque,
    LearnedFeedForward,
    NoFeedForward,
    RigidBodyFeedForward,
)
from ilr_dynamics.control.joint_order import joint_order
from ilr_dynamics.control.joint_path import JointPath, Reference
from ilr_dynamics.control.limits import JointLimits
from ilr_dynamics.control.modes import Mode
from ilr_dynamics.control.pd import Gains
from ilr_dynamics.control.sender_watch import SenderWatch
from ilr_dynamics.control.supervision import Supervision
from ilr_dynamics.control.tracking_controller import TrackingController
from ilr_dynamics.control.velocity_check import VelocityCheck
from ilr_dynamics.control.velocity_estimate import VelocityEstimate

__all__ = [
    "Command",
    "ConfidenceGate",
    "DriverWatch",
    "FeedForward",
    "FeedForwardTorque",
    "Gains",
    "JointLimits",
    "JointPath",
    "LearnedFeedForward",
    "Mode",
    "NoFeedForward",
    "Reference",
    "RigidBodyFeedForward",
    "SenderWatch",
    "Supervision",
    "TrackingController",
    "TrackingResult",
    "VelocityCheck",
    "VelocityEstimate",
    "joint_order",
    "track",
]
