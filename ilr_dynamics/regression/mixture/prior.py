# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Priors of the estimators: base distributions from a few numbers with a meaning."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from ilr_dynamics.regression.families.matrix_normal_wishart import MatrixNormalWishart
from ilr_dynamics.regression.families.normal_wishart import NormalWishart
from ilr_dynamics.regression.mixture.hierarchy import HierarchicalPrior
from ilr_dynamics.regression.mixture.mixture import MixturePrior
from ilr_dynamics.regression.shared.parameter_group import ParameterGroup
from ilr_dynamics.regression.shared.validation import check_real

__all__ = ["Prior", "TwoLevelPrior"]


@dataclass(frozen=True, repr=False)
class Prior(ParameterGroup):
    r"""
    Prior of infinite local regression, in standard units, without a preferred direction.

    Parameters
    ----------
    concentration
        alpha_0 of the Dirichlet process, > 0: the larger, the more components are expected and
        the more readily a query is said to belong to none of them.
    input_spread
        Expected standard deviation of the inputs of one component:
        E[Lambda^-1] = input_spread^2 I.
    input_strength
        How many samples that expectation is worth, nu_0 = m + 1 + input_strength; None: one for
        each of the m inputs. The more inputs, the more directions there are in which a few samples
        of a motion say nothing: too weak a prior lets the components collapse onto the path and
        leaves a nearby path unexplained.
    centre_spread
        Expected standard deviation of the centres of the components:
        kappa_0 = (input_spread / centre_spread)^2.
    noise_std, noise_strength
        Expected standard deviation of the noise, E[V^-1] = noise_std^2 I, and how many samples
        that expectation is worth, eta_0 = d + 1 + noise_strength for d outputs.
    slope_scale
        Expected change of an output when all inputs move by one; the offset has standard
        deviation 1. Both scale with the noise, as conjugacy asks:
        K_0 = m (noise_std / slope_scale)^2 I and rho_0 = noise_std^2.
    """

    concentration: float = 0.1
    input_spread: float = 0.2
    input_strength: float | None = None
    centre_spread: float = 1.0
    noise_std: float = 0.1
    noise_strength: float = 2.0
    slope_scale: float = 1.0

    def __post_init__(self) -> None:
        """Check that all numbers are positive."""
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name != "input_strength" or value is not None:
                check_real(value, field.name, above=0.0)

    def base_distribution(self, n_inputs: int, n_features: int, n_outputs: int) -> MixturePrior:
        """
        Base distribution of the mixture.

        Parameters
        ----------
        n_inputs, n_outputs
            Lengths m of an input and d of an output.
        n_features
            Number of regressors besides the inputs and the constant, expected to matter like
            inputs.
        """
        strength = float(n_inputs) if self.input_strength is None else self.input_strength
        n_regressors = n_inputs + n_features + 1
        column_precision = np.full(
            n_regressors, n_inputs * (self.noise_std / self.slope_scale) ** 2
        )
        column_precision[-1] = self.noise_std**2
        return MixturePrior(
            region=NormalWishart(
                mean=np.zeros((1, n_inputs)),
                kappa=np.array([(self.input_spread / self.centre_spread) ** 2]),
                inverse_scale=(strength * self.input_spread**2 * np.eye(n_inputs))[None],
                dof=np.array([n_inputs + 1.0 + strength]),
            ),
            regression=MatrixNormalWishart(
                mean=np.zeros((1, n_outputs, n_regressors)),
                column_precision=np.diag(column_precision)[None],
                inverse_scale=(self.noise_strength * self.noise_std**2 * np.eye(n_outputs))[None],
                dof=np.array([n_outputs + 1.0 + self.noise_strength]),
            ),
            concentration=float(self.concentration),
        )


@dataclass(frozen=True, repr=False)
class TwoLevelPrior(Prior):
    """
    Prior of hierarchical infinite local regression.

    Parameters as those of `Prior`, which are of the lower components, and these of the upper ones.

    Parameters
    ----------
    concentration
        alpha_0. Every upper component has a share for lower ones not seen yet, with unknown
        offsets: with many upper components and a concentration that is not small, it widens the
        spread at the data.
    centre_spread
        Expected standard deviation of the centres of lower components around that of their upper
        one.
    upper_concentration
        beta_0 of the Dirichlet process of the upper components, > 0.
    upper_centre_spread
        Expected standard deviation of the centres of upper components.
    """

    concentration: float = 0.01
    upper_concentration: float = 0.1
    upper_centre_spread: float = 1.0

    def base_distribution(
        self, n_inputs: int, n_features: int, n_outputs: int
    ) -> HierarchicalPrior:
        """Base distributions of both levels."""
        lower = super().base_distribution(n_inputs, n_features, n_outputs)
        return HierarchicalPrior(
            lower.region,
            lower.regression,
            lower.concentration,
            float(self.upper_concentration),
            (self.input_spread / self.upper_centre_spread) ** 2,
        )
