# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The base distribution of the mixture from a few numbers with a meaning, in standard units."""

from __future__ import annotations

import numpy as np

from ilr_dynamics.regression.matrix_normal_wishart import MatrixNormalWishart
from ilr_dynamics.regression.mixture import MixturePrior
from ilr_dynamics.regression.normal_wishart import NormalWishart

__all__ = ["isotropic_prior"]


def isotropic_prior(
    n_inputs: int,
    n_outputs: int,
    *,
    n_features: int = 0,
    concentration: float,
    input_spread: float,
    input_strength: float,
    centre_spread: float,
    noise_std: float,
    noise_strength: float,
    slope_scale: float,
) -> MixturePrior:
    r"""
    Base distribution without a preferred direction, in standard units.

    Parameters
    ----------
    n_inputs, n_outputs
        Lengths m of an input and d of an output.
    n_features
        Number of regressors besides the inputs and the constant, expected to matter like inputs.
    concentration
        alpha_0 of the Dirichlet process.
    input_spread
        Standard deviation of the inputs of one local model: E[Lambda^-1] = input_spread^2 I.
    input_strength
        How many samples that expectation is worth: nu_0 = m + 1 + input_strength.
    centre_spread
        Standard deviation of the centres of the local models:
        kappa_0 = (input_spread / centre_spread)^2.
    noise_std
        Standard deviation of the noise: E[V^-1] = noise_std^2 I.
    noise_strength
        How many samples that expectation is worth: eta_0 = d + 1 + noise_strength.
    slope_scale
        Standard deviation of the change of an output when all inputs move by one standard
        deviation; the offset has standard deviation 1. Both scale with the noise, as conjugacy
        asks: K_0 = m (noise_std / slope_scale)^2 I and rho_0 = noise_std^2.
    """
    input_precision_dof = n_inputs + 1.0 + input_strength
    noise_precision_dof = n_outputs + 1.0 + noise_strength
    n_regressors = n_inputs + n_features + 1
    column_precision = np.full(n_regressors, n_inputs * (noise_std / slope_scale) ** 2)
    column_precision[-1] = noise_std**2
    return MixturePrior(
        gate=NormalWishart(
            mean=np.zeros((1, n_inputs)),
            kappa=np.array([(input_spread / centre_spread) ** 2]),
            inverse_scale=(input_strength * input_spread**2 * np.eye(n_inputs))[None],
            dof=np.array([input_precision_dof]),
        ),
        regression=MatrixNormalWishart(
            mean=np.zeros((1, n_outputs, n_regressors)),
            column_precision=np.diag(column_precision)[None],
            inverse_scale=(noise_strength * noise_std**2 * np.eye(n_outputs))[None],
            dof=np.array([noise_precision_dof]),
        ),
        concentration=concentration,
    )
