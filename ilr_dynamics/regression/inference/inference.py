# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Inference schemes: what batch and stochastic variational Bayes have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.regression.inference.samples import ArraySamples, Samples
from ilr_dynamics.regression.inference.state import FitScales, InferenceResult, InferenceState
from ilr_dynamics.regression.shared.parameter_group import ParameterGroup
from ilr_dynamics.regression.shared.validation import check_choice, check_integer, check_real

__all__ = ["Inference", "IterationCallback"]

IterationCallback = Callable[[int, int, float], None]


@dataclass(frozen=True, repr=False)
class Inference(ParameterGroup, ABC):
    """
    Base of inference schemes, which differ in how they visit the samples.

    Parameters
    ----------
    max_iterations
        Iterations at most; of stochastic inference, passes over the samples.
    tolerance
        Stop when the lower bound grows by less than this for each sample, in nats.
    n_restarts
        How many initialisations to try; the one with the highest bound is kept.
    fit_scales
        Whether the data may correct what the prior expects (spreads, noise and, input by input,
        slopes) by maximising the lower bound over it; each counts as one component then. If not,
        the prior stays what its parameters say. "outputs": only noise and slopes are corrected,
        so that components keep the width that is stated.
    fit_concentration
        Whether the data may correct the concentration too: toward as many components as there are.
    """

    max_iterations: int = 200
    tolerance: float = 1e-4
    n_restarts: int = 1
    fit_scales: FitScales = True
    fit_concentration: bool = False

    def __post_init__(self) -> None:
        """Check the ranges."""
        check_integer(self.max_iterations, "max_iterations", 1)
        check_real(self.tolerance, "tolerance", above=0.0)
        check_integer(self.n_restarts, "n_restarts", 1)
        check_choice(self.fit_scales, "fit_scales", (True, False, "outputs"))
        check_choice(self.fit_concentration, "fit_concentration", (True, False))

    def unsettled_text(self, result: InferenceResult) -> str:
        """Tell the user of a result that has not converged how far it got, and what to change."""
        reached = f"changed the lower bound by {result.growth:.2g} nats a sample"
        expected = f"expected at most {self.tolerance:g} (tolerance)"
        if np.isnan(result.growth):
            reached = "had none before it to compare its lower bound with"
            expected = f"expected two that differ by at most {self.tolerance:g} nats a sample"
        elif abs(result.growth) <= self.tolerance:
            expected = "expected as little once scales have moved and no merge is left"
        return (
            f"inference ended at its last iteration, number {self.max_iterations}, which "
            f"{reached}; {expected}: raise max_iterations, lower n_components, or raise tolerance "
            "if the model is good enough"
        )

    def variants(self) -> tuple[Self, ...]:
        """Schemes among which samples held out shall choose; the first, where none are."""
        return (self,)

    def run(
        self,
        zeta: FloatArray,
        weights: FloatArray,
        state: InferenceState,
        generator: np.random.Generator,
        callback: IterationCallback | None = None,
    ) -> InferenceResult:
        """
        Raise the lower bound, from the statistics of an initial assignment.

        Parameters
        ----------
        zeta : (n, p)
            New extended samples.
        weights : (n,)
            Their weights.
        state
            Where to begin, see `initial_state`.
        generator
            Source of randomness, where there is any.
        callback
            Called with (iteration, max_iterations, bound per unit of weight).
        """
        samples = ArraySamples(zeta, weights, state.prior.n_inputs)
        return self.ascend(samples, state, generator, callback)

    @abstractmethod
    def ascend(
        self,
        samples: Samples,
        state: InferenceState,
        generator: np.random.Generator,
        callback: IterationCallback | None = None,
    ) -> InferenceResult:
        """Do what `run` does with samples that may be anywhere."""
