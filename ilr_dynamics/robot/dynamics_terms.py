# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Terms of inverse dynamics: their numbers, as in `_dynamics.c`, and speeds of friction."""

from __future__ import annotations

__all__ = [
    "FRICTION_SPEEDS",
    "N_INERTIAL",
    "N_OF_JOINT",
    "N_OF_MOTOR",
    "N_PLAIN",
    "N_POSITION_TERMS",
    "N_SPEEDS",
    "N_WAVES",
    "SIGN_SPEED",
    "SLOWEST",
]

# Speeds v_s at which dry friction saturates, rad/s, from a bearing's slip to a film of grease.
FRICTION_SPEEDS = (0.01, 0.03, 0.1, 0.3)
SLOWEST = FRICTION_SPEEDS[0]
# The same for friction that depends on load and position.
SIGN_SPEED = 0.03
N_POSITION_TERMS = 5
N_WAVES = 12
N_INERTIAL = 10
N_SPEEDS = len(FRICTION_SPEEDS)
N_OF_MOTOR = 2 + N_SPEEDS
# Parameters of a joint: those of speed or position alone, then those of load and waves.
N_PLAIN = N_SPEEDS + N_POSITION_TERMS
N_OF_JOINT = N_PLAIN + 1 + 2 * N_WAVES
