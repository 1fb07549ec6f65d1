# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Infinite local regression: Dirichlet-process mixtures of Bayesian linear regressions."""

from .fallback import Fallback, FallbackPrediction
from .features import register_features
from .hilr import HILR
from .ilr import ILR
from .linear_fallback import LinearFallback
from .predictor import Prediction, Predictor
from .prior_mean import LinearPriorMean, PriorMean
from .sample_weights import effective_sample_weights
from .snapshot import load_snapshot

__all__ = [
    "HILR",
    "ILR",
    "Fallback",
    "FallbackPrediction",
    "LinearFallback",
    "LinearPriorMean",
    "Prediction",
    "Predictor",
    "PriorMean",
    "effective_sample_weights",
    "load_snapshot",
    "register_features",
]
