# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Arrays of identified dynamics in snapshots and predictor files, and their check."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.robot.dynamics_regressor import N_INERTIAL, n_columns, n_parameters
from ilr_dynamics.robot.parameter_prior import n_scales
from ilr_dynamics.robot.torque_noise import N_SUMS

__all__ = [
    "CORRELATION",
    "DESCRIPTION_ERROR",
    "EARLIER",
    "KEPT",
    "NOISE",
    "PARTS",
    "POSTERIOR",
    "SAMPLES",
    "STATE",
    "check_arrays",
    "with_later_arrays",
]

PRIOR_SCALES = "prior_scales"
TOOL = "tool"
FREQUENCIES = "frequencies"
# Fields of `IdentifiedDynamics`, of the `ParameterPosterior` that follows from them, and of its
# `RepresentativeSamples`.
STATE = (
    "placements",
    "axes",
    "gravity",
    "inertial_prior",
    "motors",
    TOOL,
    FREQUENCIES,
    "gram",
    "pull",
    "energy",
    "weight",
    PRIOR_SCALES,
)
PARTS = ("mean", "covariance", "noise")
POSTERIOR = "posterior_"
SAMPLES = ("X", "Y", "mass", "worth")
KEPT = "representative_"
CORRELATION = "correlation"
NOISE = "noise_sums"
DESCRIPTION_ERROR = "description_error_sums"
EARLIER = "earlier_"


def with_later_arrays(arrays: Mapping[str, FloatArray]) -> Mapping[str, FloatArray]:
    """
    Return arrays with those that files of earlier versions lack, as they were meant then.

    Raises
    ------
    ValueError
        If there are sums of fewer joints.
    """
    n = len(arrays["axes"])
    # Before arrays are made that have the square of this size.
    if arrays["gram"].size < n * n_columns(n) ** 2:
        raise ValueError(f"gram of identified dynamics is too small for {n} joints")
    # None of them knew of a potential.
    size = n_parameters(n)
    return {
        PRIOR_SCALES: np.ones(n_scales(n)),
        TOOL: np.zeros(3),
        FREQUENCIES: np.zeros((0, n)),
        EARLIER + "precision": np.zeros((size, size)),
        EARLIER + "pull": np.zeros(size),
        **arrays,
    }


def check_arrays(arrays: Mapping[str, FloatArray]) -> None:
    """
    Check the arrays from which identified dynamics are to be made.

    Parameters
    ----------
    arrays : mapping of str to ndarray
        Arrays by name, see `STATE` and `POSTERIOR`.

    Raises
    ------
    ValueError
        If shapes do not fit, values are not finite or the arrays are of an earlier version.
    """
    if CORRELATION not in arrays:
        raise ValueError(
            "identified dynamics of an earlier version: learn them again from the recordings"
        )
    n_kept = arrays[KEPT + "mass"].size
    # One of no dimension has no rows, and is refused with the others.
    n_frequencies = len(np.atleast_1d(arrays[FREQUENCIES]))
    for name, shape in _shapes(len(arrays["axes"]), n_frequencies, n_kept).items():
        if arrays[name].shape != shape or not np.all(np.isfinite(arrays[name])):
            raise ValueError(f"{name} of identified dynamics must be finite and of shape {shape}")
    for name in (POSTERIOR + "noise", KEPT + "mass", KEPT + "worth", CORRELATION, PRIOR_SCALES):
        if not np.all(arrays[name] > 0.0):
            raise ValueError(f"{name} of identified dynamics must be positive")
    if not arrays[CORRELATION][-1] < 1.0:
        raise ValueError(f"the share in {CORRELATION} of identified dynamics must be below 1")


def _shapes(n: int, m: int, n_kept: int) -> dict[str, tuple[int, ...]]:
    """Shapes of the arrays of n joints, m frequencies and n_kept representatives."""
    size, n_all = n_columns(n, m), n_parameters(n, m)
    return {
        "placements": (n, 4, 4),
        "axes": (n, 3),
        "gravity": (3,),
        "inertial_prior": (n, N_INERTIAL),
        "motors": (n, n),
        TOOL: (3,),
        FREQUENCIES: (m, n),
        "gram": (n, size, size),
        "pull": (n, size),
        "energy": (n,),
        "weight": (n,),
        NOISE: (N_SUMS, n),
        DESCRIPTION_ERROR: (N_SUMS, n),
        POSTERIOR + "mean": (n_all,),
        POSTERIOR + "covariance": (n, size, size),
        POSTERIOR + "noise": (n,),
        KEPT + "X": (n_kept, 3 * n),
        KEPT + "Y": (n_kept, n),
        KEPT + "mass": (n_kept,),
        KEPT + "worth": (n_kept,),
        CORRELATION: (3,),
        PRIOR_SCALES: (n_scales(n, m),),
        EARLIER + "precision": (n_all, n_all),
        EARLIER + "pull": (n_all,),
    }
