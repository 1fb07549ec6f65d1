# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Infinite local regression: Dirichlet-process mixtures of Bayesian linear regressions."""

from typing import TYPE_CHECKING, Any

from ilr_dynamics.regression.file_learning import fit_files
from ilr_dynamics.regression.files.sample_file import SampleFile, write_samples
from ilr_dynamics.regression.former_names import present_class
from ilr_dynamics.regression.gaussian_process_global_model import GaussianProcessGlobalModel
from ilr_dynamics.regression.hilr import HILR
from ilr_dynamics.regression.ilr import ILR
from ilr_dynamics.regression.inference.batch import BatchInference
from ilr_dynamics.regression.inference.sample_weights import effective_sample_weights
from ilr_dynamics.regression.inference.stochastic import StochasticInference
from ilr_dynamics.regression.linear_global_model import LinearGlobalModel
from ilr_dynamics.regression.mixture.prior import Prior, TwoLevelPrior
from ilr_dynamics.regression.mixture_regressor import MixtureRegressor
from ilr_dynamics.regression.predictor import Prediction, Predictor
from ilr_dynamics.regression.shared.global_model import GlobalModel, GlobalPrediction
from ilr_dynamics.regression.snapshot import load_snapshot
from ilr_dynamics.regression.units.features import register_features
from ilr_dynamics.regression.units.scaling import Scaling

__all__ = [
    "HILR",
    "ILR",
    "BatchInference",
    "GaussianProcessGlobalModel",
    "GlobalModel",
    "GlobalPrediction",
    "LinearGlobalModel",
    "MixtureRegressor",
    "Prediction",
    "Predictor",
    "Prior",
    "SampleFile",
    "Scaling",
    "StochasticInference",
    "TwoLevelPrior",
    "effective_sample_weights",
    "fit_files",
    "load_snapshot",
    "register_features",
    "write_samples",
]

# Checkers of types would take every name for one of these.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Answer the names that classes had before, for one minor version."""
        return globals()[present_class(name, __name__)]
