# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Thin ROS 2 nodes: message in, one call, message out."""
