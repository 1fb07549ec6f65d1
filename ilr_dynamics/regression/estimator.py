# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""scikit-learn's protocol of estimators, without depending on scikit-learn."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, Self

from ilr_dynamics.exceptions import InvalidParameterError
from ilr_dynamics.regression.former_names import present_parameters
from ilr_dynamics.regression.shared.parameter_group import ParameterGroup

__all__ = ["Estimator"]


class Estimator:
    """Base of estimators whose constructor stores each argument under its own name."""

    @classmethod
    def _parameter_names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def _group(self, name: str, value: object) -> ParameterGroup:
        """Group of parameters that a value stands for; InvalidParameterError if for none."""
        if not isinstance(value, ParameterGroup):
            raise InvalidParameterError(f"{name} must be a group of parameters, got {value!r}")
        return value

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """
        Parameters by name.

        Parameters
        ----------
        deep
            Whether to give those of groups too, as ``group__name``.
        """
        parameters = {name: getattr(self, name) for name in self._parameter_names()}
        groups = [(k, v) for k, v in parameters.items() if isinstance(v, ParameterGroup)]
        for name, group in groups if deep else []:
            for inner, value in group.get_params().items():
                parameters[f"{name}__{inner}"] = value
        return parameters

    def set_params(self, **parameters: Any) -> Self:
        """
        Set parameters by name; those of groups as ``group__name``.

        Raises
        ------
        InvalidParameterError
            If there is no parameter of that name, or one of a group is out of range; nothing is
            changed then.
        """
        known = self._parameter_names()
        return self._set(present_parameters(parameters, known, type(self).__name__))

    def _set(self, parameters: Mapping[str, Any]) -> Self:
        """Set parameters of known names."""
        changed: dict[str, Any] = {}
        # Groups first, so that parameters of a group are those of the new one.
        for name in sorted(parameters, key=lambda name: "__" in name):
            group, _, inner = name.partition("__")
            value = parameters[name]
            if inner:
                present = changed[group] if group in changed else getattr(self, group)
                value = self._group(group, present).with_params(**{inner: value})
            changed[group] = value
        for name, value in changed.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        """Show the parameters that differ from their defaults."""
        defaults = inspect.signature(type(self).__init__).parameters
        changed = [
            f"{name}={value!r}"
            for name, value in self.get_params(deep=False).items()
            if repr(value) != repr(defaults[name].default)
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_tags__(self) -> Any:
        """Tags for scikit-learn: this is a regressor of several outputs."""
        # Imported here, where it is the caller, so that the package does not depend on it.
        from sklearn.utils import RegressorTags, Tags, TargetTags

        return Tags(
            estimator_type="regressor",
            target_tags=TargetTags(required=True, multi_output=True, single_output=False),
            transformer_tags=None,
            classifier_tags=None,
            regressor_tags=RegressorTags(),
        )
