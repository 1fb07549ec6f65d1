# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
Posterior predictive distribution: a mixture of multivariate Student-t densities.

.. math::
    p(y \mid x) = \sum_{k=1}^{K+1} w_k(x)\; T(y \mid M_k u,\ (1 + u^\top L_k^{-1} u)\,
    \Phi_k^{-1} / \tau_k,\ \tau_k), \qquad
    w_k(x) \propto E[\pi_k]\; T(x \mid m_k,\ \tfrac{1 + \kappa_k}{\kappa_k t_k} \Psi_k^{-1},\ t_k)

with tau = eta + 1 - d and t = nu + 1 - m degrees of freedom. The last component is the one not yet
seen: it has the mass beyond the K sticks and the base prior's predictive, and it is what a query
far from all data falls back to.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.regression.families import student_t
from ilr_dynamics.regression.families.linear_algebra import cholesky
from ilr_dynamics.regression.families.quadratic_forms import (
    centres_and_covariances,
    form_coefficients,
    forms,
    pairwise_products,
)
from ilr_dynamics.regression.mixture.mixture import MixturePosterior
from ilr_dynamics.regression.prediction.pruning import PruningBounds

__all__ = ["ComponentPredictions", "PredictiveMixture"]

# Inputs of which all components are evaluated together: bounds the memory of arrays over both.
BLOCK_ROWS = 512


@dataclass(frozen=True)
class ComponentPredictions:
    """
    What each component says about the outputs of n inputs, in standard units.

    Attributes
    ----------
    log_weights : (n, K + 1)
        Log share of each component; the last column is the unseen component's.
    means : (n, K + 1, d)
        Locations.
    factors : (n, K + 1)
        1 + u' L^-1 u, by which the noise is widened.
    added : (n, K, d) or (n, 1, d), optional
        Variance of each output added to that of all components but the unseen one.
    added_to_unseen : (n, d), optional
        The same for the unseen component.
    """

    log_weights: FloatArray
    means: FloatArray
    factors: FloatArray
    added: FloatArray | None = None
    added_to_unseen: FloatArray | None = None

    @cached_property
    def weights(self) -> FloatArray:
        """Share (n, K + 1) of each component; rows sum to one."""
        return np.exp(self.log_weights)

    def of_rows(self, rows: slice) -> ComponentPredictions:
        """Return the predictions at some of the inputs."""
        return ComponentPredictions(
            self.log_weights[rows],
            self.means[rows],
            self.factors[rows],
            None if self.added is None else self.added[rows],
            None if self.added_to_unseen is None else self.added_to_unseen[rows],
        )


