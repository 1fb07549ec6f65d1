# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Hierarchical infinite local regression: the estimator."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ilr_dynamics.regression.fallback import Fallback
from ilr_dynamics.regression.hierarchy import HierarchicalPrior
from ilr_dynamics.regression.inference import FitScales
from ilr_dynamics.regression.learner import MixtureLearner
from ilr_dynamics.regression.mixture import MixturePrior
from ilr_dynamics.regression.prior_mean import PriorMean
from ilr_dynamics.regression.priors import isotropic_prior
from ilr_dynamics.regression.validation import check_real

__all__ = ["HILR"]


class HILR(MixtureLearner):
    r"""
    Infinite mixture of infinite mixtures of local linear regressions.

    Like `ILR`, but components are of two levels. An upper one holds a slope, the noise and the
    width of its regions; its lower ones each hold where such a region lies and the offset there.
    A slope that comes back in other places of the input space is learned once.

    Learning begins with an upper component for each lower one and unites upper ones wherever
    that raises the lower bound, which leaves the responsibilities of all samples as they are.
    What is united stays so: after small first batches, `partial_fit` may end with slopes shared
    that more data would have told apart.

    Parameters
    ----------
    n_components
        How many lower components one call of `fit` or `partial_fit` may open. Those not needed
        are closed again, so a generous number costs time, not accuracy.
    concentration, upper_concentration
        alpha_0 and beta_0 of the Dirichlet processes of both levels, > 0: the larger, the more
        components are expected, and the more readily a query is said to belong to none of them.
        Every upper component has a share for lower ones not seen yet, with unknown offsets: many
        of them, with a concentration that is not small, are felt in the spread at the data.
    input_spread, input_strength
        Expected standard deviation of the inputs of one component, in standard units, and how many
        samples that expectation is worth; None: one for each input. The more inputs, the more
        directions there are in which a few samples of a motion say nothing: too weak a prior
        lets the components collapse onto the path and leaves a nearby path unexplained.
    centre_spread, upper_centre_spread
        Expected standard deviation of the centres of lower components around that of their upper
        one, and of these around the location, in standard units.
    noise_std, noise_strength
        Expected standard deviation of the noise, in standard units, and how many samples that
        expectation is worth.
    slope_scale
        Expected change of an output, in standard units, when all inputs move by one.
    fit_scales
        Whether the data may correct the expectations above (spreads, noise and, input by input,
        slopes) by maximising the lower bound over them; each counts as one component then. If
        not, the prior stays what the parameters say. "outputs": only those of noise and slopes,
        so that components keep the width that is stated.
    fit_concentration
        Whether the data may correct the concentration too: toward as many components as there are.
    features, degree
        What the local models are linear in: "linear", "polynomial" (all products of up to
        `degree` inputs), or a name given to `register_features`. Polynomials grow quickly away
        from the data: between and beyond them predictions may be far off.
    prior_mean
        What is expected before any data, and far from all data; None: the mean of the outputs.
    fallback
        Global model, learned from the same samples, that predicts where no component has data;
        None: there the prior predicts.
    learn_residual
        Whether components learn what the fallback leaves of the outputs, instead of the outputs.
        They then have less to learn, and stray less between motions; but what the fallback makes
        of noisy inputs they cannot put right, so that between neighbouring samples of a recording
        they are worse.
    merge
        Whether to merge lower components too where that raises the lower bound. It finds the
        number of pieces of a relation that truly consists of pieces. A smooth relation is better
        left to components that overlap.
    n_restarts
        How many initialisations to try; the one with the highest bound is kept.
    calibration_share
        Share of the samples, at most a half and one drawn of every so many, on which `fit`
        calibrates the spread with a trial model that has not learned them, before it learns all;
        0, or fewer than 50 held out: it does not. Later learning keeps the factors found, so
        calibrate again after much of it.
    forgetting_factor
        What earlier samples still weigh after each `partial_fit`, above 0 and at most 1. With 1
        nothing is forgotten; less follows an arm whose load or friction changes.
    inference
        "batch": every iteration visits all samples. "stochastic": natural-gradient steps on
        minibatches, for many samples; `max_iterations` then counts passes, and `merge` has no
        effect.
    batch_size, step_delay, step_rate
        Of stochastic inference: samples in a minibatch, and the steps (t + delay)^(-rate), t = 1,
        2, ..., by which they count.
    max_iterations
        Iterations of variational Bayes at most.
    tolerance
        Stop when the lower bound grows by less than this for each sample, in nats.
    input_location, input_scale, output_location, output_scale
        Physical values that become 0 and 1, as one number or one for each column. By default mean
        and deviation of the first data; give them where the first data may hardly move. With a
        prior mean the outputs' are of what it leaves, and their location is 0.
    random_state
        Seed, or a ``numpy.random.Generator``, or None for a different draw each time.

    Attributes
    ----------
    prior_ : HierarchicalPrior
        Base distributions, in standard units; its scales are the data's choice if `fit_scales`.
    statistics_ : (K, p, p)
        Scatter of the extended samples [x, features, 1, y] of each component, largest first.
    groups_ : (K,)
        Upper component of each.
    n_upper_ : int
        Number of upper components.
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
    prior_mean_ : PriorMean or None
        The prior mean function of the first fit.
    fallback_ : Fallback or None
        The global model, with all samples it was given.
    metadata_ : dict
        What was saved beside the model; empty unless loaded from a snapshot.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(-2.0, 2.0, 400)[:, None]
    >>> noise = 0.02 * np.random.default_rng(0).normal(size=X.shape)
    >>> model = HILR(n_components=20, merge=True).fit(X, np.abs(X % 2.0 - 1.0) + noise)
    >>> model.n_upper_
    2
    """

    def __init__(
        self,
        n_components: int = 300,
        *,
        concentration: float = 0.01,
        upper_concentration: float = 0.1,
        input_spread: float = 0.2,
        input_strength: float | None = None,
        centre_spread: float = 1.0,
        upper_centre_spread: float = 1.0,
        noise_std: float = 0.1,
        noise_strength: float = 2.0,
        slope_scale: float = 1.0,
        fit_scales: FitScales = True,
        fit_concentration: bool = False,
        features: str = "linear",
        degree: int = 3,
        prior_mean: PriorMean | None = None,
        fallback: Fallback | None = None,
        learn_residual: bool = False,
        merge: bool = False,
        n_restarts: int = 1,
        calibration_share: float = 0.0,
        forgetting_factor: float = 1.0,
        inference: Literal["batch", "stochastic"] = "batch",
        batch_size: int = 1000,
        step_delay: float = 1.0,
        step_rate: float = 0.7,
        max_iterations: int = 200,
        tolerance: float = 1e-4,
        input_location: ArrayLike | None = None,
        input_scale: ArrayLike | None = None,
        output_location: ArrayLike | None = None,
        output_scale: ArrayLike | None = None,
        random_state: int | np.random.Generator | None = 0,
    ) -> None:
        self.n_components = n_components
        self.concentration = concentration
        self.upper_concentration = upper_concentration
        self.input_spread = input_spread
        self.input_strength = input_strength
        self.centre_spread = centre_spread
        self.upper_centre_spread = upper_centre_spread
        self.noise_std = noise_std
        self.noise_strength = noise_strength
        self.slope_scale = slope_scale
        self.fit_scales = fit_scales
        self.fit_concentration = fit_concentration
        self.features = features
        self.degree = degree
        self.prior_mean = prior_mean
        self.fallback = fallback
        self.learn_residual = learn_residual
        self.merge = merge
        self.n_restarts = n_restarts
        self.calibration_share = calibration_share
        self.forgetting_factor = forgetting_factor
        self.inference = inference
        self.batch_size = batch_size
        self.step_delay = step_delay
        self.step_rate = step_rate
        self.max_iterations = max_iterations
        self.tolerance = tolerance
        self.input_location = input_location
        self.input_scale = input_scale
        self.output_location = output_location
        self.output_scale = output_scale
        self.random_state = random_state

    @property
    def n_upper_(self) -> int:
        """Number of upper components."""
        self._check_fitted()
        return int(np.unique(self.groups_).size)

    def _stated_prior(self, n_inputs: int, n_features: int, n_outputs: int) -> MixturePrior:
        scales = self._checked_scales(n_inputs)
        spread = check_real(self.upper_centre_spread, "upper_centre_spread", above=0.0)
        base = isotropic_prior(n_inputs, n_outputs, n_features=n_features, **scales)
        return HierarchicalPrior(
            base.gate,
            base.regression,
            base.concentration,
            check_real(self.upper_concentration, "upper_concentration", above=0.0),
            (scales["input_spread"] / spread) ** 2,
        )
