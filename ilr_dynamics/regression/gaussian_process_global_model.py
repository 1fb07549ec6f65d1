# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
A Gaussian process as a global model: smooth, and back to a straight line far from all samples.

With a correlation rho (`kernel_search`) and some inputs Z that stand for all,

.. math::
    y \approx W \phi(x) + V [x, 1] + \varepsilon, \qquad
    \phi(x) = L^{-1} \rho(Z, x), \qquad L L^\top = \rho(Z, Z)

is a linear model of the features phi, of which sums over the samples tell all. What the features
leave of the process, l(x) = 1 - phi' phi of its variance, looks like noise at the samples: the
noise is as large as lambda and the mean of l there. Elsewhere the spread has l(x) instead of that
mean: far from all samples it is that of the prior, as with FITC (Quinonero-Candela and Rasmussen,
2005), whose weights would trust some samples a hundred times as much as others.

What a query costs is the spread, a quadratic form of the features; the mean is linear in them. So
the mean has all features and the spread the first `N_OF_SPREAD`, with l(x) what these leave: those
of a model of so many inducing inputs, which are chosen in the order in which they describe most.
What later samples add beyond these is in the mean alone: the spread there stays that of the prior.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from scipy.linalg import solve_triangular

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.blas_threads import one_blas_thread
from ilr_dynamics.exceptions import InvalidParameterError, NotFittedError
from ilr_dynamics.regression.families.linear_algebra import cholesky, inverse_from_cholesky
from ilr_dynamics.regression.linear_global_model import BLOCK_ROWS, LinearGlobalModel
from ilr_dynamics.regression.shared.global_model import GlobalPrediction
from ilr_dynamics.regression.shared.kernel_search import Kernel, most_probable_kernel
from ilr_dynamics.regression.shared.matern import correlation
from ilr_dynamics.regression.shared.validation import check_integer

__all__ = ["GaussianProcessGlobalModel"]

# Samples of the search for lengths, which takes time with the third power.
N_SEARCHED = 1000
# Samples of each call among which inducing inputs are chosen.
N_CANDIDATES = 2000
# An input is not added if this share of the noise is all that the others leave of the process
# there: the samples could not tell.
LEAST_LEFT = 0.1
# Inducing inputs of which the spread is made, at most: with 1,000 in all a query takes 1.3 times
# as long as with 500, or 2.2 times if all have part in the spread.
N_OF_SPREAD = 500
# Inducing inputs that fit into a machine: their covariance has 8 bytes for each pair.
MOST_INDUCING = 20_000