@dataclass(frozen=True)
class PredictiveMixture:
    """
    The predictive distribution in the form in which it is evaluated, one row a component.

    Attributes
    ----------
    log_constants : (K + 1,)
        Log weight of a component at its centre.
    exponents : (K + 1,)
        (nu + 1) / 2.
    distance_coefficients : (K + 1, (m + 1) (m + 2) / 2)
        Scaled squared distance to the centre from the products of [x, 1].
    maps : (K + 1, d, q)
        M.
    widening_coefficients : (K + 1, q (q + 1) / 2)
        u' L^-1 u from the products of u.
    noise_shapes : (K + 1, d, d)
        Phi^-1 / tau.
    dofs : (K + 1,)
        tau.
    centres, extents : (K + 1, m)
        Mean and standard deviations of the inputs that a component learned; of the unseen one 0.
    """

    log_constants: FloatArray
    exponents: FloatArray
    distance_coefficients: FloatArray
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
        exponents, coefficients = (
            0.5 * (region.dof + 1.0),
            form_coefficients(region.predictive_forms()),
        )
        centres, covariances = _input_regions(coefficients, exponents)
        extents = np.sqrt(np.diagonal(covariances, axis1=1, axis2=2))
        return cls(
            log_constants=components.log_expected_weights + region.predictive_log_constants(),
            exponents=exponents,
            distance_coefficients=coefficients,
            maps=regression.mean,
            widening_coefficients=form_coefficients(regression.slope_covariance),
            noise_shapes=regression.noise_shape(),
            dofs=regression.predictive_dof(),
            centres=np.pad(centres, ((0, 1), (0, 0))),
            extents=np.pad(extents, ((0, 1), (0, 0))),
        )

    def input_regions(self) -> tuple[FloatArray, FloatArray]:
        """Centres (K, m) and covariances (K, m, m) of the inputs of components with samples."""
        return _input_regions(self.distance_coefficients, self.exponents)

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

    @cached_property
    def n_inputs(self) -> int:
        """Length m of an input."""
        # The inverse of (m + 1) (m + 2) / 2.
        return int(np.sqrt(2.0 * self.distance_coefficients.shape[1])) - 1

    @cached_property
    def pruning(self) -> PruningBounds:
        """Bounds that tell which components can matter at an input."""
        return PruningBounds.from_forms(forms(self.distance_coefficients))

    @property
    def n_outputs(self) -> int:
        """Length d of an output."""
        return int(self.maps.shape[1])

    def variances(self) -> FloatArray:
        """Diagonals (K + 1, d) of `covariances`."""
        noise = np.diagonal(self.noise_shapes, axis1=1, axis2=2)
        return noise * (self.dofs / (self.dofs - 2.0))[:, None]

    def covariances(self, predictions: ComponentPredictions) -> FloatArray:
        """Covariance (n, K + 1, d, d) of each component."""
        certain = self.noise_shapes * (self.dofs / (self.dofs - 2.0))[:, None, None]
        covariances = predictions.factors[:, :, None, None] * certain
        outputs = np.arange(self.n_outputs)
        covariances[:, :, outputs, outputs] += self.added_variances(predictions)
        return covariances

    def added_variances(self, predictions: ComponentPredictions) -> FloatArray:
        """Variance (n, K + 1, d) of each output beyond that of the widened noise."""
        added = np.zeros(predictions.means.shape)
        if predictions.added is not None:
            added[:, :-1] = predictions.added
        if predictions.added_to_unseen is not None:
            added[:, -1] = predictions.added_to_unseen
        return added

    def added_shapes(self, predictions: ComponentPredictions) -> FloatArray:
        """What `added_variances` add to the diagonals (n, K + 1, d) of the shape matrices."""
        # A Student-t without variance is as wide as it is.
        share = np.maximum(self.dofs - 2.0, 0.0) / self.dofs
        return share[:, None] * self.added_variances(predictions)

    def predictions(self, U: FloatArray) -> Iterator[ComponentPredictions]:
        """What all components say of regressors (n, q), a block of rows at a time."""
        for start in range(0, U.shape[0], BLOCK_ROWS):
            yield self.predict(U[start : start + BLOCK_ROWS])

    def predict(self, U: FloatArray) -> ComponentPredictions:
        """What all components say of regressors (n, q)."""
        input_products, products = self.products(U)
        return self.evaluated(U, products, self.log_densities(input_products))

    def distances(self, U: FloatArray) -> FloatArray:
        """Scaled squared distance (n, K + 1) of regressors (n, q) to each centre."""
        input_products, _ = self.products(U)
        return np.maximum(input_products @ self.distance_coefficients.T, 0.0)

    def evaluated(
        self, U: FloatArray, products: FloatArray, log_densities: FloatArray
    ) -> ComponentPredictions:
        """
        As `predict`, of what is known already.

        Parameters
        ----------
        U : (n, q)
            Regressors.
        products : (n, q (q + 1) / 2)
            Of their pairs.
        log_densities : (n, K + 1)
            Log weights, not normalised.
        """
        peak = log_densities.max(axis=1, keepdims=True)
        total = np.exp(log_densities - peak).sum(axis=1, keepdims=True)
        # One flat product: einsum would look for this order anew each time.
        means = U @ self.maps.reshape(-1, U.shape[1]).T
        return ComponentPredictions(
            log_weights=log_densities - (peak + np.log(total)),
            means=means.reshape(len(U), -1, self.n_outputs),
            factors=1.0 + products @ self.widening_coefficients.T,
        )

    def log_densities(
        self, input_products: FloatArray, chosen: IndexArray | None = None
    ) -> FloatArray:
        """Log weight (n, c) of the chosen components, or of all, not normalised."""
        coefficients, exponents, constants = (
            array if chosen is None else array.take(chosen, axis=0)
            for array in (self.distance_coefficients, self.exponents, self.log_constants)
        )
        distances = input_products @ coefficients.T
        np.maximum(distances, 0.0, out=distances)
        log_densities = np.log1p(distances, out=distances)
        log_densities *= -exponents
        log_densities += constants
        return log_densities

    def part(self, chosen: IndexArray) -> PredictiveMixture:
        """Keep some of the components, of which distances are known: no row of these."""
        kept = {field.name: getattr(self, field.name) for field in fields(self)}
        coefficients = kept.pop("distance_coefficients")
        parts = {name: array.take(chosen, axis=0) for name, array in kept.items()}
        return PredictiveMixture(distance_coefficients=coefficients[:0], **parts)

    def _inputs_with_one(self, U: FloatArray) -> FloatArray:
        """Inputs [x, 1] (n, m + 1) of regressors (n, q), which hold features besides."""
        if U.shape[1] == self.n_inputs + 1:
            return U
        return np.delete(U, np.s_[self.n_inputs : -1], axis=1)

    def coordinates(self, U: FloatArray) -> FloatArray:
        """What the pruning looks at, (n, s + 1), of regressors (n, q)."""
        return self._inputs_with_one(U) @ self.pruning.projection.T

    def products(self, U: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Products of inputs [x, 1] and of regressors (n, q): the same without features."""
        input_products = pairwise_products(self._inputs_with_one(U))
        has_features = U.shape[1] > self.n_inputs + 1
        return input_products, pairwise_products(U) if has_features else input_products

    def log_output_densities(self, predictions: ComponentPredictions, Y: FloatArray) -> FloatArray:
        """Log Student-t density (n, K + 1) of standardised outputs (n, d) under each component."""
        if predictions.added is None and predictions.added_to_unseen is None:
            constants = student_t.log_constants(cholesky(self.noise_shapes), self.dofs)
            distances = self.output_distances(predictions, Y)
            return student_t.log_densities(
                constants, self.dofs, self.n_outputs, predictions.factors, distances
            )
        return np.stack([self._log_densities_of_row(predictions, Y, row) for row in range(len(Y))])

    def _log_densities_of_row(
        self, predictions: ComponentPredictions, Y: FloatArray, row: int
    ) -> FloatArray:
        """Log density (K + 1,) of one of the outputs, where each input has a noise of its own."""
        here = predictions.of_rows(slice(row, row + 1))
        shapes = here.factors[0][:, None, None] * self.noise_shapes
        outputs = np.arange(self.n_outputs)
        shapes[:, outputs, outputs] += self.added_shapes(here)[0]
        widened, one = cholesky(shapes), np.ones_like(here.factors)
        whitened = np.linalg.solve(widened, (Y[row] - here.means[0])[:, :, None])
        distances = np.sum(whitened[:, :, 0] ** 2, axis=1)[None]
        constants = student_t.log_constants(widened, self.dofs)
        return student_t.log_densities(constants, self.dofs, self.n_outputs, one, distances)[0]

    def output_distances(self, predictions: ComponentPredictions, Y: FloatArray) -> FloatArray:
        """Squared distance (n, K + 1) of standardised outputs (n, d) in units of the shape."""
        residuals = np.moveaxis(Y[:, None, :] - predictions.means, 0, 2)
        whitened = np.linalg.solve(cholesky(self.noise_shapes), residuals)
        return np.asarray(np.sum(whitened**2, axis=1).T / predictions.factors)


def _input_regions(
    distance_coefficients: FloatArray, exponents: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Centres (K, m) and covariances (K, m, m) of the inputs, the last component left out."""
    centres, covariances = centres_and_covariances(forms(distance_coefficients[:-1]))
    # Of the Student-t with 1 + x' A x in its density; none up to two degrees of freedom.
    dofs = 2.0 * exponents[:-1] - centres.shape[1]
    return centres, covariances / np.maximum(dofs - 2.0, 1.0)[:, None, None]
