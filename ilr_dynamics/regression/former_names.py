# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Former names of the parameters of the estimators, answered for one minor version."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from ilr_dynamics.exceptions import InvalidParameterError

__all__ = ["FORMER_NAMES", "present_parameters"]

_PRIOR = (
    "concentration",
    "upper_concentration",
    "input_spread",
    "input_strength",
    "centre_spread",
    "upper_centre_spread",
    "noise_std",
    "noise_strength",
    "slope_scale",
)
_INFERENCE = (
    "max_iterations",
    "tolerance",
    "n_restarts",
    "fit_scales",
    "fit_concentration",
    "merge",
    "batch_size",
    "step_delay",
    "step_rate",
)
_SCALING = ("input_location", "input_scale", "output_location", "output_scale")

FORMER_NAMES = {
    **{name: f"prior__{name}" for name in _PRIOR},
    **{name: f"inference__{name}" for name in _INFERENCE},
    **{name: f"scaling__{name}" for name in _SCALING},
    "fallback": "global_model",
}
"""Present names by those of before."""


def present_parameters(
    parameters: Mapping[str, Any], known: Sequence[str], owner: str
) -> dict[str, Any]:
    """
    Parameters under their present names; DeprecationWarning for each of a former one.

    Parameters
    ----------
    parameters
        Values by present or former names.
    known
        Present names of the owner's parameters, groups included.
    owner
        Who has them, for messages.

    Raises
    ------
    InvalidParameterError
        If there is no parameter of a name.
    """
    present = {}
    for name, value in parameters.items():
        if name in FORMER_NAMES:
            warnings.warn(
                f"the parameter {name} of {owner} is called {FORMER_NAMES[name]} now: pass it "
                "within its group, or to set_params under this name",
                DeprecationWarning,
                stacklevel=4,
            )
        elif name == "prior_mean":
            raise InvalidParameterError(
                "prior_mean has gone: pass a global model of your own as global_model=..., with "
                "learn_residual=True (docs/python.md shows one)"
            )
        elif name.partition("__")[0] not in known:
            raise InvalidParameterError(f"{owner} has no parameter {name!r}; it has {list(known)}")
        present[FORMER_NAMES.get(name, name)] = value
    return present
