# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Arrays of identified dynamics in snapshots and predictor files, and their check."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.robot.dynamics_regressor import N_INERTIAL, n_columns, n_parameters

__all__ = ["PARTS", "POSTERIOR", "STATE", "check_arrays"]

# Fields of `IdentifiedDynamics`, and of the `ParameterPosterior` that follows from them.
STATE = (
    "placements",
    "axes",
    "gravity",
    "inertial_prior",
    "motors",
    "gram",
    "pull",
    "energy",
    "weight",
    "seen",
    "moments",
)
PARTS = ("mean", "covariance", "noise")
POSTERIOR = "posterior_"


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
    if "seen" not in arrays:
        raise ValueError(
            "identified dynamics of an earlier version: learn them again from the recordings"
        )
    for name, shape in _shapes(len(arrays["axes"])).items():
        if arrays[name].shape != shape or not np.all(np.isfinite(arrays[name])):
            raise ValueError(f"{name} of identified dynamics must be finite and of shape {shape}")
    if not np.all(arrays[POSTERIOR + "noise"] > 0.0):
        raise ValueError(f"{POSTERIOR}noise of identified dynamics must be positive")


def _shapes(n: int) -> dict[str, tuple[int, ...]]:
    """Shapes of the arrays of n joints."""
    size = n_columns(n)
    return {
        "placements": (n, 4, 4),
        "axes": (n, 3),
        "gravity": (3,),
        "inertial_prior": (n, N_INERTIAL),
        "motors": (n, n),
        "gram": (n, size, size),
        "pull": (n, size),
        "energy": (n,),
        "weight": (n,),
        "seen": (),
        "moments": (3, n),
        POSTERIOR + "mean": (n_parameters(n),),
        POSTERIOR + "covariance": (n, size, size),
        POSTERIOR + "noise": (n,),
    }
