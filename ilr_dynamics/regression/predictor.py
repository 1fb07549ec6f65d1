# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""One query at a time, for the control loop."""

from __future__ import annotations

import math
import os
from dataclasses import fields
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..exceptions import InvalidDataError, SnapshotError
from .packed_arrays import open_arrays, write_arrays
from .predictive import PredictiveMixture
from .products import upper_triangle
from .screening import Screening
from .transforms import Transforms, pack_transforms, unpack_transforms
from .validation import MAX_STANDARD_VALUE

__all__ = ["Prediction", "Predictor"]

Array = NDArray[np.float64]

# Weight of the unseen component up to which the fallback, which costs as much as all local models
# together, is not asked: what it says may then be a hundred deviations away without being felt.
NEGLIGIBLE_FALLBACK = 1e-9
# Share of components from which on all are evaluated in place: copying so many takes longer.
MANY = 0.25
# Up to so many components it costs more to leave out those whose weight proves negligible.
FEW = 8
SCREENING = "screening_"


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

    Most components are ruled out by a bound on their weight (`screening`); only what is left is
    looked at. What is left out weighs less than 1e-18 of the mixture, so that the mean is off by
    at most that share of the distance between two local predictions, and the variance by that
    share of its square and of the largest variance. Of what may matter weights are exact, that of
    the unseen component always.

    NumPy's calls cost as much as what they do, so there are as few as possible: arrays are worked
    on in place, and methods are called where functions of the same name would only look for them.

    Parameters
    ----------
    mixture
        Predictive distribution in standard units.
    transforms
        Between physical and standard units, and what the mixture is added to.
    screening
        The mixture's, where it is known already.
    """

    def __init__(
        self,
        mixture: PredictiveMixture,
        transforms: Transforms,
        screening: Screening | None = None,
    ) -> None:
        self._mixture = mixture
        self._transforms = transforms
        self._regressors = transforms.regressors
        self._inputs = transforms.regressors.scaling
        self._outputs = transforms.outputs
        self._screening = mixture.screening if screening is None else screening
        self._log_margin = self._screening.log_margin
        self._unbounded = self._screening.unbounded
        n_inputs, n_regressors = self._inputs.location.size, mixture.maps.shape[2]
        self._is_linear = n_regressors == n_inputs + 1
        self._pairs = upper_triangle(n_inputs + 1)
        self._regressor_pairs = upper_triangle(n_regressors)
        self._coordinate_pairs = upper_triangle(len(self._screening.projection))
        self._variances = np.ascontiguousarray(
            np.diagonal(mixture.covariances(), axis1=1, axis2=2)
        )
        # Of one query after the other; nothing of it is given away.
        self._z = np.ones(n_inputs + 1)
        self._x = self._z[:-1]
        self._bounds = np.empty(mixture.dofs.size)

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
        x = np.asarray(x, dtype=float)
        self._standardise(x)
        z, n_outputs = self._z, self._outputs.location.size
        products = _products(z, self._pairs)
        chosen, weights = self._weights(products)

        u = z
        if not self._is_linear:
            u = self._regressors(x[None])[0]
            products = _products(u, self._regressor_pairs)
        # One flat matrix-vector product: NumPy would call BLAS once a component.
        means = self._mixture.maps.take(chosen, axis=0).reshape(-1, u.size).dot(u)
        means = means.reshape(-1, n_outputs)
        widening = self._mixture.widening_coefficients.take(chosen, axis=0).dot(products)
        widening += 1.0
        prior_mean, fallback = self._transforms.prior_mean, self._transforms.fallback
        added = prior_mean(x[None])[0] if prior_mean is not None else 0.0
        # The unseen component is the last of all, and of the chosen ones.
        unseen_weight = float(weights[-1])
        if fallback is not None:
            if unseen_weight > NEGLIGIBLE_FALLBACK:
                prediction = fallback.predict(x[None])
                if self._transforms.learn_residual:
                    added = prediction.mean[0]
                residual = prediction.mean[0] - added - self._outputs.location
                means[-1], widening[-1] = residual / self._outputs.scale, prediction.factor[0]
            else:
                weights[-1] = 0.0
                if self._transforms.learn_residual:
                    added = fallback.expected(x[None])[0]
        mean = weights.dot(means)
        # Spread around the mixture's mean, not E[y^2] - mean^2: no cancellation.
        means -= mean
        means *= means
        variances = self._variances.take(chosen, axis=0)
        variances *= widening[:, None]
        variances += means
        mean *= self._outputs.scale
        mean += self._outputs.location
        std = np.sqrt(weights.dot(variances))
        std *= self._outputs.scale
        best = weights.argmax()
        return Prediction(
            mean=mean + added,
            std=std,
            component=int(chosen[best]) if best < weights.size - 1 else -1,
            unseen_weight=unseen_weight,
        )

    def _standardise(self, x: Array) -> None:
        """Put [x, 1] in standard units into `_z`."""
        if x.shape != self._inputs.location.shape:
            raise InvalidDataError(
                f"a query must have shape {self._inputs.location.shape}, got {x.shape}"
            )
        np.subtract(x, self._inputs.location, out=self._x)
        self._x /= self._inputs.scale
        # Of what is not finite the comparison is false too.
        if not np.abs(self._x).max() < MAX_STANDARD_VALUE:
            raise InvalidDataError(
                f"a query must be finite and lie less than {MAX_STANDARD_VALUE:.0e} scales from "
                f"the location, got {x.tolist()}"
            )

    def _weights(self, products: Array) -> tuple[NDArray[np.intp], Array]:
        """Select the components with a weight that matters, and the last; give their weights."""
        constants, exponents = self._mixture.log_constants, self._mixture.exponents
        coefficients = self._mixture.distance_coefficients
        screening, bounds = self._screening, self._bounds
        coordinates = _products(screening.projection.dot(self._z), self._coordinate_pairs)
        np.dot(screening.coefficients, coordinates, out=bounds)
        np.maximum(bounds, 1.0, out=bounds)
        np.log(bounds, out=bounds)
        bounds *= exponents
        np.subtract(constants, bounds, out=bounds)
        # Any component's weight is a lower bound of the largest; this one's is rarely far from it,
        # unless it is chosen because nothing is known of its distance.
        bounds[self._unbounded] = -np.inf
        best = int(bounds.argmax())
        distance = max(coefficients[best].dot(products), 0.0)
        bounds[self._unbounded] = bounds[-1] = np.inf
        lowest = constants[best] - exponents[best] * math.log1p(distance) - self._log_margin
        # Of a damaged file: what is not a number shall be seen in the prediction.
        matters = bounds > lowest if math.isfinite(lowest) else np.ones(bounds.size, dtype=bool)
        chosen = matters.nonzero()[0]
        if chosen.size < MANY * bounds.size:
            distances = coefficients.take(chosen, axis=0).dot(products)
        else:
            distances = coefficients.dot(products).take(chosen)
        np.maximum(distances, 0.0, out=distances)
        log_weights = np.log1p(distances, out=distances)
        log_weights *= exponents.take(chosen)
        np.subtract(constants.take(chosen), log_weights, out=log_weights)
        largest = log_weights.max()
        if chosen.size > FEW:
            matters = log_weights > largest - self._log_margin
            matters[-1] = True
            chosen, log_weights = chosen[matters], log_weights[matters]
        log_weights -= largest
        weights = np.exp(log_weights, out=log_weights)
        weights /= weights.sum()
        return chosen, weights

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file that `open` maps into memory."""
        arrays = {
            field.name: getattr(self._mixture, field.name) for field in fields(self._mixture)
        }
        for field in fields(self._screening):
            arrays[SCREENING + field.name] = getattr(self._screening, field.name)
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
        n_coordinates = shapes.get(SCREENING + "projection", (0,))[0]
        screening_shapes = _screening_shapes(n, n_coordinates, transforms.regressors.n_inputs)
        parts = {name: array.shape for name, array in pack_transforms(transforms)[1].items()}
        if shapes != {**expected, **screening_shapes, **parts}:
            raise SnapshotError(f"the arrays of {path} make no predictor: {shapes}")
        screening = Screening(*(arrays[name] for name in screening_shapes))
        mixture = {name: arrays[name] for name in expected}
        # What overflows is told by a prediction.
        with np.errstate(all="ignore"):
            predictor = cls(PredictiveMixture(**mixture), transforms, screening)
            found = predictor.query(transforms.regressors.scaling.location)
        if not np.all(np.isfinite([*found.mean, *found.std, found.unseen_weight])):
            raise SnapshotError(f"the file {path} makes no predictor: it predicts {found}")
        return predictor


def _products(z: Array, pairs: tuple[NDArray[np.intp], NDArray[np.intp]]) -> Array:
    """Products of all pairs of entries of one vector; see `products.pairwise_products`."""
    products = z.take(pairs[0])
    products *= z.take(pairs[1])
    return products


def _expected_shapes(n: int, d: int, q: int, m: int) -> dict[str, tuple[int, ...]]:
    """Shapes of a predictive mixture of n components."""
    return {
        "log_constants": (n,),
        "exponents": (n,),
        "distance_coefficients": (n, (m + 1) * (m + 2) // 2),
        "maps": (n, d, q),
        "widening_coefficients": (n, q * (q + 1) // 2),
        "noise_shapes": (n, d, d),
        "dofs": (n,),
    }


def _screening_shapes(n: int, c: int, m: int) -> dict[str, tuple[int, ...]]:
    """Shapes of the screening of n components by c - 1 of m coordinates."""
    return {
        SCREENING + "projection": (c, m + 1),
        SCREENING + "coefficients": (n, c * (c + 1) // 2),
    }
