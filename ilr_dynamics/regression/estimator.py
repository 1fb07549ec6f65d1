# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""scikit-learn's protocol of estimators, without depending on scikit-learn."""

from __future__ import annotations

import inspect
from typing import Any, Self

from ilr_dynamics.exceptions import InvalidParameterError

__all__ = ["Estimator"]


class Estimator:
    """Base of estimators whose constructor stores each argument under its own name."""

    @classmethod
    def _parameter_names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; `deep` is there for scikit-learn and changes nothing."""
        return {name: getattr(self, name) for name in self._parameter_names()}

    def set_params(self, **parameters: Any) -> Self:
        """
        Set parameters by name.

        Raises
        ------
        InvalidParameterError
            If there is no parameter of that name.
        """
        known = self._parameter_names()
        unknown = [name for name in parameters if name not in known]
        if unknown:
            raise InvalidParameterError(
                f"{type(self).__name__} has no parameter {unknown[0]!r}; it has {known}"
            )
        for name, value in parameters.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        """Show the parameters that differ from their defaults."""
        defaults = inspect.signature(type(self).__init__).parameters
        changed = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if repr(value) != repr(defaults[name].default)
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn, and nobody else asks, that this is a regressor of several outputs."""
        # Imported here, where it is the caller, so that the package does not depend on it.
        from sklearn.utils import RegressorTags, Tags, TargetTags

        return Tags(
            estimator_type="regressor",
            target_tags=TargetTags(required=True, multi_output=True, single_output=False),
            transformer_tags=None,
            classifier_tags=None,
            regressor_tags=RegressorTags(),
        )
