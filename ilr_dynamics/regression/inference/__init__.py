# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Variational inference: schemes, moves, initialisation, and what they leave known."""
