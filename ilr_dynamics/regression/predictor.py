# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Predictor of one input at a time, for the control loop."""

from __future__ import annotations

import os
from collections.abc import Callable
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.exceptions import InvalidDataError, SnapshotError
from ilr_dynamics.regression.families.quadratic_forms import upper_triangle
from ilr_dynamics.regression.files.model_file import PREDICTOR, read_file, write_file
from ilr_dynamics.regression.files.stored_predictor import pack_predictor, unpack_predictor
from ilr_dynamics.regression.prediction.predictive_mixture import PredictiveMixture
from ilr_dynamics.regression.prediction.pruned_weights import PrunedWeights, products_of
from ilr_dynamics.regression.prediction.pruning import PruningBounds
from ilr_dynamics.regression.shared.validation import MAX_STANDARD_VALUE
from ilr_dynamics.regression.units.transforms import Transforms

__all__ = ["Prediction", "Predictor"]

# Weight of the unseen component up to which the global model, which costs as much as all local
# models together, is left out: its mean may then be a hundred deviations away and make no
# difference.
GLOBAL_MODEL_WEIGHT = 1e-9


class Prediction(NamedTuple):
    """
    The predictive distribution at one input, in physical units.

    Attributes
    ----------
    mean : (n_outputs,)
        Expected outputs.
    std : (n_outputs,)
        Standard deviations of the outputs.
    doubt : (n_outputs,)
        Standard deviations of what is expected of them: those without noise.
    component
        The component with the largest weight; -1 for the unseen one.
    unseen_weight
        Weight of the component not yet seen: how much of this prediction is the prior's, or the
        global model's if there is one.
    """

    mean: FloatArray
    std: FloatArray
    doubt: FloatArray
    component: int
    unseen_weight: float


