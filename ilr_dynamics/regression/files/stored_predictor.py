# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Predictors as a header and arrays, and back.

All arrays lie one after the other in a single one, and the header has their shapes. NumPy takes
13 us to parse the header of an array: for thirty of them, longer than a control loop takes for
all else when it takes over a model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.regression.files.stored_transforms import (
    pack_transforms,
    transform_arrays,
    unpack_transforms,
)
from ilr_dynamics.regression.prediction.physical_mixture import PhysicalMixture
from ilr_dynamics.regression.prediction.predictive_mixture import PredictiveMixture
from ilr_dynamics.regression.prediction.screening import Screening

__all__ = ["concatenated", "pack_predictor", "separated", "unpack_predictor"]

# Floats of a cache line, on which each array begins.
ALIGNMENT = 8


def pack_predictor(
    physical: PhysicalMixture,
) -> tuple[dict[str, Any], dict[str, FloatArray]]:
    """Header, of what JSON can hold, and arrays by name; SnapshotError if none can be made."""
    arrays: dict[str, FloatArray] = {}
    for part in (physical.mixture, physical.screening):
        for field in fields(part):
            arrays[field.name] = getattr(part, field.name)
    header, parts = pack_transforms(physical.transforms)
    shapes, values = concatenated({**arrays, **parts})
    return {"transforms": header, "shapes": shapes}, {"values": values}


def unpack_predictor(
    header: Mapping[str, Any], arrays: Mapping[str, FloatArray]
) -> PhysicalMixture:
    """
    Take a predictor's mixture from what `pack_predictor` made of it, as views.

    Arrays of the compiled mixture that do not fit together are refused when it is first asked.

    Raises
    ------
    LookupError, TypeError, ValueError, OverflowError
        If something is missing or does not fit together.
    SnapshotError
        If the global model is of a class that is not known here.
    """
    arrays = separated(header["shapes"], arrays["values"])
    shapes = {name: array.shape for name, array in arrays.items()}
    n, d, q = (*shapes.get("maps", ()), 0, 0, 0)[:3]
    transforms = unpack_transforms(header["transforms"], arrays, n_regressors=q, n_outputs=d)
    parts = [
        {field.name: arrays[field.name] for field in fields(part)}
        for part in (PredictiveMixture, Screening)
    ]
    known = {*parts[0], *parts[1], *transform_arrays(transforms)}
    own = {"noise_shapes": (n, d, d), "dofs": (n,)}
    if known != set(arrays) or any(shapes[name] != shape for name, shape in own.items()):
        raise ValueError(f"its arrays do not fit together: {shapes}")
    return PhysicalMixture(PredictiveMixture(**parts[0]), transforms, Screening(**parts[1]))


def concatenated(arrays: Mapping[str, FloatArray]) -> tuple[dict[str, list[int]], FloatArray]:
    """Shapes by name and all values in one array (n,), each beginning on a cache line."""
    parts = [np.zeros(0)]
    for array in arrays.values():
        parts += [array.ravel(), np.zeros(-array.size % ALIGNMENT)]
    return {name: list(array.shape) for name, array in arrays.items()}, np.concatenate(parts)


def separated(shapes: Mapping[str, list[int]], values: FloatArray) -> dict[str, FloatArray]:
    """Views, of these shapes, of the arrays that `concatenated` made one of."""
    arrays, begin = {}, 0
    for name, shape in dict(shapes).items():
        size = math.prod(shape)
        arrays[name] = values[begin : begin + size].reshape(shape)
        begin += size + -size % ALIGNMENT
    return arrays
