# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
Pruning of components by lower bounds of their distances, from a few coordinates of the input.

The squared distance to a centre is never shorter than what is left of it in fewer coordinates
R' x, whatever the others are:

.. math::
    (x - m)^\top A\,(x - m) \;\ge\; (x - m)^\top R\,(R^\top A^{-1} R)^{-1} R^\top (x - m),

because the right side is the minimum of the left one over all x with the same R' x. Of a component
with log weight c - e log(1 + distance) that is an upper bound, for a tenth of the products that
its weight itself takes. One that stays below the weight of another component by far cannot matter.

R holds the directions in which centres lie farthest apart in units of the components' own spread,
as in linear discriminant analysis: four to six of them leave two or three components of a thousand
near the data.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import eigh

from ilr_dynamics.arrays import BoolArray, FloatArray, IndexArray
from ilr_dynamics.regression.families.quadratic_forms import (
    centres_and_covariances,
    form_coefficients,
    pairwise_products,
)

__all__ = ["NEGLIGIBLE_WEIGHT", "PruningBounds"]

# Coordinates, of m: with 6 of 12 and 8 of 21 queries take as long near the data as on them, with
# fewer many components far from all data have to be evaluated in full.
COORDINATES, COORDINATES_SHARE = 2, 0.3
# Components whose weights add up to less than this share of the mixture may be left out of mean
# and spread. So small because one that has hardly any data is a thousand times less sure than
# those that know: its variance counts a million times.
NEGLIGIBLE_WEIGHT = 1e-18
# Of a component's squared widths: beyond it rounding makes bounds that are none.
LARGEST_CONDITION = 1e7


@dataclass(frozen=True)
class PruningBounds:
    """
    Lower bounds of all components' distances.

    Attributes
    ----------
    projection : (s + 1, m + 1)
        From [x, 1] to its coordinates [R' x, 1].
    coefficients : (K, (s + 1) (s + 2) / 2)
        One plus the lower bound, from the products of [R' x, 1].
    """

    projection: FloatArray
    coefficients: FloatArray

    @classmethod
    def from_forms(cls, forms: FloatArray) -> PruningBounds:
        """Choose coordinates for squared distances (K, m + 1, m + 1), as forms of [x, 1]."""
        m = forms.shape[1] - 1
        s = min(m, round(COORDINATES + COORDINATES_SHARE * m))
        forms, is_sound = _well_conditioned(forms)
        centres, covariances = centres_and_covariances(forms)
        R = _discriminating_directions(centres, np.asarray(covariances.mean(axis=0)))[:, :s]
        projection = np.zeros((s + 1, m + 1))
        projection[:s, :m], projection[s, m] = R.T, 1.0
        A = np.linalg.inv(R.T @ covariances @ R)
        A_centres = np.einsum("kij,kj->ki", A, centres @ R)
        bounds = np.empty((len(A), s + 1, s + 1))
        bounds[:, :s, :s] = A
        bounds[:, :s, s] = bounds[:, s, :s] = -A_centres
        bounds[:, s, s] = np.sum(A_centres * (centres @ R), axis=1)
        # No distance is shorter than none: such a component is always evaluated (`unbounded`).
        bounds[~is_sound] = 0.0
        bounds[:, s, s] += 1.0
        return cls(projection, form_coefficients(bounds))

    @cached_property
    def unbounded(self) -> IndexArray:
        """Components whose distance has no bound, which tells nothing of who is near."""
        # The square of the first coordinate counts in every bound.
        return np.flatnonzero(self.coefficients[:, 0] == 0.0)

    @property
    def log_margin(self) -> float:
        """How far below the largest log weight those lie that are all together negligible."""
        return float(np.log(len(self.coefficients) / NEGLIGIBLE_WEIGHT))

    def distances(self, coordinates: FloatArray, buffer: FloatArray) -> FloatArray:
        """
        Bounds for rows near each other.

        Parameters
        ----------
        coordinates : (n, s + 1)
            [R' x, 1].
        buffer : (at least n, k)
            Is overwritten.

        Returns
        -------
        distances : (n, k)
            One plus a lower bound of the squared distance of each of the first k components to
            each of the rows, in the buffer.
        """
        products = pairwise_products(coordinates)
        considered = self.coefficients[: buffer.shape[1]]
        return np.matmul(products, considered.T, out=buffer[: len(coordinates)])


def _well_conditioned(forms: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Put others in the place of forms that cannot be inverted; tell which (K,) can."""
    m = forms.shape[1] - 1
    widths = np.linalg.eigvalsh(forms[:, :m, :m])
    is_sound = widths[:, 0] * LARGEST_CONDITION > widths[:, -1]
    others = np.eye(m + 1) if not is_sound.any() else forms[np.argmax(is_sound)]
    return np.where(is_sound[:, None, None], forms, others), is_sound


def _discriminating_directions(centres: FloatArray, within: FloatArray) -> FloatArray:
    """Directions (m, m), columns, by how far centres lie apart in units of what is `within`."""
    deviations = centres - centres.mean(axis=0)
    _, directions = eigh(deviations.T @ deviations, within)
    return np.ascontiguousarray(directions[:, ::-1])
