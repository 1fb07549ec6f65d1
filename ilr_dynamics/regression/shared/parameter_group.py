# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Groups of parameters as value objects, which nest in the parameters of an estimator."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Self

from ilr_dynamics.exceptions import InvalidParameterError

__all__ = ["ParameterGroup"]


@dataclass(frozen=True)
class ParameterGroup:
    """
    Base of parameters that belong together, as kernels do in scikit-learn.

    Values are checked when an object is made; InvalidParameterError if one is out of range.
    """

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; `deep` is there for scikit-learn and changes nothing."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def with_params(self, **parameters: Any) -> Self:
        """Return the group with some parameters changed; InvalidParameterError if unknown."""
        known = [field.name for field in fields(self)]
        for name in parameters:
            if name not in known:
                raise InvalidParameterError(
                    f"{type(self).__name__} has no parameter {name!r}; it has {known}"
                )
        return replace(self, **parameters)

    def __repr__(self) -> str:
        """Show the parameters that differ from their defaults."""
        changed = [
            f"{field.name}={value!r}"
            for field in fields(self)
            if repr(value := getattr(self, field.name)) != repr(field.default)
        ]
        return f"{type(self).__name__}({', '.join(changed)})"
