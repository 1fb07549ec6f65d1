# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Regressors of the local models: inputs in standard units, features, and the constant.

The linear terms are always among the regressors, u = [x, further features of x, 1]; features add
to them. Where a component is active is decided on x alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import comb

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.exceptions import InvalidParameterError
from ilr_dynamics.regression.shared.validation import check_size
from ilr_dynamics.regression.units.scaling import Standardizer

__all__ = ["FeatureFunction", "Regressors", "check_features", "register_features"]

FeatureFunction = Callable[[FloatArray], FloatArray]

LINEAR = "linear"
POLYNOMIAL = "polynomial"
# More cross terms than this are a mistake: each costs a column and row of every matrix.
MAX_FEATURES = 1000

_registered: dict[str, FeatureFunction] = {}


def register_features(name: str, function: FeatureFunction) -> None:
    """
    Give a feature function a name, by which estimators and snapshots refer to it.

    A program that loads a snapshot must register the function first: snapshots never hold code.

    Parameters
    ----------
    name
        Name to use as ``ILR(features=name)``.
    function
        From inputs (n, m) in physical units to features (n, r) besides the inputs themselves,
        r > 0.

    Raises
    ------
    InvalidParameterError
        If the name is one of the package's own.
    """
    if name in (LINEAR, POLYNOMIAL):
        raise InvalidParameterError(f"the features {name!r} are the package's own")
    _registered[name] = function


def check_features(value: object) -> str:
    """Return `value` if it is the name of features, else InvalidParameterError."""
    known = [LINEAR, POLYNOMIAL, *_registered]
    if not isinstance(value, str) or value not in known:
        raise InvalidParameterError(
            f"features must be one of {known}, got {value!r}; "
            "others are made known by register_features"
        )
    return value


@dataclass(frozen=True)
class Regressors:
    """
    From inputs in physical units to regressors u = [x, features, 1] in standard units.

    Attributes
    ----------
    scaling
        Of the inputs.
    features
        "linear", "polynomial" or a registered name.
    degree
        Highest degree of the polynomial.
    feature_scaling
        Of what a registered function returns; polynomials are taken of standardised inputs.
    """

    scaling: Standardizer
    features: str
    degree: int
    feature_scaling: Standardizer

    def __post_init__(self) -> None:
        """Count the terms of a polynomial before any is made."""
        n_terms = comb(self.n_inputs + self.degree, self.n_inputs) - self.n_inputs - 1
        if self.features == POLYNOMIAL and n_terms > MAX_FEATURES:
            raise InvalidParameterError(
                f"a polynomial of degree {self.degree} in {self.n_inputs} inputs has {n_terms} "
                f"terms, expected at most {MAX_FEATURES}"
            )

    @classmethod
    def from_data(
        cls, scaling: Standardizer, features: str, degree: int, X: FloatArray, weights: FloatArray
    ) -> Regressors:
        """
        Fix the scaling of the features by the data they are first taken of.

        Parameters
        ----------
        scaling
            Of the inputs.
        features, degree
            As for the estimators, checked.
        X : (n, m)
            Inputs in physical units.
        weights : (n,)
            Sample weights.

        Raises
        ------
        InvalidDataError
            If they are too large.
        InvalidParameterError
            If the features are not finite or too many.
        """
        nothing = Standardizer(np.zeros(0), np.zeros(0))
        if features not in _registered:
            return cls(scaling, features, degree, nothing)
        values = _evaluated(features, X)
        feature_scaling = Standardizer.from_data(values, weights, None, None, "feature")
        return cls(scaling, features, degree, feature_scaling)

    @property
    def n_inputs(self) -> int:
        """Length m of an input."""
        return int(self.scaling.location.size)

    def __call__(self, X: FloatArray) -> FloatArray:
        """Regressors (n, q) of inputs (n, m); InvalidDataError where they are too large."""
        # Overflow is reported as too large.
        with np.errstate(over="ignore", invalid="ignore"):
            standard = check_size(self.scaling.transform(X), "inputs")
        features = self.features_of(X)
        parts = [standard, np.ones((X.shape[0], 1))]
        if features is not None:
            parts.insert(1, features)
        return np.concatenate(parts, axis=1)

    def features_of(self, X: FloatArray) -> FloatArray | None:
        """Features (n, q - m - 1), None if there are none; InvalidDataError if too large."""
        if self.features == LINEAR:
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            if self.features == POLYNOMIAL:
                features = _monomials(self.scaling.transform(X), self.degree)
            else:
                features = self.feature_scaling.transform(_evaluated(self.features, X))
        return check_size(features, "features") if features.size else None


def _exponents(n_inputs: int, degree: int) -> list[tuple[int, ...]]:
    """Inputs that are multiplied in each monomial of degree 2 to `degree`."""
    return [
        factors
        for total in range(2, degree + 1)
        for factors in combinations_with_replacement(range(n_inputs), total)
    ]


def _monomials(X: FloatArray, degree: int) -> FloatArray:
    columns = [np.prod(X[:, factors], axis=1) for factors in _exponents(X.shape[1], degree)]
    return np.stack(columns, axis=1) if columns else np.zeros((X.shape[0], 0))


def _evaluated(name: str, X: FloatArray) -> FloatArray:
    if name not in _registered:
        raise InvalidParameterError(
            f"the features {name!r} are not known here: call register_features first"
        )
    values = np.asarray(_registered[name](X), dtype=float)
    if (
        values.ndim != 2
        or values.shape[0] != X.shape[0]
        or not 0 < values.shape[1] <= MAX_FEATURES
    ):
        raise InvalidParameterError(
            f"the features {name!r} must have shape ({X.shape[0]}, r), r from 1 to "
            f"{MAX_FEATURES}, got {values.shape}"
        )
    if not np.all(np.isfinite(values)):
        raise InvalidParameterError(f"the features {name!r} are not finite at some input")
    return values
