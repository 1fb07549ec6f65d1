# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
ROS 2 nodes: thin layers that convert messages and call the other folders.

The programs `inverse_dynamics_node`, `recorder`, `trajectory_publisher`, `visualizer` and
`wam_simulator` are in this folder, with the parameters of all of them in `parameters`. Their parts
are in `controller`, `learner`, `markers` and, of several programs, in `shared`.
"""
