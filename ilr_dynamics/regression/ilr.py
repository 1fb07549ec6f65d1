# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Infinite local regression: the estimator."""

from __future__ import annotations

from ilr_dynamics.regression.mixture.prior import Prior
from ilr_dynamics.regression.mixture_regressor import MixtureRegressor

__all__ = ["ILR"]


class ILR(MixtureRegressor):
    """
    Infinite mixture of local linear regressions, learned by variational Bayes.

    A Dirichlet-process mixture whose components each hold a Gaussian over the inputs (where the
    component is active) and a linear regression with its own noise (what it says there), all with
    conjugate priors. Fitting infers a posterior over everything; predicting conditions on the
    input and integrates the posterior out.

    Parameters and attributes are those of `MixtureRegressor`, with a `Prior` as prior.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(-3.0, 3.0, 400)[:, None]
    >>> model = ILR(n_components=20).fit(X, np.sin(X))
    >>> mean, std = model.predict([[0.5]], return_std=True)
    >>> bool(abs(mean[0, 0] - np.sin(0.5)) < 0.05)
    True
    """

    default_prior = Prior()
