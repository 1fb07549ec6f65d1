# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""ROS 2 nodes: thin layers that convert messages and call the other folders."""
