# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Transforms between physical units and the mixture: scaling, features and the global model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.exceptions import SnapshotError
from ilr_dynamics.regression.global_model import (
    GlobalModel,
    GlobalPrediction,
    check_global_model_fits,
    global_model_from_arrays,
    name_of,
)
from ilr_dynamics.regression.inference.calibration import SpreadFactors
from ilr_dynamics.regression.units.features import Regressors
from ilr_dynamics.regression.units.scaling import Standardizer
from ilr_dynamics.regression.validation import check_integer

__all__ = ["Transforms", "pack_transforms", "unpack_transforms"]

GLOBAL_MODEL = "global_model."
# Its name in files of before.
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
        Outputs in physical to standard units; of residuals if these are learned.
    global_model
        Prediction of the unseen component, in physical units; None: that of the base prior.
    learn_residual
        Whether the mixture learned what the global model leaves, so that its mean is added.
    spread
        Factors on standard deviations, found by calibration.
    """

    regressors: Regressors
    outputs: Standardizer
    global_model: GlobalModel | None = None
    learn_residual: bool = False
    spread: SpreadFactors = SpreadFactors()

    def residual(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        """What the mixture learns of outputs Y (n, d) at inputs X (n, m), in physical units."""
        if not self.learn_residual:
            return Y
        assert self.global_model is not None
        return self.global_model.residual(X, Y)

    def global_prediction(self, X: FloatArray) -> GlobalPrediction | None:
        """What the global model, if there is one, predicts at inputs X (n, m)."""
        return None if self.global_model is None else self.global_model.predict(X)

    def origin(self, prediction: GlobalPrediction | None) -> FloatArray:
        """Outputs (n, d) or (d,), in physical units, where those of the mixture are zero."""
        if prediction is None or not self.learn_residual:
            return self.outputs.location
        return self.outputs.location + prediction.mean

    def updated(self, X: FloatArray, Y: FloatArray, weights: FloatArray, kept: float) -> Self:
        """Let the global model learn further samples; earlier ones weigh `kept` as much."""
        if self.global_model is None:
            return self
        model = self.global_model if kept == 1.0 else self.global_model.discounted(kept)
        model = model.updated(X, Y, weights)
        check_global_model_fits(model, X, Y.shape[1])
        return replace(self, global_model=model)


def pack_transforms(transforms: Transforms) -> tuple[dict[str, Any], dict[str, FloatArray]]:
    """Header, of what JSON can hold, and arrays by name; SnapshotError if none can be made."""
    arrays: dict[str, FloatArray] = {}
    regressors, model = transforms.regressors, transforms.global_model
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
        "global_model": None if model is None else name_of(model),
        "learn_residual": transforms.learn_residual,
        "spread": [transforms.spread.components, transforms.spread.unseen],
    }
    if model is not None:
        for name, array in model.arrays().items():
            arrays[GLOBAL_MODEL + name] = np.asarray(array, dtype=float)
    return header, arrays


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
