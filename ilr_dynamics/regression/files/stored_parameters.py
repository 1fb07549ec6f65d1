# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Parameters of an estimator as JSON can hold them, and back, also under former names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from ilr_dynamics.exceptions import SnapshotError
from ilr_dynamics.regression.inference.batch import BatchInference
from ilr_dynamics.regression.inference.stochastic import StochasticInference
from ilr_dynamics.regression.mixture.prior import Prior, TwoLevelPrior
from ilr_dynamics.regression.shared.full_names import FULL_NAMES
from ilr_dynamics.regression.shared.parameter_group import ParameterGroup
from ilr_dynamics.regression.units.scaling import Scaling

__all__ = ["pack_parameters", "unpack_parameters"]

GROUPS: dict[str, type[ParameterGroup]] = {
    group.__name__: group
    for group in (Prior, TwoLevelPrior, BatchInference, StochasticInference, Scaling)
}
# Parameters of stochastic inference alone.
STOCHASTIC = ["batch_size", "step_delay", "step_rate"]
# It has arrays of its own.
GLOBAL_MODEL = "global_model"


def pack_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as JSON can hold them, without the global model; SnapshotError if it cannot."""
    return {name: _jsonable(v) for name, v in parameters.items() if name != GLOBAL_MODEL}


def unpack_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters from what `pack_parameters` made of them, or from before they had groups."""
    present = {name: _from_jsonable(value) for name, value in dict(parameters).items()}
    return _from_former(present) if "max_iterations" in present else present


def _from_former(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters under present names, from those that files held before they had groups."""
    unused = ["merge"] if parameters["inference"] == "stochastic" else STOCHASTIC
    used = {name: value for name, value in parameters.items() if name not in unused}
    return {FULL_NAMES.get(name, name): value for name, value in used.items()}


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
