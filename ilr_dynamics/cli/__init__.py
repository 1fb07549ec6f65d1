# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Command-line programs: train, evaluate, inspect, report, export and the demo."""
