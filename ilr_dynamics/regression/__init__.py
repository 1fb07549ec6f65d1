# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Infinite local regression: Dirichlet-process mixtures of Bayesian linear regressions."""

from ilr_dynamics.regression.fallback import Fallback, FallbackPrediction
from ilr_dynamics.regression.features import register_features
from ilr_dynamics.regression.hilr import HILR
from ilr_dynamics.regression.ilr import ILR
from ilr_dynamics.regression.linear_fallback import LinearFallback
from ilr_dynamics.regression.predictor import Prediction, Predictor
from ilr_dynamics.regression.prior_mean import LinearPriorMean, PriorMean
from ilr_dynamics.regression.sample_weights import effective_sample_weights
from ilr_dynamics.regression.snapshot import load_snapshot

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
