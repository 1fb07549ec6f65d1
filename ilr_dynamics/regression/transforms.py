# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What stands between physical units and the mixture, to the contents of a file and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.exceptions import SnapshotError
from ilr_dynamics.regression.baseline import Baseline
from ilr_dynamics.regression.calibration import SpreadFactors
from ilr_dynamics.regression.fallback import FALLBACKS, check_fallback_fits
from ilr_dynamics.regression.features import Regressors
from ilr_dynamics.regression.prior_mean import name_of_prior_mean, prior_mean_from_arrays
from ilr_dynamics.regression.scaling import Standardizer
from ilr_dynamics.regression.validation import check_integer

__all__ = ["Transforms", "pack_transforms", "unpack_transforms"]

PRIOR_MEAN = "prior_mean."
FALLBACK = "fallback."
# Beyond all units anyone measures in: the squares of such numbers stay finite.
MAX_SCALE = 1e30


@dataclass(frozen=True)
class Transforms:
    """
    What stands between physical units and the mixture.

    Parameters
    ----------
    regressors
        Inputs in physical units to regressors in standard units.
    outputs
        Outputs in physical to standard units.
    baseline
        What is known beside the mixture, in physical units.
    spread
        Factors on standard deviations, found by calibration.
    """

    regressors: Regressors
    outputs: Standardizer
    baseline: Baseline = Baseline()
    spread: SpreadFactors = SpreadFactors()


def pack_transforms(transforms: Transforms) -> tuple[dict[str, Any], dict[str, FloatArray]]:
    """Header, of what JSON can hold, and arrays by name; SnapshotError if none can be made."""
    arrays: dict[str, FloatArray] = {}
    regressors, baseline = transforms.regressors, transforms.baseline
    for name, scaling in (
        ("input", regressors.scaling),
        ("feature", regressors.feature_scaling),
        ("output", transforms.outputs),
    ):
        try:
            _check_scaling(scaling.location, scaling.scale, name)
        except ValueError as error:
            raise SnapshotError(f"the model cannot be saved: {error}") from error
        arrays[f"{name}_location"], arrays[f"{name}_scale"] = scaling.location, scaling.scale
    header: dict[str, Any] = {
        "features": regressors.features,
        "degree": regressors.degree,
        "prior_mean": None,
        "fallback": None,
        "spread": [transforms.spread.components, transforms.spread.unseen],
        "learn_residual": baseline.learn_residual,
    }
    if baseline.prior_mean is not None:
        header["prior_mean"] = name_of_prior_mean(baseline.prior_mean)
        arrays.update(_prefixed(PRIOR_MEAN, baseline.prior_mean.arrays()))
    if baseline.fallback is not None:
        header["fallback"] = FALLBACKS.name_of(baseline.fallback)
        arrays.update(_prefixed(FALLBACK, baseline.fallback.arrays()))
    return header, arrays


def unpack_transforms(
    header: Mapping[str, Any],
    arrays: Mapping[str, FloatArray],
    *,
    n_regressors: int,
    n_outputs: int,
) -> Transforms:
    """
    Take regressors, output scaling, prior mean and fallback from a file.

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
    SnapshotError
        If the prior mean or the fallback is of a class that is not known here.
    """
    inputs = _scaling(arrays, "input")
    features, degree = str(header["features"]), check_integer(header["degree"], "degree", 1)
    regressors = Regressors(inputs, features, degree, _scaling(arrays, "feature"))
    q = regressors(inputs.location[None]).shape[1]
    if q != n_regressors:
        raise ValueError(
            f"the features {regressors.features!r} give {q} regressors, the model has "
            f"{n_regressors}"
        )
    outputs = _scaling(arrays, "output")
    if outputs.location.size != n_outputs:
        raise ValueError(f"the output scaling must hold {n_outputs} locations and scales")
    prior_mean, fallback = None, None
    if header["prior_mean"] is not None:
        prior_mean = prior_mean_from_arrays(
            str(header["prior_mean"]), _without_prefix(PRIOR_MEAN, arrays)
        )
        if np.shape(prior_mean(inputs.location[None])) != (1, n_outputs):
            raise ValueError("the prior mean does not fit the inputs and outputs of the model")
    if header["fallback"] is not None:
        fallback = FALLBACKS.make(str(header["fallback"]), _without_prefix(FALLBACK, arrays))
        check_fallback_fits(fallback, inputs.location[None], n_outputs)
    learn_residual = header.get("learn_residual", False)
    if not isinstance(learn_residual, bool):
        raise ValueError(f"learn_residual is {learn_residual!r}, expected true or false")
    baseline = Baseline(prior_mean, fallback, learn_residual)
    return Transforms(regressors, outputs, baseline, _spread(header["spread"]))


def _prefixed(prefix: str, arrays: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    return {prefix + name: np.asarray(array, dtype=float) for name, array in arrays.items()}


def _without_prefix(prefix: str, arrays: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }


def _spread(values: Any) -> SpreadFactors:
    components, unseen = map(float, values)
    if not (0.0 < components < np.inf and 0.0 < unseen < np.inf):
        raise ValueError(f"the spread factors must be positive and finite, got {values}")
    return SpreadFactors(components, unseen)


def _scaling(arrays: Mapping[str, FloatArray], name: str) -> Standardizer:
    location, scale = arrays[f"{name}_location"], arrays[f"{name}_scale"]
    if location.ndim != 1 or scale.shape != location.shape:
        raise ValueError(f"the {name} scaling must hold as many scales as locations")
    _check_scaling(location, scale, name)
    return Standardizer(location, scale)


def _check_scaling(location: FloatArray, scale: FloatArray, name: str) -> None:
    # NaN is outside these bounds too.
    outside = ~((1.0 / MAX_SCALE <= scale) & (np.maximum(scale, abs(location)) <= MAX_SCALE))
    if np.any(outside):
        column = int(np.argmax(outside))
        raise ValueError(
            f"the {name} scaling has location {location[column]:g} and scale {scale[column]:g} "
            f"in column {column}, expected scales from {1.0 / MAX_SCALE:g} to {MAX_SCALE:g} and "
            "locations up to that: other units are meant"
        )
