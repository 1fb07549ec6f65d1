# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What stands between physical units and the mixture, to the contents of a file and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .features import Regressors
from .prior_mean import PriorMean, name_of_prior_mean, prior_mean_from_arrays
from .scaling import Standardizer

__all__ = ["pack_transforms", "unpack_transforms"]

Array = NDArray[np.float64]

PRIOR_MEAN = "prior_mean."
# Beyond all units anyone measures in: the squares of such numbers stay finite.
MAX_SCALE = 1e30


def pack_transforms(
    regressors: Regressors, outputs: Standardizer, prior_mean: PriorMean | None
) -> tuple[dict[str, Any], dict[str, Array]]:
    """Header, of what JSON can hold, and arrays by name; SnapshotError if none can be made."""
    arrays = {}
    for name, scaling in (
        ("input", regressors.scaling),
        ("feature", regressors.feature_scaling),
        ("output", outputs),
    ):
        arrays[f"{name}_location"], arrays[f"{name}_scale"] = scaling.location, scaling.scale
    header = {"features": regressors.features, "degree": regressors.degree, "prior_mean": None}
    if prior_mean is not None:
        header["prior_mean"] = name_of_prior_mean(prior_mean)
        for name, array in prior_mean.arrays().items():
            arrays[PRIOR_MEAN + name] = np.asarray(array, dtype=float)
    return header, arrays


def unpack_transforms(
    header: Mapping[str, Any], arrays: Mapping[str, Array], *, n_regressors: int, n_outputs: int
) -> tuple[Regressors, Standardizer, PriorMean | None]:
    """
    Take regressors, output scaling and prior mean from a file.

    Parameters
    ----------
    header, arrays
        As `pack_transforms` made them, perhaps among others.
    n_regressors, n_outputs
        Lengths q and d that the mixture of the file has.

    Raises
    ------
    LookupError, TypeError, ValueError
        If something is missing or does not fit together.
    """
    inputs = _scaling(arrays, "input")
    regressors = Regressors(
        inputs, str(header["features"]), int(header["degree"]), _scaling(arrays, "feature")
    )
    q = regressors(inputs.location[None]).shape[1]
    if q != n_regressors:
        raise ValueError(
            f"the features {regressors.features!r} give {q} regressors, the model has "
            f"{n_regressors}"
        )
    outputs = _scaling(arrays, "output")
    if outputs.location.size != n_outputs:
        raise ValueError(f"the output scaling must hold {n_outputs} locations and scales")
    if header["prior_mean"] is None:
        return regressors, outputs, None
    of_prior_mean = {
        name.removeprefix(PRIOR_MEAN): array
        for name, array in arrays.items()
        if name.startswith(PRIOR_MEAN)
    }
    prior_mean = prior_mean_from_arrays(str(header["prior_mean"]), of_prior_mean)
    if np.shape(prior_mean(inputs.location[None])) != (1, n_outputs):
        raise ValueError("the prior mean does not fit the inputs and outputs of the model")
    return regressors, outputs, prior_mean


def _scaling(arrays: Mapping[str, Array], name: str) -> Standardizer:
    location, scale = arrays[f"{name}_location"], arrays[f"{name}_scale"]
    if location.ndim != 1 or scale.shape != location.shape:
        raise ValueError(f"the {name} scaling must hold as many scales as locations")
    if np.any(scale < 1.0 / MAX_SCALE) or np.any(np.maximum(scale, abs(location)) > MAX_SCALE):
        raise ValueError(
            f"the {name} scaling must hold scales from {1.0 / MAX_SCALE:g} to {MAX_SCALE:g}"
        )
    return Standardizer(location, scale)
