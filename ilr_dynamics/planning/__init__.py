# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What to record next: motions from which a model of an arm would learn most."""

from ilr_dynamics.planning.clearance import Clearance, KeepOutBox
from ilr_dynamics.planning.information import Knowledge, Region
from ilr_dynamics.planning.motion_law import STEP, MotionBounds
from ilr_dynamics.planning.plan import N_CANDIDATES, MotionPlan, plan_motion
from ilr_dynamics.planning.problem import PlanProblem, PlanSettings
from ilr_dynamics.planning.torque_margin import TorqueMargin

__all__ = [
    "N_CANDIDATES",
    "STEP",
    "Clearance",
    "KeepOutBox",
    "Knowledge",
    "MotionBounds",
    "MotionPlan",
    "PlanProblem",
    "PlanSettings",
    "Region",
    "TorqueMargin",
    "plan_motion",
]