@dataclass(frozen=True, eq=False)
class GaussianProcessGlobalModel(LinearGlobalModel):
    """
    Sparse Gaussian process of all outputs on inducing inputs, with a length for each input.

    The first samples choose the lengths and, as long as there are not enough, all samples add
    inducing inputs where the process is not yet described.

    Parameters
    ----------
    max_inducing
        Number of inducing inputs at most: the more, the finer, and the slower a query.
    inputs, outputs, scatter
        As `LinearGlobalModel`, with regressors [phi, x, 1].
    kernel
        Covariance, in standard units; its noise holds what the features leave of the process.
    left
        How much those of the spread leave at the samples, a share of the process's variance.
    inducing : (k, m)
        Inducing inputs Z, in standard units.
    """

    max_inducing: int = 1000
    kernel: Kernel | None = None
    inducing: FloatArray | None = None
    left: float = 0.0

    name = "gaussian process"
    # Straight lines are a worse description than the process, however many there are of them.
    learns_residual = True

    def __post_init__(self) -> None:
        """Check the number; InvalidParameterError."""
        check_integer(self.max_inducing, "max_inducing", 1)
        if self.max_inducing > MOST_INDUCING:
            raise InvalidParameterError(
                f"max_inducing must be at most {MOST_INDUCING}, got {self.max_inducing}"
            )

    def updated(self, X: FloatArray, Y: FloatArray, weights: FloatArray) -> Self:
        """Return what is known after further samples."""
        with one_blas_thread:
            known = self.scaled_to(X, Y, weights)
            assert known.inputs is not None and known.outputs is not None
            rows = np.flatnonzero(weights > 0.0)
            if known.kernel is None:
                chosen = _some(rows, N_SEARCHED)
                kernel = most_probable_kernel(
                    known.inputs.transform(X[chosen]), known.outputs.transform(Y[chosen])
                )
                known = replace(known, kernel=kernel)
            assert known.inputs is not None
            points = known.inputs.transform(X[_some(rows, N_CANDIDATES)])
            is_first = known.inducing is None
            known = known._with_inducing(points)
            if is_first:
                known = known._with_noise_of(points)
            return known.with_sums(X, Y, weights)

    def discounted(self, factor: float) -> Self:
        """Return what is left if earlier samples weigh `factor` as much."""
        if factor == 0.0 or self.scatter is None:
            return type(self)(max_inducing=self.max_inducing)
        return super().discounted(factor)

    def predict(self, X: FloatArray) -> GlobalPrediction:
        """Predict at inputs X (n, m), in physical units; NotFittedError before any samples."""
        parts = [self._predict(X[rows]) for rows in _blocks(len(X))]
        return GlobalPrediction(
            np.concatenate([mean for mean, _ in parts]),
            np.concatenate([factor for _, factor in parts]),
        )

    def expected(self, X: FloatArray) -> FloatArray:
        """Mean (n, d) of the prediction at inputs X (n, m)."""
        return np.concatenate([self._mean(self._points(X[rows])) for rows in _blocks(len(X))])

    def arrays(self) -> dict[str, FloatArray]:
        """Scalings, sums, kernel and inducing inputs."""
        settings = {"max_inducing": np.array(float(self.max_inducing))}
        if self.kernel is None or self.inducing is None:
            return settings
        return {
            **settings,
            **super().arrays(),
            "lengths": self.kernel.lengths,
            "shares": np.array([self.kernel.noise, self.kernel.linear, self.left]),
            "inducing": self.inducing,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, FloatArray]) -> Self:
        """From `arrays`; ValueError if they do not fit together."""
        limit = np.asarray(arrays["max_inducing"])
        if limit.shape != () or not 1.0 <= limit <= MOST_INDUCING or limit % 1.0 != 0.0:
            raise ValueError(
                f"max_inducing must be a number from 1 to {MOST_INDUCING}, got {limit}"
            )
        if "inducing" not in arrays:
            return cls(max_inducing=int(limit))
        inducing, lengths, shares = (arrays[name] for name in ("inducing", "lengths", "shares"))
        m = len(arrays["input_location"])
        if inducing.ndim != 2 or inducing.shape[1] != m or not np.all(np.isfinite(inducing)):
            raise ValueError(f"inducing inputs must be finite, of shape (k, {m})")
        for name, values, shape in (("lengths", lengths, (m,)), ("shares", shares, (3,))):
            positive = values[:2] if name == "shares" else values
            sound = np.all((values >= 0.0) & np.isfinite(values)) and np.all(positive > 0.0)
            if values.shape != shape or not sound:
                raise ValueError(f"{name} of a Gaussian process must be positive, {shape}")
        kernel = Kernel(np.asarray(lengths), float(shares[0]), float(shares[1]))
        linear = cls._with_sums_of(arrays, len(inducing))
        return replace(
            linear,
            max_inducing=int(limit),
            kernel=kernel,
            inducing=np.asarray(inducing),
            left=float(shares[2]),
        )

    def _regressors(self, X: FloatArray) -> FloatArray:
        points = self._points(X)
        k = 0 if self.inducing is None else len(self.inducing)
        features = solve_triangular(self._factor, points[:, :k].T, lower=True, check_finite=False)
        return np.concatenate([features.T, points[:, k:]], axis=1)

    def _column_precision(self, n_regressors: int) -> FloatArray:
        assert self.kernel is not None and self.inducing is not None
        precision = np.full(n_regressors, self.kernel.noise)
        precision[len(self.inducing) :] /= self.kernel.linear
        return precision

    def _points(self, X: FloatArray) -> FloatArray:
        """Correlations with the inducing inputs and standardised inputs [rho, x, 1] (n, p)."""
        if self.kernel is None or self.inducing is None:
            raise NotFittedError("the Gaussian process has seen no samples; expected some first")
        linear = super()._regressors(X)
        lengths = self.kernel.lengths
        rho = correlation(linear[:, :-1] / lengths, self.inducing / lengths)
        return np.concatenate([rho, linear], axis=1)

    def _predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean (n, d) and factor (n,) of one block of inputs."""
        points = self._points(X)
        few = points[:, self._of_spread]
        spread = np.einsum("np,np->n", few @ self._spread_form, few)
        assert self.kernel is not None
        factor = 1.0 + (1.0 - self.left) / self.kernel.noise + spread
        # Where the features leave less than on the whole, the noise that was found is still there:
        # it is one for all inputs, and the fit does not pass through the inducing ones.
        return self._mean(points), np.maximum(factor, 1.0)

    def _mean(self, points: FloatArray) -> FloatArray:
        assert self.outputs is not None
        return self.outputs.inverse_transform(points @ self._mean_map)

    def _with_inducing(self, candidates: FloatArray) -> Self:
        """Add inducing inputs out of candidates (n, m), in standard units."""
        assert self.kernel is not None
        m = candidates.shape[1]
        known = np.zeros((0, m)) if self.inducing is None else self.inducing
        lengths = self.kernel.lengths
        added = _pivots(
            known / lengths,
            candidates / lengths,
            self.max_inducing - len(known),
            LEAST_LEFT * self.kernel.noise,
        )
        scatter = self.scatter
        if scatter is not None:
            # Where these inputs are new, the features that they add were all but 0 of samples so
            # far: they describe what those before them leave.
            scatter = np.insert(scatter, [len(known)] * len(added), 0.0, axis=0)
            scatter = np.insert(scatter, [len(known)] * len(added), 0.0, axis=1)
        return replace(self, inducing=np.concatenate([known, candidates[added]]), scatter=scatter)

    def _with_noise_of(self, points: FloatArray) -> Self:
        """Count what the features leave of the process at points (n, m) as noise."""
        assert self.kernel is not None and self.inducing is not None
        lengths = self.kernel.lengths
        rho = correlation(self.inducing / lengths, points / lengths)
        features = solve_triangular(self._factor, rho, lower=True)
        by_all, by_those_of_spread = (
            float(np.mean(np.maximum(1.0 - np.sum(some**2, axis=0), 0.0)))
            for some in (features, features[:N_OF_SPREAD])
        )
        kernel = replace(self.kernel, noise=self.kernel.noise + by_all)
        return replace(self, kernel=kernel, left=by_those_of_spread)

    @cached_property
    def _factor(self) -> FloatArray:
        """L (k, k)."""
        assert self.kernel is not None and self.inducing is not None
        scaled = self.inducing / self.kernel.lengths
        return np.asarray(np.linalg.cholesky(correlation(scaled, scaled)))

    @cached_property
    def _mean_map(self) -> FloatArray:
        """Maps [rho, x, 1] to the mean (p, d)."""
        k, slopes = len(self._factor), self._posterior.mean[0].T
        of_rho = solve_triangular(self._factor, slopes[:k], lower=True, trans="T")
        return np.concatenate([of_rho, slopes[k:]])

    @cached_property
    def _of_spread(self) -> IndexArray:
        """Which (r,) of [phi, x, 1] the spread is made of."""
        k, p = len(self._factor), self._posterior.n_regressors
        return np.concatenate([np.arange(min(k, N_OF_SPREAD)), np.arange(k, p)])

    @cached_property
    def _spread_form(self) -> FloatArray:
        """Form (r, r) of [rho, x, 1]: phi' phi less than the prior, and what samples leave."""
        assert self.kernel is not None
        rows = self._of_spread
        precision = self._posterior.column_precision[:, rows[:, None], rows]
        form = inverse_from_cholesky(cholesky(precision))[0]
        factor = self._factor[:N_OF_SPREAD, :N_OF_SPREAD]
        k = len(factor)
        form[np.arange(k), np.arange(k)] -= 1.0 / self.kernel.noise
        inverse = np.eye(len(rows))
        inverse[:k, :k] = solve_triangular(factor, np.eye(k), lower=True)
        return inverse.T @ form @ inverse


