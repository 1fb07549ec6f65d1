# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Infinite local regression: Dirichlet-process mixtures of Bayesian linear regressions."""

from .ilr import ILR
from .predictor import Prediction, Predictor
from .snapshot import load_snapshot

__all__ = ["ILR", "Prediction", "Predictor", "load_snapshot"]
