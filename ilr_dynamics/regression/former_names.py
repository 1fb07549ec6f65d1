# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Former names of parameters and classes, answered for one minor version."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from ilr_dynamics.exceptions import InvalidParameterError
from ilr_dynamics.regression.shared.full_names import FULL_NAMES

__all__ = [
    "FORMER_CLASSES",
    "FORMER_NAMES",
    "answering_former_names",
    "present_class",
    "present_parameters",
]

P = ParamSpec("P")

FORMER_NAMES = {
    **FULL_NAMES,
    "fallback": "global_model",
}
"""Present names of parameters by those of before: without groups, and of other words."""

FORMER_CLASSES = {
    "Fallback": "GlobalModel",
    "FallbackPrediction": "GlobalPrediction",
    "LinearFallback": "LinearGlobalModel",
}
"""Present names of the classes of the package by those of before."""


def present_parameters(
    values: Mapping[str, Any], known: Sequence[str], owner: str
) -> dict[str, Any]:
    """
    Rename parameters to their present names; DeprecationWarning for each of a former one.

    Parameters
    ----------
    values
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
    for name, value in values.items():
        if name in FORMER_NAMES:
            warnings.warn(
                f"the parameter {name} of {owner} is called {FORMER_NAMES[name]} now; what has __ "
                "in its name is passed within its group, or to set_params",
                DeprecationWarning,
                stacklevel=3,
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


def answering_former_names(
    constructor: Callable[Concatenate[Any, P], None],
) -> Callable[Concatenate[Any, P], None]:
    """Let the constructor of an estimator take parameters of former names and of groups too."""
    known = inspect.signature(constructor).parameters

    @wraps(constructor)
    def wrapper(self: Any, *arguments: P.args, **parameters: P.kwargs) -> None:
        others = {name: parameters.pop(name) for name in list(parameters) if name not in known}
        constructor(self, *arguments, **parameters)
        self._set(present_parameters(others, self._parameter_names(), type(self).__name__))

    return wrapper


def present_class(name: str, package: str) -> str:
    """
    Present name of a class; DeprecationWarning, as the name is a former one.

    Parameters
    ----------
    name
        Name that the package does not have.
    package
        Full name of the package, for messages.

    Raises
    ------
    AttributeError
        If there was no class of that name.
    ImportError
        If no class took its place.
    """
    if name in ("PriorMean", "LinearPriorMean"):
        # No AttributeError: `from ... import` would drop its text.
        raise ImportError(
            f"{name} has gone: derive a global model of your own from GlobalModel and pass it as "
            "global_model=..., with learn_residual=True (docs/python.md shows one)"
        )
    if name not in FORMER_CLASSES:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    warnings.warn(f"{name} is called {FORMER_CLASSES[name]} now", DeprecationWarning, stacklevel=3)
    return FORMER_CLASSES[name]
