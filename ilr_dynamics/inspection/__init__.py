# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a recording, before anything learns from it."""

from ilr_dynamics.inspection.finding import KINDS, Finding, Severity
from ilr_dynamics.inspection.inspect_recording import (
    Inspection,
    inspect_recording,
    with_model_torque,
    with_samples,
)

__all__ = [
    "KINDS",
    "Finding",
    "Inspection",
    "Severity",
    "inspect_recording",
    "with_model_torque",
    "with_samples",
]
