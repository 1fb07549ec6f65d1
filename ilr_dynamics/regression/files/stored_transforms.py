# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Transforms as a header and named arrays, and back, also under former names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.exceptions import SnapshotError
from ilr_dynamics.regression.shared.global_model import (
    GlobalModel,
    check_global_model_fits,
    global_model_from_arrays,
    name_of,
)
from ilr_dynamics.regression.shared.validation import check_integer
from ilr_dynamics.regression.units.features import Regressors
from ilr_dynamics.regression.units.scaling import Standardizer
from ilr_dynamics.regression.units.spread import SpreadFactors
from ilr_dynamics.regression.units.transforms import Transforms

__all__ = ["pack_transforms", "transform_arrays", "unpack_transforms"]

SCALINGS = ("input", "feature", "output")
GLOBAL_MODEL = "global_model."
# Its name in files of earlier versions.
FALLBACK = "fallback."
# Beyond all units anyone measures in: the squares of such numbers stay finite.
MAX_SCALE = 1e30


def pack_transforms(transforms: Transforms) -> tuple[dict[str, Any], dict[str, FloatArray]]:
    """Header, of what JSON can hold, and arrays by name; SnapshotError if none can be made."""
    arrays = transform_arrays(transforms)
    try:
        for name in SCALINGS:
            _scaling(arrays, name)
    except ValueError as error:
        raise SnapshotError(f"the model cannot be saved: {error}") from error
    model = transforms.global_model
    header = {
        "features": transforms.regressors.features,
        "degree": transforms.regressors.degree,
        "global_model": None if model is None else name_of(model),
        "learn_residual": transforms.learn_residual,
        "spread": [transforms.spread.components, transforms.spread.unseen],
    }
    return header, arrays


def transform_arrays(transforms: Transforms) -> dict[str, FloatArray]:
    """Arrays by name, unchecked."""
    regressors, model = transforms.regressors, transforms.global_model
    scalings = (regressors.scaling, regressors.feature_scaling, transforms.outputs)
    arrays = {}
    for name, scaling in zip(SCALINGS, scalings, strict=True):
        arrays[f"{name}_location"], arrays[f"{name}_scale"] = scaling.location, scaling.scale
    if model is not None:
        for name, array in model.arrays().items():
            arrays[GLOBAL_MODEL + name] = np.asarray(array, dtype=float)
    return arrays


def unpack_transforms(
    header: Mapping[str, Any],
    arrays: Mapping[str, FloatArray],
    *,
    n_regressors: int,
    n_outputs: int,
) -> Transforms:
    """
    Take the transforms from a file.

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
        If the global model is of a class that is not known here, or the model has a prior mean.
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
    model = _global_model(header, arrays)
    if model is not None:
        check_global_model_fits(model, inputs.location[None], n_outputs)
    learn_residual = header.get("learn_residual", False)
    if not isinstance(learn_residual, bool) or (learn_residual and model is None):
        raise ValueError(
            f"learn_residual is {learn_residual!r}; expected true or false, and false without a "
            "global model"
        )
    return Transforms(regressors, outputs, model, learn_residual, _spread(header["spread"]))


def _global_model(
    header: Mapping[str, Any], arrays: Mapping[str, FloatArray]
) -> GlobalModel | None:
    """Take the global model from a file, under its present name or under that of before."""
    if header.get("prior_mean") is not None:
        raise SnapshotError(
            "the model has a prior mean function, which models no longer have: learn it again "
            "with a global model (global_model=..., learn_residual=True; docs/python.md shows one)"
        )
    if "fallback" in header:
        name, prefix = header["fallback"], FALLBACK
    else:
        name, prefix = header["global_model"], GLOBAL_MODEL
    if name is None:
        return None
    parts = {key.removeprefix(prefix): a for key, a in arrays.items() if key.startswith(prefix)}
    return global_model_from_arrays(str(name), parts)


def _spread(values: Any) -> SpreadFactors:
    components, unseen = map(float, values)
    if not (0.0 < components < np.inf and 0.0 < unseen < np.inf):
        raise ValueError(f"the spread factors must be positive and finite, got {values}")
    return SpreadFactors(components, unseen)


def _scaling(arrays: Mapping[str, FloatArray], name: str) -> Standardizer:
    location, scale = arrays[f"{name}_location"], arrays[f"{name}_scale"]
    if location.ndim != 1 or scale.shape != location.shape:
        raise ValueError(f"the {name} scaling must hold as many scales as locations")
    # NaN is outside these bounds too.
    outside = ~((1.0 / MAX_SCALE <= scale) & (np.maximum(scale, abs(location)) <= MAX_SCALE))
    if np.any(outside):
        column = int(np.argmax(outside))
        raise ValueError(
            f"the {name} scaling has location {location[column]:g} and scale {scale[column]:g} "
            f"in column {column}, expected scales from {1.0 / MAX_SCALE:g} to {MAX_SCALE:g} and "
            "locations up to that: other units are meant"
        )
    return Standardizer(location, scale)
