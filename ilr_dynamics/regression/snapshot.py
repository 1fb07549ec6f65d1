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

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.blas_threads import one_blas_thread
from ilr_dynamics.exceptions import IlrDynamicsError, SnapshotError
from ilr_dynamics.regression.batch import BatchInference
from ilr_dynamics.regression.former_names import FORMER_NAMES
from ilr_dynamics.regression.hierarchy import HierarchicalPrior
from ilr_dynamics.regression.hilr import HILR
from ilr_dynamics.regression.ilr import ILR
from ilr_dynamics.regression.learner import Knowledge
from ilr_dynamics.regression.matrix_normal_wishart import MatrixNormalWishart
from ilr_dynamics.regression.mixture import MixturePrior
from ilr_dynamics.regression.mixture_regressor import MixtureRegressor
from ilr_dynamics.regression.normal_wishart import NormalWishart
from ilr_dynamics.regression.parameter_group import ParameterGroup
from ilr_dynamics.regression.prior import Prior, TwoLevelPrior
from ilr_dynamics.regression.scaling import Scaling
from ilr_dynamics.regression.snapshot_file import read_snapshot, write_snapshot
from ilr_dynamics.regression.stochastic import StochasticInference
from ilr_dynamics.regression.transforms import pack_transforms, unpack_transforms
from ilr_dynamics.regression.validation import check_integer

__all__ = ["load_snapshot", "write_model"]

# Characters of what a file says that an error repeats.
MAX_SHOWN = 500

MODEL_CLASSES: dict[str, type[MixtureRegressor]] = {"ILR": ILR, "HILR": HILR}
# Parameters of stochastic inference alone.
STOCHASTIC = ["batch_size", "step_delay", "step_rate"]
# Groups of parameters.
GROUPS: dict[str, type[ParameterGroup]] = {
    group.__name__: group
    for group in (Prior, TwoLevelPrior, BatchInference, StochasticInference, Scaling)
}

# Sums of outer products are positive semidefinite, but for rounding.
ROUNDING = 1e-8


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
        "groups": model.groups_,
        "lower_bounds": model.lower_bounds_,
    }
    if isinstance(prior, HierarchicalPrior):
        arrays["upper"] = np.array([prior.upper_concentration, prior.upper_strength])
    transforms, parts = pack_transforms(model.transforms_)
    arrays.update(parts)
    header = {
        "class": type(model).__name__,
        "parameters": {
            name: _jsonable(value)
            for name, value in model.get_params(deep=False).items()
            if name != "global_model"  # kept among the transforms
        },
        "transforms": transforms,
        "n_samples": model.n_samples_,
        "converged": model.converged_,
        "metadata": dict(metadata),
    }
    write_snapshot(path, header, arrays)


@one_blas_thread
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
        return _model(header, arrays)
    except (
        LookupError,
        TypeError,
        ValueError,
        OverflowError,
        IlrDynamicsError,
    ) as error:
        raise SnapshotError(
            f"the snapshot {path} is not consistent in itself: {type(error).__name__}: "
            f"{str(error)[:MAX_SHOWN]}"
        ) from error


def _model(header: Mapping[str, Any], arrays: Mapping[str, FloatArray]) -> MixtureRegressor:
    # What overflows is told by the prediction below.
    with np.errstate(all="ignore"):
        model = _with_parameters(MODEL_CLASSES[header["class"]](), header["parameters"])
        prior, statistics, groups = _checked_state(arrays, hierarchical=isinstance(model, HILR))
        transforms = unpack_transforms(
            header["transforms"],
            arrays,
            n_regressors=prior.n_regressors,
            n_outputs=prior.n_outputs,
        )
        if transforms.regressors.n_inputs != prior.n_inputs:
            raise ValueError(f"the input scaling must hold {prior.n_inputs} locations and scales")
        if transforms.global_model is not None:
            # As it was before the first fit, so that another fit counts no sample twice.
            model.global_model = transforms.global_model.discounted(0.0)
        if arrays["lower_bounds"].ndim != 1:
            raise ValueError("lower_bounds must have one dimension")
        model.lower_bounds_ = arrays["lower_bounds"]
        model.converged_ = bool(header["converged"])
        model.metadata_ = dict(header["metadata"])
        n_samples = check_integer(header["n_samples"], "n_samples", 1)
        model._know(Knowledge(prior, statistics, groups, n_samples, transforms))
        prediction = model.predict(transforms.regressors.scaling.location[None], return_std=True)
        if not np.all(np.isfinite(prediction)):
            raise ValueError("what the model predicts is not finite")
        # What single predictions are made of has more that can overflow; the model keeps it.
        model.predictor()
    return model


def _with_parameters(model: MixtureRegressor, parameters: Mapping[str, Any]) -> MixtureRegressor:
    """Set the parameters that a file holds, also under the names of before."""
    present = {name: _from_jsonable(value) for name, value in dict(parameters).items()}
    return model.set_params(**_from_former(present) if "max_iterations" in present else present)


def _from_former(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters under present names, from those that files held before they had groups."""
    unused = ["merge"] if parameters["inference"] == "stochastic" else STOCHASTIC
    used = {name: value for name, value in parameters.items() if name not in unused}
    return {FORMER_NAMES.get(name, name): value for name, value in used.items()}


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
        NormalWishart(*(arrays[f"gate_{name}"] for name in _GATE_FIELDS)),
        MatrixNormalWishart(*(arrays[f"regression_{name}"] for name in _REGRESSION_FIELDS)),
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


_GATE_FIELDS = ("mean", "kappa", "inverse_scale", "dof")
_REGRESSION_FIELDS = ("mean", "column_precision", "inverse_scale", "dof")


def _from_jsonable(value: Any) -> Any:
    """Value of a parameter, or group of parameters, from what `_jsonable` made of it."""
    if not isinstance(value, dict):
        return value
    return GROUPS[value["type"]](**{key: v for key, v in value.items() if key != "type"})


def _jsonable(value: Any) -> Any:
    """Parameters as JSON; a generator's state is not kept, so a loaded model draws afresh."""
    if isinstance(value, np.random.Generator):
        return None
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, ParameterGroup):
        kind = type(value)
        if GROUPS.get(kind.__name__) is not kind:
            raise SnapshotError(f"{kind.__name__} cannot be saved; expected one of {list(GROUPS)}")
        parameters = {name: _jsonable(v) for name, v in value.get_params().items()}
        return {"type": kind.__name__, **parameters}
    json.dumps(value)
    return value
