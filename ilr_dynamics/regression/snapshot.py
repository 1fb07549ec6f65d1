# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Models to snapshot files and back.

What is stored is the prior and the statistics; the posterior is rebuilt from them by the code that
fitted it, so a loaded model predicts the same bits and can go on learning.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import IlrDynamicsError, SnapshotError
from .ilr import ILR
from .matrix_normal_wishart import MatrixNormalWishart
from .mixture import MixturePrior, component_counts
from .mixture_regressor import MixtureRegressor
from .normal_wishart import NormalWishart
from .scaling import Standardizer
from .snapshot_file import read_snapshot, write_snapshot

__all__ = ["load_snapshot", "write_model"]

Array = NDArray[np.float64]

MODEL_CLASSES: dict[str, type[MixtureRegressor]] = {"ILR": ILR}

# Sums of outer products are positive semidefinite, but for rounding.
ROUNDING = 1e-8
# Beyond all units anyone measures in: the squares of such numbers stay finite.
MAX_SCALE = 1e30


def write_model(
    path: str | os.PathLike[str], model: MixtureRegressor, metadata: Mapping[str, Any]
) -> None:
    """Write a fitted model; called by its `save`."""
    prior = model.prior_
    arrays = {
        "gate_mean": prior.gate.mean,
        "gate_kappa": prior.gate.kappa,
        "gate_inverse_scale": prior.gate.inverse_scale,
        "gate_dof": prior.gate.dof,
        "regression_mean": prior.regression.mean,
        "regression_column_precision": prior.regression.column_precision,
        "regression_inverse_scale": prior.regression.inverse_scale,
        "regression_dof": prior.regression.dof,
        "concentration": np.array([prior.concentration]),
        "statistics": model.statistics_,
        "lower_bounds": model.lower_bounds_,
        "input_location": model.input_scaling_.location,
        "input_scale": model.input_scaling_.scale,
        "output_location": model.output_scaling_.location,
        "output_scale": model.output_scaling_.scale,
    }
    header = {
        "class": type(model).__name__,
        "parameters": {name: _jsonable(value) for name, value in model.get_params().items()},
        "n_samples": model.n_samples_,
        "converged": model.converged_,
        "metadata": dict(metadata),
    }
    write_snapshot(path, header, arrays)


def load_snapshot(path: str | os.PathLike[str]) -> MixtureRegressor:
    """
    Read a model written by its `save`; it predicts the same bits and can go on learning.

    Raises
    ------
    SnapshotError
        If the file is missing, truncated, damaged, of a newer format, or not consistent in itself.
    """
    header, arrays = read_snapshot(path)
    try:
        model = MODEL_CLASSES[header["class"]](**header["parameters"])
        prior, statistics = _checked_state(arrays)
        model.input_scaling_ = _scaling(arrays, "input", prior.n_inputs)
        model.output_scaling_ = _scaling(arrays, "output", prior.n_outputs)
        model.lower_bounds_ = arrays["lower_bounds"]
        model.converged_ = bool(header["converged"])
        model.metadata_ = dict(header["metadata"])
        model._set_state(prior, statistics, int(header["n_samples"]))
    except (LookupError, TypeError, ValueError, IlrDynamicsError) as error:
        raise SnapshotError(
            f"the snapshot {path} is not consistent in itself: {type(error).__name__}: {error}"
        ) from error
    return model


def _checked_state(arrays: Mapping[str, Array]) -> tuple[MixturePrior, Array]:
    m = arrays["gate_mean"].shape[-1]
    d = arrays["regression_mean"].shape[1]
    p = m + 1 + d
    shapes = {
        "gate_mean": (1, m),
        "gate_kappa": (1,),
        "gate_inverse_scale": (1, m, m),
        "gate_dof": (1,),
        "regression_mean": (1, d, m + 1),
        "regression_column_precision": (1, m + 1, m + 1),
        "regression_inverse_scale": (1, d, d),
        "regression_dof": (1,),
        "concentration": (1,),
    }
    for name, shape in shapes.items():
        if arrays[name].shape != shape:
            raise ValueError(f"{name} has shape {arrays[name].shape}, expected {shape}")
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
        NormalWishart(*(arrays[f"gate_{name}"] for name in _GATE_FIELDS)),
        MatrixNormalWishart(*(arrays[f"regression_{name}"] for name in _REGRESSION_FIELDS)),
        float(arrays["concentration"][0]),
    )
    statistics = arrays["statistics"]
    if statistics.ndim != 3 or statistics.shape[1:] != (p, p) or statistics.shape[0] == 0:
        raise ValueError(f"statistics has shape {statistics.shape}, expected (K, {p}, {p})")
    spectra = np.linalg.eigvalsh(statistics)
    if np.any(spectra[:, 0] < -ROUNDING * spectra[:, -1]):
        raise ValueError("the statistics of a component are not positive semidefinite")
    counts = component_counts(prior, statistics)
    if np.any(np.diff(counts) > 0.0) or counts[-1] < 0.0:
        raise ValueError("the counts of the components must not be negative and must fall")
    return prior, statistics


_GATE_FIELDS = ("mean", "kappa", "inverse_scale", "dof")
_REGRESSION_FIELDS = ("mean", "column_precision", "inverse_scale", "dof")


def _scaling(arrays: Mapping[str, Array], name: str, size: int) -> Standardizer:
    location, scale = arrays[f"{name}_location"], arrays[f"{name}_scale"]
    if location.shape != (size,) or scale.shape != (size,):
        raise ValueError(f"the {name} scaling must hold {size} locations and scales")
    if np.any(scale < 1.0 / MAX_SCALE) or np.any(np.maximum(scale, abs(location)) > MAX_SCALE):
        raise ValueError(
            f"the {name} scaling must hold scales from {1.0 / MAX_SCALE:g} to {MAX_SCALE:g}"
        )
    return Standardizer(location, scale)


def _jsonable(value: Any) -> Any:
    """Parameters as JSON; a generator's state is not kept, so a loaded model draws afresh."""
    if isinstance(value, np.random.Generator):
        return None
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    json.dumps(value)
    return value
