# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Hierarchical infinite local regression: the estimator."""

from __future__ import annotations

import numpy as np

from ilr_dynamics.regression.mixture.prior import TwoLevelPrior
from ilr_dynamics.regression.mixture_regressor import MixtureRegressor

__all__ = ["HILR"]


class HILR(MixtureRegressor):
    """
    Infinite mixture of infinite mixtures of local linear regressions.

    Like `ILR`, but components are of two levels. An upper one holds a slope, the noise and the
    width of its regions; its lower ones each hold where such a region lies and the offset there.
    A slope that comes back in other places of the input space is learned once.

    Learning begins with an upper component for each lower one and unites upper ones wherever
    that raises the lower bound, which leaves the responsibilities of all samples as they are.
    What is united stays so: after small first batches, `partial_fit` may end with slopes shared
    that more data would have told apart.

    Parameters and attributes are those of `MixtureRegressor`, with a `TwoLevelPrior` as prior and
    lower components for components.

    Attributes
    ----------
    n_upper_ : int
        Number of upper components.

    Examples
    --------
    >>> import numpy as np
    >>> from ilr_dynamics.regression import BatchInference
    >>> X = np.linspace(-2.0, 2.0, 400)[:, None]
    >>> Y = np.abs(X % 2.0 - 1.0) + 0.02 * np.random.default_rng(0).normal(size=X.shape)
    >>> HILR(n_components=20, inference=BatchInference(merge=True)).fit(X, Y).n_upper_
    2
    """

    default_prior = TwoLevelPrior()

    @property
    def n_upper_(self) -> int:
        """Number of upper components."""
        self._check_fitted()
        return int(np.unique(self.groups_).size)
