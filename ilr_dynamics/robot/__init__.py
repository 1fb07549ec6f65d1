# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Robot arms: description, rigid-body model and kinematics, simulated plant and tool paths."""
