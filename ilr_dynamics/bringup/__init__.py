# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
What the launch files decide: which programs run with what, and what their ends mean.

Nothing here needs the packages of ROS 2's launch system: the files in ``launch/`` hand the
decisions on to it.
"""
