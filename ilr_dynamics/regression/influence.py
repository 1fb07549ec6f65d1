# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
How far components can move the mean and the spread of a mixture that leaves them out.

Components k with weights w_k, means m_k and variances v_k are left out of an output whose mean and
variance become m_S and v_S. By the law of total variance

.. math::
    m - m_S = \sum_{\text{left}} w_k (m_k - m_S), \qquad
    v - v_S = \sum_{\text{left}} w_k (v_k + (m_k - m_S)^2 - v_S) - (m - m_S)^2.

With s = sqrt(v) and V = s max(s, 1), both change by at most the order of

.. math::
    \varepsilon \max(s, 1) \quad \text{if} \quad
    \sum_{\text{left}} w_k \bigl(1 + (v_k + (m_k - m_S)^2) / V\bigr) \le \varepsilon,

the mean by Cauchy and Schwarz. Neither v_k nor m_k has to be evaluated for that: with regressors
u = [x, 1], the noise variance a_k of a certain map and the block S_k of L_k^-1 that belongs to x,

.. math::
    v_k = a_k (1 + b_k + (x - x_k)^\top S_k (x - x_k)), \qquad |m_k| \le |M_k|\,|u|,

where b_k is the least of u' L_k^-1 u. So a_k (1 + b_k) is a lower bound, and with something that
grows as u'u an upper one.

A share of the weights would not do for the vacant components of a hierarchy, which know a slope
but no offset: their variance is up to a million times that of those with samples.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .predictive import PredictiveMixture
from .products import centres_and_covariances, forms

__all__ = ["MAX_ERROR", "Influence"]

Array = NDArray[np.float64]

# epsilon: error of mean and spread, in scales of the output or, where it is larger, spreads.
MAX_ERROR = 1e-7


@dataclass(frozen=True)
class Influence:
    """
    Bounds for the components from the one numbered `first` on.

    Parameters
    ----------
    floors : (R, d)
        a_k (1 + b_k), the least variance of each of them.
    growths : (R, d)
        What, times u'u, is at least the rest of the variance and twice the squared mean.
    steepness : (K + 1, d)
        |M_k|, of all components.
    """

    floors: Array
    growths: Array
    steepness: Array

    @classmethod
    def from_mixture(cls, mixture: PredictiveMixture, first: int) -> Influence:
        """Evaluate what does not depend on the query."""
        noise = mixture.variances()[first:]
        widening = forms(mixture.widening_coefficients[first:])
        centres, _ = centres_and_covariances(widening)
        least = widening[:, -1, -1] + np.einsum("ki,ki->k", widening[:, :-1, -1], centres)
        # No eigenvalue is larger than the largest sum of a row.
        largest = np.abs(widening[:, :-1, :-1]).sum(axis=2).max(axis=1)
        distances = 1.0 + np.einsum("ki,ki->k", centres, centres)
        steepness = np.linalg.norm(mixture.maps, axis=2)
        return cls(
            floors=noise * (1.0 + np.maximum(least, 0.0))[:, None],
            growths=noise * (largest * distances)[:, None] + 2.0 * steepness[first:] ** 2,
            steepness=steepness,
        )

    @property
    def first(self) -> int:
        """The first component that may be left out."""
        return len(self.steepness) - len(self.floors)

    def log_peak(self, log_constants: Array, variances: Array) -> float:
        """
        Tell from which weight of a component on the vacant ones are not felt.

        Parameters
        ----------
        log_constants : (K + 1,)
            Log weights of all components at their centres: no weight is larger.
        variances : (K + 1, d)
            Of their outputs where their maps are certain.

        Returns
        -------
        log_peak
            If the log weight of any component less log(u'u) is larger, all but the last of those
            that may be left out change mean and spread by less than `MAX_ERROR` together; -inf
            if there are none.
        """
        most = self.of_shares(variances.min(axis=0), self.steepness.max(axis=0), 1.0)
        log_weights = log_constants[self.first : -1] + np.log(most[:-1] / MAX_ERROR)
        return float(np.logaddexp.reduce(log_weights))

    def of_shares(self, variance: Array, steepness: Array, squared_length: float) -> Array:
        """
        Bound what leaving out a component does.

        Parameters
        ----------
        variance : (d,)
            At most that of the mixture.
        steepness : (d,)
            At least the mean of |M_k| over the components that stay.
        squared_length
            u'u.

        Returns
        -------
        influence : (R,)
            What its share of the mixture is to be multiplied by.
        """
        scale = 1.0 / np.maximum(variance, np.sqrt(variance))
        influence = self.floors.dot(scale)
        scale *= squared_length
        influence += self.growths.dot(scale)
        influence += 1.0 + 2.0 * float((steepness * steepness).dot(scale))
        return influence
