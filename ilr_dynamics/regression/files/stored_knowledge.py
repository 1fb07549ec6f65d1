# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What was learned, as named arrays and a header: base distribution, statistics, transforms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.regression.families.matrix_normal_wishart import MatrixNormalWishart
from ilr_dynamics.regression.families.normal_wishart import NormalWishart
from ilr_dynamics.regression.files.stored_transforms import pack_transforms, unpack_transforms
from ilr_dynamics.regression.learner import Knowledge
from ilr_dynamics.regression.mixture.hierarchy import HierarchicalPrior
from ilr_dynamics.regression.mixture.mixture import MixturePrior
from ilr_dynamics.regression.validation import check_integer

__all__ = ["pack_knowledge", "unpack_knowledge"]

# Fields of the families of a component.
GATE = ("mean", "kappa", "inverse_scale", "dof")
REGRESSION = ("mean", "column_precision", "inverse_scale", "dof")
# Sums of outer products are positive semidefinite, but for rounding.
ROUNDING = 1e-8


def pack_knowledge(known: Knowledge) -> tuple[dict[str, Any], dict[str, FloatArray]]:
    """Header, of what JSON can hold, and arrays by name; SnapshotError if none can be made."""
    prior = known.prior
    arrays = {
        **{f"gate_{name}": getattr(prior.gate, name) for name in GATE},
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
    prior, statistics, groups = _checked_state(arrays, hierarchical)
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


def _checked_state(
    arrays: Mapping[str, FloatArray], hierarchical: bool
) -> tuple[MixturePrior, FloatArray, IndexArray]:
    m = arrays["gate_mean"].shape[-1]
    d, q = arrays["regression_mean"].shape[1:]
    p = q + d
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
    for name, shape in shapes.items():
        if arrays[name].shape != shape:
            raise ValueError(f"{name} has shape {arrays[name].shape}, expected {shape}")
    for name in ("gate_inverse_scale", "regression_column_precision", "regression_inverse_scale"):
        if np.any(arrays[name] != np.swapaxes(arrays[name], 1, 2)):
            raise ValueError(f"{name} is not symmetric")
    lowest = {
        "gate_kappa": 0.0,
        "gate_dof": m - 1.0,
        "regression_dof": d + 1.0,
        "concentration": 0.0,
    }
    for name, bound in lowest.items():
        if not arrays[name][0] > bound:
            raise ValueError(f"{name} is {arrays[name][0]}, expected more than {bound}")
    prior = MixturePrior(
        NormalWishart(*(arrays[f"gate_{name}"] for name in GATE)),
        MatrixNormalWishart(*(arrays[f"regression_{name}"] for name in REGRESSION)),
        float(arrays["concentration"][0]),
    )
    if hierarchical:
        if arrays["upper"].shape != (2,) or not np.all(arrays["upper"] > 0.0):
            raise ValueError("upper must hold a concentration and a strength above 0")
        prior = HierarchicalPrior(
            prior.gate, prior.regression, prior.concentration, *map(float, arrays["upper"])
        )
    statistics = arrays["statistics"]
    if statistics.ndim != 3 or statistics.shape[1:] != (p, p) or statistics.shape[0] == 0:
        raise ValueError(f"statistics has shape {statistics.shape}, expected (K, {p}, {p})")
    if np.any(statistics != np.swapaxes(statistics, 1, 2)):
        raise ValueError("the statistics of a component are not symmetric")
    spectra = np.linalg.eigvalsh(statistics)
    if np.any(spectra[:, 0] < -ROUNDING * spectra[:, -1]):
        raise ValueError("the statistics of a component are not positive semidefinite")
    groups = arrays["groups"].astype(np.intp)
    if groups.shape != statistics.shape[:1] or np.any(groups != arrays["groups"]):
        raise ValueError(f"groups must hold {statistics.shape[0]} integers")
    counts = prior.counts(statistics)
    order, ordered_groups = prior.arrange(statistics, groups, groups.size)
    if np.any(counts < 0.0) or np.any(order != np.arange(groups.size)):
        raise ValueError("the counts of the components must not be negative and must fall")
    if np.any(ordered_groups != groups):
        raise ValueError("the groups of the components must be numbered in their order")
    return prior, statistics, groups
