# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Dirichlet-process mixtures of local linear regressions, of one level and of two."""
