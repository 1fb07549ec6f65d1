# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What was learned, as a header and named arrays: base distribution, statistics, transforms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.regression.families.matrix_normal_wishart import MatrixNormalWishart
from ilr_dynamics.regression.families.normal_wishart import NormalWishart
from ilr_dynamics.regression.files.stored_transforms import pack_transforms, unpack_transforms
from ilr_dynamics.regression.inference.knowledge import Knowledge
from ilr_dynamics.regression.mixture.hierarchy import HierarchicalPrior
from ilr_dynamics.regression.mixture.mixture import MixturePrior
from ilr_dynamics.regression.shared.validation import check_integer

__all__ = ["pack_knowledge", "unpack_knowledge"]

# Fields of the families of a component.
# Of the region, which files call gate.
REGION = ("mean", "kappa", "inverse_scale", "dof")
REGRESSION = ("mean", "column_precision", "inverse_scale", "dof")
# Sums of outer products are positive semidefinite, but for rounding.
ROUNDING = 1e-8


def pack_knowledge(known: Knowledge) -> tuple[dict[str, Any], dict[str, FloatArray]]:
    """Header, of what JSON can hold, and arrays by name; SnapshotError if none can be made."""
    prior = known.prior
    arrays = {
        **{f"gate_{name}": getattr(prior.region, name) for name in REGION},
        **{f"regression_{name}": getattr(prior.regression, name) for name in REGRESSION},
        "concentration": np.array([prior.concentration]),
        "statistics": known.statistics,
        "groups": known.groups,
    }
    if isinstance(prior, HierarchicalPrior):
        arrays["upper"] = np.array([prior.upper_concentration, prior.upper_strength])
    transforms, parts = pack_transforms(known.transforms)
    return {"transforms": transforms, "n_samples": known.n_samples}, {**arrays, **parts}


def unpack_knowledge(
    header: Mapping[str, Any], arrays: Mapping[str, FloatArray], *, hierarchical: bool
) -> Knowledge:
    """
    Take what was learned from a file.

    Parameters
    ----------
    header, arrays
        As `pack_knowledge` made them, perhaps among others.
    hierarchical
        Whether the prior has two levels.

    Raises
    ------
    LookupError, TypeError, ValueError, IlrDynamicsError
        If something is missing or does not fit together.
    """
    prior = _checked_prior(arrays, hierarchical)
    statistics, groups = _checked_components(arrays, prior)
    transforms = unpack_transforms(
        header["transforms"],
        arrays,
        n_regressors=prior.n_regressors,
        n_outputs=prior.n_outputs,
    )
    if transforms.regressors.n_inputs != prior.n_inputs:
        raise ValueError(f"the input scaling must hold {prior.n_inputs} locations and scales")
    n_samples = check_integer(header["n_samples"], "n_samples", 1)
    return Knowledge(prior, statistics, groups, n_samples, transforms)


def _checked_prior(arrays: Mapping[str, FloatArray], hierarchical: bool) -> MixturePrior:
    m = arrays["gate_mean"].shape[-1]
    d, q = arrays["regression_mean"].shape[1:]
    shapes = {
        "gate_mean": (1, m),
        "gate_kappa": (1,),
        "gate_inverse_scale": (1, m, m),
        "gate_dof": (1,),
        "regression_mean": (1, d, q),
        "regression_column_precision": (1, q, q),
        "regression_inverse_scale": (1, d, d),
        "regression_dof": (1,),
        "concentration": (1,),
    }
    lowest = {
        "gate_kappa": 0.0,
        "gate_dof": m - 1.0,
        "regression_dof": d + 1.0,
        "concentration": 0.0,
    }
    if hierarchical:
        shapes["upper"], lowest["upper"] = (2,), 0.0
    for name, shape in shapes.items():
        _check_shape(name, arrays[name], shape)
    for name in ("gate_inverse_scale", "regression_column_precision", "regression_inverse_scale"):
        _check_symmetric(name, arrays[name])
    for name, bound in lowest.items():
        if not np.all(arrays[name] > bound):
            raise ValueError(f"{name} is {arrays[name].tolist()}, expected more than {bound}")
    families = (
        NormalWishart(*(arrays[f"gate_{name}"] for name in REGION)),
        MatrixNormalWishart(*(arrays[f"regression_{name}"] for name in REGRESSION)),
    )
    concentration = float(arrays["concentration"][0])
    if hierarchical:
        return HierarchicalPrior(*families, concentration, *map(float, arrays["upper"]))
    return MixturePrior(*families, concentration)


def _checked_components(
    arrays: Mapping[str, FloatArray], prior: MixturePrior
) -> tuple[FloatArray, IndexArray]:
    """Statistics (K, p, p) and groups (K,)."""
    p = prior.n_regressors + prior.n_outputs
    statistics, groups = arrays["statistics"], arrays["groups"].astype(np.intp)
    n = max(1, len(statistics))
    _check_shape("statistics", statistics, (n, p, p))
    _check_shape("groups", groups, (n,))
    _check_symmetric("statistics", statistics)
    spectra = np.linalg.eigvalsh(statistics)
    if np.any(spectra[:, 0] < -ROUNDING * spectra[:, -1]):
        raise ValueError("the statistics of a component are not positive semidefinite")
    if np.any(groups != arrays["groups"]):
        raise ValueError(f"groups must hold {n} integers")
    order, ordered_groups = prior.arrange(statistics, groups, n)
    if np.any(prior.counts(statistics) < 0.0) or np.any(order != np.arange(n)):
        raise ValueError("the counts of the components must not be negative and must fall")
    if np.any(ordered_groups != groups):
        raise ValueError("the groups of the components must be numbered in their order")
    return statistics, groups


def _check_shape(name: str, array: FloatArray | IndexArray, shape: tuple[int, ...]) -> None:
    if array.shape != shape:
        raise ValueError(f"{name} has shape {array.shape}, expected {shape}")


def _check_symmetric(name: str, matrices: FloatArray) -> None:
    if np.any(matrices != np.swapaxes(matrices, 1, 2)):
        raise ValueError(f"{name} is not symmetric")
