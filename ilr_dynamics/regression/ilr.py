# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Infinite local regression: the estimator."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..exceptions import InvalidDataError, InvalidParameterError
from .inference import InferenceResult, IterationCallback, variational_bayes
from .initialization import assignment_statistics, k_means_plus_plus, nearest_seed
from .mixture import MixturePrior, extend, mixture_posterior, split
from .mixture_regressor import MixtureRegressor
from .predictive import PredictiveMixture, most_probable
from .priors import isotropic_prior
from .scaling import Standardizer
from .validation import (
    check_integer,
    check_random_state,
    check_real,
    check_training_data,
)

__all__ = ["ILR"]

Array = NDArray[np.float64]

# Squares of such values and sums over all samples stay finite.
MAX_STANDARD_VALUE = 1e100


class ILR(MixtureRegressor):
    r"""
    Infinite mixture of local linear regressions, learned by variational Bayes.

    A Dirichlet-process mixture whose components each hold a Gaussian over the inputs (where the
    component is active) and a linear regression with its own noise (what it says there), all with
    conjugate priors. Fitting infers a posterior over everything; predicting conditions on the
    input and integrates the posterior out.

    Parameters
    ----------
    n_components
        How many components one call of `fit` or `partial_fit` may open. Those not needed are
        closed again, so a generous number costs time, not accuracy.
    concentration
        alpha_0 of the Dirichlet process, > 0: the larger, the more components are expected.
    input_spread, input_strength
        Expected standard deviation of the inputs of one component, in standard units, and how many
        samples that expectation is worth; None: one for each input. The more inputs, the more
        directions there are in which a few samples of a motion say nothing: too weak a prior
        lets the components collapse onto the path and leaves a nearby path unexplained.
    centre_spread
        Expected standard deviation of the centres, in standard units. It bounds how far away from
        the first data later data may lie and still be learned as finely.
    noise_std, noise_strength
        Expected standard deviation of the noise, in standard units, and how many samples that
        expectation is worth.
    slope_scale
        Expected change of an output, in standard units, when all inputs move by one.
    forgetting_factor
        What earlier samples still weigh after each `partial_fit`, above 0 and at most 1. With 1
        nothing is forgotten; less follows an arm whose load or friction changes.
    max_iterations
        Iterations of variational Bayes at most.
    tolerance
        Stop when the lower bound grows by less than this fraction.
    input_location, input_scale, output_location, output_scale
        Physical values that become 0 and 1, as one number or one for each column. By default mean
        and deviation of the first data; give them where the first data may hardly move.
    random_state
        Seed, or a ``numpy.random.Generator``, or None for a different draw each time.

    Attributes
    ----------
    prior_ : MixturePrior
        Base distribution, in standard units.
    statistics_ : (K, p, p)
        Scatter of the extended samples [x, 1, y] of each component, sorted by falling count.
    posterior_ : MixturePosterior
        Prior plus statistics.
    lower_bounds_ : (n_iterations,)
        Lower bound after each iteration of the newest call, in nats.
    converged_ : bool
        Whether the bound settled in the newest call.
    n_active_ : int
        Number of components that hold more than one sample.
    n_samples_ : int
        Number of samples learned from so far.
    n_features_in_, n_outputs_ : int
        Lengths of an input and of an output.
    metadata_ : dict
        What was saved beside the model; empty unless loaded from a snapshot.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(-3.0, 3.0, 400)[:, None]
    >>> model = ILR(n_components=20).fit(X, np.sin(X))
    >>> mean, std = model.predict([[0.5]], return_std=True)
    >>> bool(abs(mean[0, 0] - np.sin(0.5)) < 0.05)
    True
    """

    def __init__(
        self,
        n_components: int = 300,
        *,
        concentration: float = 1.0,
        input_spread: float = 0.5,
        input_strength: float | None = None,
        centre_spread: float = 1.0,
        noise_std: float = 0.1,
        noise_strength: float = 2.0,
        slope_scale: float = 1.0,
        forgetting_factor: float = 1.0,
        max_iterations: int = 100,
        tolerance: float = 1e-5,
        input_location: ArrayLike | None = None,
        input_scale: ArrayLike | None = None,
        output_location: ArrayLike | None = None,
        output_scale: ArrayLike | None = None,
        random_state: int | np.random.Generator | None = 0,
    ) -> None:
        self.n_components = n_components
        self.concentration = concentration
        self.input_spread = input_spread
        self.input_strength = input_strength
        self.centre_spread = centre_spread
        self.noise_std = noise_std
        self.noise_strength = noise_strength
        self.slope_scale = slope_scale
        self.forgetting_factor = forgetting_factor
        self.max_iterations = max_iterations
        self.tolerance = tolerance
        self.input_location = input_location
        self.input_scale = input_scale
        self.output_location = output_location
        self.output_scale = output_scale
        self.random_state = random_state

    def fit(
        self,
        X: ArrayLike,
        Y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        callback: IterationCallback | None = None,
    ) -> Self:
        """
        Learn from data alone, forgetting what was learned before.

        Parameters
        ----------
        X : (n, n_inputs)
            Inputs, in physical units.
        Y : (n, n_outputs)
            Outputs, in physical units.
        sample_weight : (n,), optional
            How many samples each row counts for.
        callback
            Called after each iteration with (iteration, max_iterations, bound per sample).

        Raises
        ------
        InvalidDataError
            If the arrays are malformed or do not fit together.
        InvalidParameterError
            If a parameter is out of range.
        """
        X, Y, weights = check_training_data(X, Y, sample_weight)
        inputs = Standardizer.from_data(X, weights, self.input_location, self.input_scale, "input")
        outputs = Standardizer.from_data(
            Y, weights, self.output_location, self.output_scale, "output"
        )
        prior = self._make_prior(X.shape[1], Y.shape[1])
        p = prior.extended_size
        Z = _extended(inputs, outputs, X, Y)
        result = self._infer(Z, weights, prior, np.zeros((0, p, p)), callback)
        self._take_over(prior, result, X.shape[0])
        self.input_scaling_, self.output_scaling_ = inputs, outputs
        self.metadata_ = {}
        return self

    def partial_fit(
        self,
        X: ArrayLike,
        Y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        callback: IterationCallback | None = None,
    ) -> Self:
        """
        Learn from new data on top of what is known: the posterior becomes the prior.

        Components are opened where the present ones do not explain the new samples. Scaling and
        base distribution stay those of the first call. Parameters as in `fit`.
        """
        if not hasattr(self, "posterior_"):
            return self.fit(X, Y, sample_weight, callback=callback)
        X, Y, weights = check_training_data(
            X, Y, sample_weight, self.n_features_in_, self.n_outputs_
        )
        Z = _extended(self.input_scaling_, self.output_scaling_, X, Y)
        known = self._remembered()
        result = self._infer(Z, weights, self.prior_, known, callback)
        self._take_over(self.prior_, result, self.n_samples_ + X.shape[0])
        return self

    def _remembered(self) -> Array:
        """Statistics of earlier samples, discounted: a power prior on what they said."""
        factor = check_real(self.forgetting_factor, "forgetting_factor", above=0.0)
        if factor > 1.0:
            raise InvalidParameterError(f"forgetting_factor must be at most 1, got {factor}")
        return factor * self.statistics_

    def _take_over(self, prior: MixturePrior, result: InferenceResult, n_samples: int) -> None:
        self._set_state(prior, result.statistics, n_samples)
        self.lower_bounds_, self.converged_ = result.lower_bounds, result.converged

    def _make_prior(self, n_inputs: int, n_outputs: int) -> MixturePrior:
        strength = float(n_inputs) if self.input_strength is None else self.input_strength
        settings = {
            "concentration": self.concentration,
            "input_spread": self.input_spread,
            "input_strength": strength,
            "centre_spread": self.centre_spread,
            "noise_std": self.noise_std,
            "noise_strength": self.noise_strength,
            "slope_scale": self.slope_scale,
        }
        checked = {name: check_real(value, name, above=0.0) for name, value in settings.items()}
        return isotropic_prior(n_inputs, n_outputs, **checked)

    def _infer(
        self,
        Z: Array,
        weights: Array,
        prior: MixturePrior,
        known: Array,
        callback: IterationCallback | None,
    ) -> InferenceResult:
        """Statistics of known and new samples together, and the bounds on the way."""
        max_iterations = check_integer(self.max_iterations, "max_iterations", 1)
        tolerance = check_real(self.tolerance, "tolerance", above=0.0)
        labels, n_opened = self._initial_labels(Z, weights, prior, known)
        previous = np.concatenate([known, np.zeros((n_opened, *known.shape[1:]))])
        initial = assignment_statistics(Z, weights, labels, previous.shape[0])
        return variational_bayes(
            Z,
            weights,
            prior,
            previous,
            initial,
            max_iterations=max_iterations,
            tolerance=tolerance,
            callback=callback,
        )

    def _initial_labels(
        self, Z: Array, weights: Array, prior: MixturePrior, known: Array
    ) -> tuple[NDArray[np.intp], int]:
        """Most probable known component of each sample; new ones, from k-means++, elsewhere."""
        n_components = check_integer(self.n_components, "n_components", 1)
        n_known = known.shape[0]
        labels = np.full(Z.shape[0], n_known, dtype=np.intp)
        if n_known > 0:
            mixture = PredictiveMixture.from_posterior(prior, mixture_posterior(prior, known))
            labels = most_probable(mixture, *split(prior, Z))
        unexplained = labels == n_known
        if not np.any(unexplained):
            return labels, 0
        share = float(np.sum(weights[unexplained]) / np.sum(weights))
        seeds = k_means_plus_plus(
            Z[unexplained],
            weights[unexplained],
            max(1, round(n_components * share)),
            check_random_state(self.random_state),
        )
        labels[unexplained] += nearest_seed(Z[unexplained], seeds)
        return labels, seeds.shape[0]


def _extended(inputs: Standardizer, outputs: Standardizer, X: Array, Y: Array) -> Array:
    """Extended samples (n, p) in standard units."""
    Z = extend(inputs.transform(X), outputs.transform(Y))
    largest = float(np.max(np.abs(Z)))
    if not largest < MAX_STANDARD_VALUE:
        raise InvalidDataError(
            f"samples lie up to {largest:.1e} scales from the location; expected less than "
            f"{MAX_STANDARD_VALUE:.0e}: the data or the scales are not what is meant"
        )
    return Z
