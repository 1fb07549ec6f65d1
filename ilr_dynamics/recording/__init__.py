# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Recordings: readers and writer of rosbag2 files, and training samples of inverse dynamics."""

from __future__ import annotations

from ilr_dynamics.recording.bag import read_annotations
from ilr_dynamics.recording.bag_digest import bag_digest
from ilr_dynamics.recording.find_bags import find_bags
from ilr_dynamics.recording.joint_state import encode_joint_state
from ilr_dynamics.recording.message_collector import BagLimits
from ilr_dynamics.recording.reading import (
    GRAVITY_ANNOTATION,
    NAMESPACE_ANNOTATION,
    PREFIX_ANNOTATION,
    read_recording,
)
from ilr_dynamics.recording.recording import Recording
from ilr_dynamics.recording.rejection_texts import describe_rejections
from ilr_dynamics.recording.sample_settings import SampleSettings
from ilr_dynamics.recording.samples import Samples, training_samples
from ilr_dynamics.recording.smoothed_motion import SmoothedMotion, smoothed_motion
from ilr_dynamics.recording.writer import RecordingWriter

__all__ = [
    "GRAVITY_ANNOTATION",
    "NAMESPACE_ANNOTATION",
    "PREFIX_ANNOTATION",
    "BagLimits",
    "Recording",
    "RecordingWriter",
    "SampleSettings",
    "Samples",
    "SmoothedMotion",
    "bag_digest",
    "describe_rejections",
    "encode_joint_state",
    "find_bags",
    "read_annotations",
    "read_recording",
    "smoothed_motion",
    "training_samples",
]
