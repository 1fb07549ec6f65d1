# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Predictors as named arrays and a header, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.regression.files.stored_transforms import (
    pack_transforms,
    transform_arrays,
    unpack_transforms,
)
from ilr_dynamics.regression.prediction.predictive_mixture import PredictiveMixture
from ilr_dynamics.regression.prediction.pruning import PruningBounds
from ilr_dynamics.regression.units.transforms import Transforms

__all__ = ["pack_predictor", "unpack_predictor"]

PRUNING = "pruning_"


def pack_predictor(
    mixture: PredictiveMixture, transforms: Transforms, pruning: PruningBounds
) -> tuple[dict[str, FloatArray], dict[str, Any]]:
    """Arrays by name and header, of what JSON can hold; SnapshotError if none can be made."""
    arrays: dict[str, FloatArray] = {}
    for prefix, part in (("", mixture), (PRUNING, pruning)):
        for field in fields(part):
            arrays[prefix + field.name] = getattr(part, field.name)
    header, parts = pack_transforms(transforms)
    return {**arrays, **parts}, header


def unpack_predictor(
    arrays: Mapping[str, FloatArray], header: Mapping[str, Any]
) -> tuple[PredictiveMixture, Transforms, PruningBounds]:
    """
    Take the parts of a predictor from what `pack_predictor` made of them.

    Raises
    ------
    LookupError, TypeError, ValueError
        If something is missing or does not fit together.
    SnapshotError
        If the global model is of a class that is not known here.
    """
    shapes = {name: array.shape for name, array in arrays.items()}
    n, d, q = (*shapes.get("maps", ()), 0, 0, 0)[:3]
    transforms = unpack_transforms(header, arrays, n_regressors=q, n_outputs=d)
    m = transforms.regressors.n_inputs
    of_mixture = _mixture_shapes(n, d, q, m)
    of_pruning = _pruning_shapes(n, shapes.get(PRUNING + "projection", (0,))[0], m)
    parts = {name: array.shape for name, array in transform_arrays(transforms).items()}
    if shapes != {**of_mixture, **of_pruning, **parts}:
        raise ValueError(f"its arrays do not fit together: {shapes}")
    return (
        PredictiveMixture(**{name: arrays[name] for name in of_mixture}),
        transforms,
        PruningBounds(*(arrays[name] for name in of_pruning)),
    )


def _mixture_shapes(n: int, d: int, q: int, m: int) -> dict[str, tuple[int, ...]]:
    """Shapes of a predictive mixture of n components."""
    return {
        "log_constants": (n,),
        "exponents": (n,),
        "distance_coefficients": (n, (m + 1) * (m + 2) // 2),
        "maps": (n, d, q),
        "widening_coefficients": (n, q * (q + 1) // 2),
        "noise_shapes": (n, d, d),
        "dofs": (n,),
    }


def _pruning_shapes(n: int, c: int, m: int) -> dict[str, tuple[int, ...]]:
    """Shapes of the pruning of n components by c - 1 of m coordinates."""
    return {
        PRUNING + "projection": (c, m + 1),
        PRUNING + "coefficients": (n, c * (c + 1) // 2),
    }
