# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Full names of parameters that are in groups.

Settings of the learner name parameters without their groups, as do files and calls from before
there were groups.
"""

from __future__ import annotations

__all__ = ["FULL_NAMES"]

_PRIOR = (
    "concentration",
    "upper_concentration",
    "input_spread",
    "input_strength",
    "centre_spread",
    "upper_centre_spread",
    "noise_std",
    "noise_strength",
    "slope_scale",
)
_INFERENCE = (
    "max_iterations",
    "tolerance",
    "n_restarts",
    "fit_scales",
    "fit_concentration",
    "merge",
    "batch_size",
    "step_delay",
    "step_rate",
)
_SCALING = ("input_location", "input_scale", "output_location", "output_scale")

FULL_NAMES = {
    **{name: f"prior__{name}" for name in _PRIOR},
    **{name: f"inference__{name}" for name in _INFERENCE},
    **{name: f"scaling__{name}" for name in _SCALING},
}
"""Names of parameters with their groups, as `set_params` takes them, by those without."""