def _pivots(known: FloatArray, candidates: FloatArray, n: int, least_left: float) -> list[int]:
    """
    Choose at most n of the candidates (c, m), in units of the lengths, by pivoted Cholesky.

    Each is the one of which those before it, and the known ones (k, m), leave most, as long as
    that is more than `least_left` of the process.
    """
    left = np.ones(len(candidates))
    rows = np.zeros((0, len(candidates)))
    if len(known):
        factor = np.linalg.cholesky(correlation(known, known))
        rows = solve_triangular(factor, correlation(known, candidates), lower=True)
        left -= np.sum(rows**2, axis=0)
    n_known, n = len(rows), max(0, min(n, len(candidates)))
    rows = np.concatenate([rows, np.zeros((n, len(candidates)))])
    chosen: list[int] = []
    for row in range(n_known, n_known + n):
        pivot = int(np.argmax(left))
        if left[pivot] <= least_left:
            break
        rho = correlation(candidates[pivot : pivot + 1], candidates)[0]
        rows[row] = (rho - rows[:row, pivot] @ rows[:row]) / np.sqrt(left[pivot])
        left -= rows[row] ** 2
        chosen.append(pivot)
    return chosen


def _some(rows: IndexArray, n: int) -> IndexArray:
    """At most n of the rows, drawn alike in each run, lest the choice keep step with a motion."""
    if len(rows) <= n:
        return rows
    return np.sort(np.random.default_rng(0).choice(rows, n, replace=False))


def _blocks(n_rows: int) -> list[slice]:
    return [slice(start, start + BLOCK_ROWS) for start in range(0, max(n_rows, 1), BLOCK_ROWS)]
