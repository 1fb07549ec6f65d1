# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""One query at a time, for the control loop."""

from __future__ import annotations

import os
from dataclasses import fields
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..exceptions import InvalidDataError, SnapshotError
from .packed_arrays import open_arrays, write_arrays
from .predictive import PredictiveMixture
from .transforms import Transforms, pack_transforms, unpack_transforms
from .validation import MAX_STANDARD_VALUE

__all__ = ["Prediction", "Predictor"]

Array = NDArray[np.float64]

# Components whose weights add up to less than this are left out of mean and spread.
NEGLIGIBLE_WEIGHT = 1e-12
# Weight of the unseen component up to which the fallback, which costs as much as all local models
# together, is not asked: what it says may then be a hundred deviations away without being felt.
NEGLIGIBLE_FALLBACK = 1e-9
# Share of components from which on all are evaluated.
MANY_ACTIVE = 0.25
# Arrays kept in files as a query reads them, component by component: `open` then copies nothing.
TRANSPOSED = ("distance_coefficients", "widening_coefficients")


class Prediction(NamedTuple):
    """
    The predictive distribution at one input, in physical units.

    Parameters
    ----------
    mean : (n_outputs,)
        Expected outputs.
    std : (n_outputs,)
        Standard deviations of the outputs.
    component
        The component with the largest weight; -1 for the unseen one.
    unseen_weight
        Weight of the component not yet seen: how much of this prediction is the prior's, or the
        fallback's if there is one.
    """

    mean: Array
    std: Array
    component: int
    unseen_weight: float


