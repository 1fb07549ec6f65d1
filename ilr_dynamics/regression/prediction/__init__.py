# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Posterior predictive distributions, of many inputs and of one, and their calibration."""
