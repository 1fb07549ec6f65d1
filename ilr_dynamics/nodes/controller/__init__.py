# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Control loop of /inverse_dynamics: topics, torque command, reports."""
