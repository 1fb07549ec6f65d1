# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Learned inverse dynamics for torque-controlled arms: infinite local regression on ROS 2."""