class Predictor:
    """
    Mean prediction and spread at one input, in the order of operations that is fastest for one.

    The distance of an input to all components is one matrix-vector product over the products of
    its entries; maps and widenings are evaluated only for components with a weight that matters.

    Parameters
    ----------
    mixture
        Predictive distribution in standard units.
    transforms
        Between physical and standard units, and what the mixture is added to.
    """

    def __init__(self, mixture: PredictiveMixture, transforms: Transforms) -> None:
        self._mixture = mixture
        self._transforms = transforms
        self._regressors = transforms.regressors
        self._inputs = transforms.regressors.scaling
        self._outputs = transforms.outputs
        n_inputs, n_regressors = self._inputs.location.size, mixture.maps.shape[2]
        self._is_linear = n_regressors == n_inputs + 1
        self._rows, self._columns = np.triu_indices(n_inputs + 1)
        self._regressor_rows, self._regressor_columns = np.triu_indices(n_regressors)
        # Component by component in memory: each is read whole, or not at all.
        self._distances = np.ascontiguousarray(mixture.distance_coefficients.T)
        self._widenings = np.ascontiguousarray(mixture.widening_coefficients.T)
        self._variances = np.ascontiguousarray(
            np.diagonal(mixture.covariances(), axis1=1, axis2=2)
        )
        self._x = np.ones(n_inputs + 1)

    @property
    def has_fallback(self) -> bool:
        """Whether a global model predicts where no component has data."""
        return self._transforms.fallback is not None

    @property
    def n_inputs(self) -> int:
        """Length of an input."""
        return int(self._inputs.location.size)

    @property
    def n_outputs(self) -> int:
        """Length of an output."""
        return int(self._outputs.location.size)

    def __call__(self, x: ArrayLike) -> tuple[Array, Array]:
        """Mean and standard deviation (n_outputs,) at x (n_inputs,), in physical units."""
        prediction = self.query(x)
        return prediction.mean, prediction.std

    def query(self, x: ArrayLike) -> Prediction:
        """
        Predict at one input x (n_inputs,), in physical units.

        Raises
        ------
        InvalidDataError
            If x has another shape, or is not finite or too large.
        """
        mixture, standard = self._mixture, self._x
        if np.shape(x) != self._inputs.location.shape:
            raise InvalidDataError(
                f"a query must have shape {self._inputs.location.shape}, got {np.shape(x)}"
            )
        np.subtract(x, self._inputs.location, out=standard[:-1])
        standard[:-1] /= self._inputs.scale
        if not np.abs(standard).max() < MAX_STANDARD_VALUE:
            raise InvalidDataError(
                f"a query must be finite and lie less than {MAX_STANDARD_VALUE:.0e} scales from "
                f"the location, got {np.asarray(x).tolist()}"
            )
        products = standard[self._rows] * standard[self._columns]

        distance = np.maximum(self._distances @ products, 0.0)
        log_weights = mixture.log_constants - mixture.exponents * np.log1p(distance)
        weights = np.exp(log_weights - log_weights.max())
        weights /= weights.sum()

        u = standard
        if not self._is_linear:
            u = self._regressors(np.asarray(x, dtype=float)[None])[0]
            products = u[self._regressor_rows] * u[self._regressor_columns]
        active = _active_components(weights)
        shares = weights[active]
        # One flat matrix-vector product: NumPy would call BLAS once a component.
        means = (mixture.maps[active].reshape(-1, u.size) @ u).reshape(-1, self.n_outputs)
        widening = 1.0 + self._widenings[active] @ products
        prior_mean, fallback = self._transforms.prior_mean, self._transforms.fallback
        added = prior_mean(np.asarray(x, dtype=float)[None])[0] if prior_mean is not None else 0.0
        if fallback is not None and weights[-1] > NEGLIGIBLE_FALLBACK:
            # The unseen component is the last of all, and of the active ones.
            prediction = fallback.predict(np.asarray(x, dtype=float)[None])
            residual = prediction.mean[0] - added - self._outputs.location
            means[-1], widening[-1] = residual / self._outputs.scale, prediction.factor[0]
        mean = shares @ means
        # Spread around the mixture's mean, not E[y^2] - mean^2: no cancellation.
        variances = widening[:, None] * self._variances[active] + (means - mean) ** 2
        best = int(weights.argmax())
        physical_mean = mean * self._outputs.scale + self._outputs.location + added
        return Prediction(
            mean=physical_mean,
            std=np.sqrt(shares @ variances) * self._outputs.scale,
            component=best if best < weights.size - 1 else -1,
            unseen_weight=float(weights[-1]),
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file that `open` maps into memory."""
        arrays = {
            field.name: getattr(self._mixture, field.name) for field in fields(self._mixture)
        }
        for name in TRANSPOSED:
            arrays[name] = arrays[name].T
        header, parts = pack_transforms(self._transforms)
        write_arrays(path, {**arrays, **parts}, header)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Predictor:
        """
        Take a predictor from a file written by `save`.

        Raises
        ------
        SnapshotError
            If the file is missing or damaged, or what it holds predicts nothing finite.
        """
        arrays, header = open_arrays(path)
        shapes = {name: array.shape for name, array in arrays.items()}
        n, d, q = (*shapes.get("maps", ()), 0, 0, 0)[:3]
        try:
            # What overflows is told as not finite.
            with np.errstate(all="ignore"):
                transforms = unpack_transforms(header, arrays, n_regressors=q, n_outputs=d)
        except (LookupError, TypeError, ValueError) as error:
            raise SnapshotError(f"the file {path} makes no predictor: {error}") from error
        expected = _expected_shapes(n, d, q, transforms.regressors.n_inputs)
        parts = pack_transforms(transforms)[1]
        if shapes != {**expected, **{name: array.shape for name, array in parts.items()}}:
            raise SnapshotError(f"the arrays of {path} make no predictor: {shapes}")
        mixture = {name: arrays[name] for name in expected}
        for name in TRANSPOSED:
            mixture[name] = mixture[name].T
        # What overflows is told by a prediction.
        with np.errstate(all="ignore"):
            predictor = cls(PredictiveMixture(**mixture), transforms)
            found = predictor.query(transforms.regressors.scaling.location)
        if not np.all(np.isfinite([*found.mean, *found.std, found.unseen_weight])):
            raise SnapshotError(f"the file {path} makes no predictor: it predicts {found}")
        return predictor


def _active_components(weights: Array) -> NDArray[np.intp] | slice:
    """Select the components with a weight that matters; far from all data that is most of them."""
    active = np.flatnonzero(weights > NEGLIGIBLE_WEIGHT / weights.size)
    # Copying so many takes longer than evaluating all in place.
    return active if active.size < MANY_ACTIVE * weights.size else slice(None)


def _expected_shapes(n: int, d: int, q: int, m: int) -> dict[str, tuple[int, ...]]:
    """Shapes of a predictive mixture of n components, transposed where the file has it so."""
    return {
        "log_constants": (n,),
        "exponents": (n,),
        "distance_coefficients": (n, (m + 1) * (m + 2) // 2),
        "maps": (n, d, q),
        "widening_coefficients": (n, q * (q + 1) // 2),
        "noise_shapes": (n, d, d),
        "dofs": (n,),
    }
