# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
Posterior predictive distribution: a mixture of multivariate Student-t densities.

.. math::
    p(y \mid x) = \sum_{k=1}^{K+1} w_k(x)\; T_{\eta'_k}(y \mid M_k u,\
    \tfrac{1 + u^\top L_k^{-1} u}{\eta'_k} \Phi_k^{-1}), \qquad
    w_k(x) \propto E[\pi_k]\; T_{\nu'_k}(x \mid m_k,\
    \tfrac{1 + \kappa_k}{\kappa_k \nu'_k} \Psi_k^{-1})

with eta' = eta + 1 - d and nu' = nu + 1 - m degrees of freedom. The last component is the one not
yet seen: it has the mass beyond the K sticks and the base prior's predictive, and it is what a
query far from all data falls back to.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import eigh

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.exceptions import InvalidDataError
from ilr_dynamics.regression.families.quadratic_forms import form_coefficients, pairwise_products
from ilr_dynamics.regression.mixture.mixture import MixturePosterior
from ilr_dynamics.regression.prediction.screening import Screening

__all__ = ["PredictiveMixture"]


@dataclass(frozen=True)
class PredictiveMixture:
    """
    The predictive distribution in the form in which it is evaluated, one row a component.

    Attributes
    ----------
    coordinates : (m, m)
        From x to coordinates C x: those first in which centres lie farthest apart.
    log_constants : (K + 1,)
        Log weight of a component at its centre.
    exponents : (K + 1,)
        (nu + 1) / 2.
    roots : (K + 1, m (m + 3) / 2)
        Rows [offset, L] of a triangle: the scaled squared distance is |offset + L C x|^2.
    maps : (K + 1, d, q)
        M.
    widening_coefficients : (K + 1, q (q + 1) / 2)
        u' L^-1 u from the products of u.
    noise_shapes : (K + 1, d, d)
        Phi^-1 / eta'.
    dofs : (K + 1,)
        eta'.
    centres, extents : (K + 1, m)
        Mean and standard deviations of the inputs that a component learned; of the unseen one 0.
    """

    coordinates: FloatArray
    log_constants: FloatArray
    exponents: FloatArray
    roots: FloatArray
    maps: FloatArray
    widening_coefficients: FloatArray
    noise_shapes: FloatArray
    dofs: FloatArray
    centres: FloatArray
    extents: FloatArray

    @classmethod
    def from_components(cls, components: MixturePosterior) -> PredictiveMixture:
        """Evaluate what does not depend on the query; the last component is the unseen one."""
        region, regression = components.region, components.regression
        m = region.dimension
        covariances = region.predictive_covariances()[:-1]
        extents = np.sqrt(np.diagonal(covariances, axis1=1, axis2=2))
        coordinates, back = _discriminating_coordinates(region.mean[:-1], covariances)
        triangles = _lower_triangular(region.predictive_roots()[:, :, :m] @ back)
        offsets = -np.einsum("kij,kj->ki", triangles, region.mean @ coordinates.T)
        roots = np.concatenate([offsets[:, :, None], triangles], axis=2)
        return cls(
            coordinates=coordinates,
            log_constants=components.log_expected_weights + region.predictive_log_constants(),
            exponents=0.5 * (region.dof + 1.0),
            roots=np.ascontiguousarray(roots[:, *np.tril_indices(m, 1, m + 1)]),
            maps=regression.mean,
            widening_coefficients=form_coefficients(regression.slope_covariance),
            noise_shapes=regression.noise_shape(),
            dofs=regression.predictive_dof(),
            centres=np.pad(region.mean[:-1], ((0, 1), (0, 0))),
            extents=np.pad(extents, ((0, 1), (0, 0))),
        )

    def with_unseen(self, noise_shape: FloatArray, dof: float) -> PredictiveMixture:
        """Give the unseen component another Student-t: shape (d, d) and degrees of freedom."""
        return replace(
            self,
            noise_shapes=np.concatenate([self.noise_shapes[:-1], noise_shape[None]]),
            dofs=np.append(self.dofs[:-1], dof),
        )

    def with_spread(self, components: float, unseen: float) -> PredictiveMixture:
        """Scale the standard deviations of the components and of the unseen one."""
        factors = np.full(self.dofs.size, components**2)
        factors[-1] = unseen**2
        return replace(self, noise_shapes=self.noise_shapes * factors[:, None, None])

    @property
    def n_inputs(self) -> int:
        """Length m of an input."""
        return len(self.coordinates)

    @property
    def n_outputs(self) -> int:
        """Length d of an output."""
        return int(self.maps.shape[1])

    @cached_property
    def _unpacked_roots(self) -> FloatArray:
        """Rows [offset, L] (K + 1, m, m + 1), with zeros."""
        m = self.n_inputs
        roots = np.zeros((len(self.roots), m, m + 1))
        roots[:, *np.tril_indices(m, 1, m + 1)] = self.roots
        return roots

    @cached_property
    def screening(self) -> Screening:
        """Arrays that tell which components can matter at an input."""
        return Screening.of_components(
            self.centres[:-1] @ self.coordinates.T,
            self.log_constants[:-1],
            self.exponents[:-1],
            self._unpacked_roots[:-1],
        )

    def covariances(self) -> FloatArray:
        """Covariance (K + 1, d, d) of the outputs where a component is sure of its mean."""
        return self.noise_shapes * (self.dofs / (self.dofs - 2.0))[:, None, None]

    def variances(self) -> FloatArray:
        """Diagonals (K + 1, d) of `covariances`."""
        noise = np.diagonal(self.noise_shapes, axis1=1, axis2=2)
        return noise * (self.dofs / (self.dofs - 2.0))[:, None]

    def distances(self, inputs: FloatArray) -> FloatArray:
        """Scaled squared distance (n, K + 1) of inputs [x, 1] (n, m + 1) to each centre."""
        roots = self._unpacked_roots
        maps = np.concatenate([roots[:, :, 1:] @ self.coordinates, roots[:, :, :1]], axis=2)
        coefficients = form_coefficients(np.swapaxes(maps, 1, 2) @ maps)
        distances = pairwise_products(inputs) @ coefficients.T
        return np.maximum(distances, 0.0, out=distances)


def _discriminating_coordinates(
    centres: FloatArray, covariances: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """
    Coordinates by how far centres lie apart in units of the components' own spread.

    As in linear discriminant analysis: their directions R are generalised eigenvectors, R' W R = 1
    with the mean covariance W.

    Returns
    -------
    C, C^-1 : (m, m)
        R' and W R.

    Raises
    ------
    InvalidDataError
        If centres or covariances are not finite.
    """
    m = centres.shape[1]
    if not len(centres):
        return np.eye(m), np.eye(m)
    within, deviations = covariances.mean(axis=0), centres - centres.mean(axis=0)
    between = deviations.T @ deviations
    if not (np.all(np.isfinite(within)) and np.all(np.isfinite(between))):
        raise InvalidDataError("centres or widths of the model's components are not finite")
    _, directions = eigh(between, within)
    coordinates = np.ascontiguousarray(directions[:, ::-1].T)
    return coordinates, within @ coordinates.T


def _lower_triangular(roots: FloatArray) -> FloatArray:
    """Lower triangular L (K, m, m) with L' L = R' R: a QR decomposition, the last column first."""
    flipped = np.asarray(np.linalg.qr(roots[:, :, ::-1], mode="r"))
    return np.ascontiguousarray(flipped[:, ::-1, ::-1])
