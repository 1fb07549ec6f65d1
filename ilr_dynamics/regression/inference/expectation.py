# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
E-step: responsibilities of all samples, summed up at once into statistics.

.. math::
    \log\rho_{nk} = c_k - \tfrac12 |R_k \zeta_n|^2, \qquad
    r_{nk} = \rho_{nk} / \sum_j \rho_{nj}, \qquad
    S_k = \sum_n w_n r_{nk} \zeta_n \zeta_n^\top

Of hundreds of components only a few have a share of a sample worth mentioning. The squares are
summed up row by row, those of the inputs first, and a component is left once it is negligible
beside the best one known, at first that of the last E-step. Samples near each other share that.
`expectation.h` does it.
"""

from __future__ import annotations

import numpy as np
import scipy

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.regression.inference._expectation import expect
from ilr_dynamics.regression.mixture.mixture import MixturePosterior

__all__ = ["Expectation"]

# Samples that are near each other: as many as the compiled code works on side by side.
LEAF_SIZE = 8


class Expectation:
    """
    E-steps over the same samples.

    Parameters
    ----------
    zeta : (n, p)
        Extended samples.
    weights : (n,)
        Their weights.
    n_inputs
        Leading columns of zeta, by which samples are near each other.
    """

    def __init__(self, zeta: FloatArray, weights: FloatArray, n_inputs: int) -> None:
        tree = scipy.spatial.cKDTree(zeta[:, :n_inputs], leafsize=LEAF_SIZE, compact_nodes=False)
        self._zeta = zeta[tree.indices]
        self._weights = weights[tree.indices]
        self._best = np.full(zeta.shape[0], -1)

    def __call__(self, posterior: MixturePosterior, names: IndexArray) -> tuple[float, FloatArray]:
        """
        Sum up all samples.

        Parameters
        ----------
        posterior
            Distributions of the components (K).
        names : (K,)
            Names of the components: each keeps its own from call to call. Non-negative.

        Returns
        -------
        entropy
            sum_n w_n H(r_n), of the responsibilities.
        statistics : (K, p, p)
            S.
        """
        constants, R_x, R_y = posterior.expected_log_joint()
        statistics = np.empty(R_y.shape)
        q = posterior.regression.n_regressors
        # Present positions of the components that were best before: these are tried first.
        position = np.full(max(int(names.max()), int(self._best.max(initial=0))) + 2, -1)
        position[names] = np.arange(names.size)
        best = position[self._best]
        entropy = expect(self._zeta, self._weights, constants, R_x, R_y, statistics, best, q)
        self._best = names[best]
        return entropy, statistics