class Predictor:
    """
    Mean prediction and spread at one input, in the order of operations that is fastest for one.

    Most components are ruled out by a bound (`pruned_weights`); only what is left is looked at.
    What is left out of those with samples weighs less than `pruning.NEGLIGIBLE_WEIGHT`, so that
    the mean is off by at most that share of the distance between two local predictions, and the
    variance by that share of its square and of the largest variance. The unseen component is
    always evaluated.

    NumPy's calls cost as much as what they do, so there are as few as possible: arrays are worked
    on in place, and methods are called where functions of the same name would only look for them.

    An object holds scratch memory, of which no answer is a part: use one per thread. Copies, also
    pickled ones, have their own.

    Parameters
    ----------
    mixture
        Predictive distribution in standard units.
    transforms
        Between physical and standard units, with the global model.
    pruning
        Bounds of the distances of its components.
    """

    def __init__(
        self, mixture: PredictiveMixture, transforms: Transforms, pruning: PruningBounds
    ) -> None:
        self._parts = mixture, transforms, pruning
        self._mixture = mixture
        self._regressors = transforms.regressors
        self._inputs = transforms.regressors.scaling
        self._outputs, self._global_model = transforms.outputs, transforms.global_model
        self._learn_residual = transforms.learn_residual
        n_inputs, n_regressors = self._inputs.location.size, mixture.maps.shape[2]
        self._is_linear = n_regressors == n_inputs + 1
        self._pairs = upper_triangle(n_inputs + 1)
        self._regressor_pairs = upper_triangle(n_regressors)
        self._variances = mixture.variances()
        self._outputs_variance = transforms.outputs.scale**2
        self._unseen_spread = transforms.spread.unseen**2
        self._boxes = None
        if transforms.learn_residual:
            scale, location = self._inputs.scale, self._inputs.location
            self._boxes = mixture.centres * scale + location, mixture.extents * scale
            self._no_residual = -self._outputs.location / self._outputs.scale
            self._residual_variance = transforms.residual_variance()
        self._pruned_weights = PrunedWeights(mixture, pruning)
        # Of one query after the other; nothing of it is given away.
        self._z = np.ones(n_inputs + 1)
        self._x = self._z[:-1]

    def __reduce__(self) -> tuple[type[Predictor], tuple[object, ...]]:
        """Make copies anew: scratch memory copied array by array would be parts of nothing."""
        return type(self), self._parts

    @property
    def has_global_model(self) -> bool:
        """Whether a global model predicts where no component has data."""
        return self._global_model is not None

    @property
    def prior_std(self) -> FloatArray | None:
        """`GlobalModel.prior_std` of the global model, if there is one."""
        return None if self._global_model is None else self._global_model.prior_std

    @property
    def n_inputs(self) -> int:
        """Length of an input."""
        return int(self._inputs.location.size)

    @property
    def n_outputs(self) -> int:
        """Length of an output."""
        return int(self._outputs.location.size)

    def __call__(self, x: ArrayLike) -> tuple[FloatArray, FloatArray]:
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
        u = z if self._is_linear else self._regressors(x[None])[0]
        products = products_of(z, self._pairs)
        chosen, weights = self._pruned_weights(z, products)
        if not self._is_linear:
            products = products_of(u, self._regressor_pairs)
        rows = _rows(chosen)
        # One flat matrix-vector product: NumPy would call BLAS once a component.
        means = rows(self._mixture.maps).reshape(-1, u.size).dot(u)
        means = means.reshape(-1, n_outputs)
        widening = rows(self._mixture.widening_coefficients).dot(products)
        model, added, doubt_of_unseen, unlearnable = self._global_model, None, None, None
        beyond = None
        if self._boxes is not None and chosen.size > 1:
            assert model is not None
            local = chosen[:-1]
            rho = model.residual_correlation(
                x[None], *(part.take(local, axis=0) for part in self._boxes)
            )
            if rho is not None:
                means[:-1] -= self._no_residual
                means[:-1] *= rho[0][:, None]
                means[:-1] += self._no_residual
                beyond = weights[:-1].dot(1.0 - rho[0] ** 2) * self._residual_variance
        # The unseen component is the last of all, and of the chosen ones.
        unseen_weight = float(weights[-1])
        if model is not None:
            if unseen_weight > GLOBAL_MODEL_WEIGHT:
                prediction = model.predict(x[None])
                residual = -self._outputs.location
                if self._learn_residual:
                    added = prediction.mean[0]
                else:
                    residual = prediction.mean[0] + residual
                means[-1] = residual / self._outputs.scale
                widening[-1] = prediction.factor[0] - 1.0
                doubt_of_unseen = prediction.doubt
                unlearnable = prediction.unlearnable
            else:
                weights[-1] = 0.0
                if self._learn_residual:
                    added = model.expected(x[None])[0]
                    unlearnable = model.unlearnable(x[None])
        mean = weights.dot(means)
        # Spread around the mixture's mean, not E[y^2] - mean^2: no cancellation.
        means -= mean
        means *= means
        # By matrix products: what numbers each row by few columns takes as long as all before.
        variances = rows(self._variances)
        widening *= weights
        doubt = widening.dot(variances)
        doubt += weights.dot(means)
        if beyond is not None:
            doubt += beyond
        variance = weights.dot(variances)
        of_unseen = weights[-1] * self._unseen_spread
        if doubt_of_unseen is not None:
            doubt += of_unseen * doubt_of_unseen[0] / self._outputs_variance
        if unlearnable is not None:
            share = of_unseen + (1.0 - weights[-1] if self._learn_residual else 0.0)
            variance += share * unlearnable[0] / self._outputs_variance
        variance += doubt
        mean *= self._outputs.scale
        mean += self._outputs.location
        std = np.sqrt(variance, out=variance)
        std *= self._outputs.scale
        np.sqrt(doubt, out=doubt)
        doubt *= self._outputs.scale
        best = weights.argmax()
        return Prediction(
            mean=mean if added is None else mean + added,
            std=std,
            doubt=doubt,
            component=int(chosen[best]) if best < weights.size - 1 else -1,
            unseen_weight=unseen_weight,
        )

    def _standardise(self, x: FloatArray) -> None:
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

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file that `open` maps into memory."""
        write_file(path, PREDICTOR, *pack_predictor(*self._parts))

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Predictor:
        """
        Take a predictor from a file written by `save`.

        Raises
        ------
        SnapshotError
            If the file is missing or damaged, or what it holds predicts nothing finite.
        """
        header, arrays = read_file(path, PREDICTOR)
        # Overflow shows in a prediction.
        with np.errstate(all="ignore"):
            try:
                parts = unpack_predictor(header, arrays)
            except (LookupError, TypeError, ValueError, OverflowError) as error:
                raise SnapshotError(f"the file {path} makes no predictor: {error}") from error
            predictor = cls(*parts)
            found = predictor.query(predictor._inputs.location)
        if not np.all(np.isfinite([*found.mean, *found.std, found.unseen_weight])):
            raise SnapshotError(f"the file {path} makes no predictor: it predicts {found}")
        return predictor


def _rows(chosen: IndexArray) -> Callable[[FloatArray], FloatArray]:
    """Copy of the chosen rows of an array, or where they lie one behind the other a view."""
    if chosen[-1] - chosen[0] == chosen.size - 1:
        return itemgetter(slice(chosen[0], chosen[-1] + 1))
    return lambda array: array.take(chosen, axis=0)
