# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
The methods that the local linear mixture is compared with, all behind one interface.

Every one is made of a published library (scikit-learn, GPyTorch) as a user of that library would
make it; what the library lacks is written out here. Sizes are such that 12,000 samples of 21
inputs and 7 outputs are fitted within about 90 s on one thread. How many threads there are is for
the caller to say, through OMP_NUM_THREADS and OPENBLAS_NUM_THREADS.

Whatever is tuned is tuned on samples given to `fit`, so on no test sample. `predict_one` leaves
out the checks of input that a library makes at each call: its time is that of the method.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.optimize import minimize
from scipy.spatial import KDTree
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel, WhiteKernel
from sklearn.mixture import BayesianGaussianMixture
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor

__all__ = [
    "PEERS",
    "GaussianMixtureRegression",
    "GaussianProcess",
    "GeneralisedProductOfExperts",
    "Linear",
    "NearestNeighbours",
    "NeuralNetwork",
    "Peer",
    "RobustBCM",
    "SparseSpectrumGP",
    "SparseVariationalGP",
    "WithKernels",
    "optimised_kernels",
]

Array = NDArray[np.float64]

# Points on which the hyperparameters of the Gaussian processes are optimised, and for how long:
# an iteration costs the cube of the first and is needed once per output.
KERNEL_POINTS = 500
KERNEL_ITERATIONS = 40
# Rows predicted at once where a row takes as much memory as a whole expert or component.
CHUNK = 1000


@dataclass(frozen=True)
class Standardisation:
    """
    Mean and standard deviation of each column, one where a column is constant.

    Parameters
    ----------
    mean, std : (d,)
    """

    mean: Array
    std: Array

    @classmethod
    def of(cls, A: Array) -> Standardisation:
        """Of the columns of `A`, (n, d)."""
        std = A.std(axis=0)
        return cls(A.mean(axis=0), np.where(std > 0.0, std, 1.0))

    def apply(self, A: Array) -> Array:
        """Without unit; `A` is (n, d) or (d,)."""
        return (A - self.mean) / self.std

    def undo(self, A: Array) -> Array:
        """In the units of the data; `A` is (n, d) or (d,)."""
        return A * self.std + self.mean


class Peer(ABC):
    """
    A regression method with n inputs and d outputs.

    Parameters
    ----------
    random_state
        Seed of everything that is drawn.

    Attributes
    ----------
    name
        As in the tables.
    n_experts
        Number of local or partial models after `fit`; None if the method has none.
    unavailable
        Why the method can't be used here; empty if it can.
    """

    name: str
    n_experts: int | None = None
    unavailable: str = ""

    def __init__(self, random_state: int = 0) -> None:
        self.random_state = random_state

    @classmethod
    def available(cls) -> bool:
        """Whether what the method needs is installed; if not, `unavailable` says why."""
        return not cls.unavailable

    def fit(self, X: Array, Y: Array) -> Peer:
        """Learn from inputs (n, m) and outputs (n, d)."""
        self.inputs = Standardisation.of(X)
        self.outputs = Standardisation.of(Y)
        self._fit(self.inputs.apply(X), self.outputs.apply(Y))
        return self

    def predict(self, X: Array) -> tuple[Array, Array | None]:
        """
        Mean and standard deviation of the outputs, noise included.

        Parameters
        ----------
        X : (n, m)

        Returns
        -------
        mean : (n, d)
        std : (n, d) or None
            None if the method has no opinion on how wrong it is.
        """
        mean, std = self._predict(self.inputs.apply(X))
        return self.outputs.undo(mean), None if std is None else std * self.outputs.std

    def predict_one(self, x: Array) -> Array:
        """Mean (d,) at one input (m,), as directly as the method allows."""
        return self.outputs.undo(self._mean_at(self.inputs.apply(x)))

    @abstractmethod
    def _fit(self, X: Array, Y: Array) -> None:
        """Learn from standardised samples."""

    @abstractmethod
    def _predict(self, X: Array) -> tuple[Array, Array | None]:
        """Standardised mean and standard deviation at standardised inputs."""

    @abstractmethod
    def _mean_at(self, x: Array) -> Array:
        """Standardised mean (d,) at one standardised input (m,)."""


class Linear(Peer):
    """Least squares with an intercept; the interval is the classical one of a new observation."""

    name = "linear"

    def _fit(self, X: Array, Y: Array) -> None:
        A = np.column_stack([X, np.ones(len(X))])
        self.coefficients, _, rank, _ = np.linalg.lstsq(A, Y, rcond=None)
        residual = Y - A @ self.coefficients
        self.noise_std = np.sqrt((residual**2).sum(axis=0) / max(len(A) - rank, 1))
        self.inverse_gram = np.linalg.pinv(A.T @ A, hermitian=True)

    def _predict(self, X: Array) -> tuple[Array, Array]:
        A = np.column_stack([X, np.ones(len(X))])
        leverage = np.einsum("ni,ij,nj->n", A, self.inverse_gram, A, optimize=True)
        return A @ self.coefficients, np.sqrt(1.0 + leverage)[:, None] * self.noise_std

    def _mean_at(self, x: Array) -> Array:
        return x @ self.coefficients[:-1] + self.coefficients[-1]


class NearestNeighbours(Peer):
    """
    Mean of the five nearest samples, distances in standardised inputs.

    Weighted by inverse distance: equal weights are worse by two thirds where neighbours in time
    are among the samples, and no better elsewhere.
    """

    name = "nearest_neighbours"
    n_neighbours = 5

    def _fit(self, X: Array, Y: Array) -> None:
        self.regressor = KNeighborsRegressor(self.n_neighbours, weights="distance").fit(X, Y)
        # A tenth of the time of the regressor's own search, for a single query.
        self.tree = KDTree(X)
        self.targets = Y

    def _predict(self, X: Array) -> tuple[Array, None]:
        return self.regressor.predict(X), None

    def _mean_at(self, x: Array) -> Array:
        distances, nearest = self.tree.query(x, self.n_neighbours)
        # A sample that is met exactly is the answer.
        weights = 1.0 / np.maximum(distances, 1e-12)
        return weights @ self.targets[nearest] / weights.sum()


def optimised_kernels(X: Array, Y: Array, random_state: int = 0) -> list[Kernel]:
    """
    A kernel for each output, its hyperparameters those of the highest marginal likelihood.

    Squared exponential with a length scale for each input, and white noise. Of a random subset of
    500 points, in at most 40 iterations per output: about a minute for 21 inputs and 7 outputs.

    Parameters
    ----------
    X : (n, m)
    Y : (n, d)
    random_state
        Seed of the subset.

    Returns
    -------
    kernels
        For standardised inputs and outputs, as `Peer.fit` makes them.
    """
    X, Y = Standardisation.of(X).apply(X), Standardisation.of(Y).apply(Y)
    chosen = _subset(len(X), KERNEL_POINTS, random_state)
    start: Kernel = ConstantKernel(1.0, (1e-2, 1e3)) * RBF(
        np.full(X.shape[1], np.sqrt(X.shape[1])), (1e-1, 1e3)
    ) + WhiteKernel(1e-1, (1e-6, 1.0))
    kernels = []
    for y in Y[chosen].T:
        process = GaussianProcessRegressor(start, optimizer=_few_iterations)
        with warnings.catch_warnings():
            # Of a length scale at its bound: the input doesn't matter for this output.
            warnings.simplefilter("ignore", ConvergenceWarning)
            kernels.append(process.fit(X[chosen], y).kernel_)
    return kernels


def _few_iterations(objective: Any, start: Array, bounds: Array) -> tuple[Array, float]:
    """An optimiser for scikit-learn that stops when the time is better spent elsewhere."""
    result = minimize(
        objective,
        start,
        method="L-BFGS-B",
        jac=True,
        bounds=bounds,
        options={"maxiter": KERNEL_ITERATIONS},
    )
    return result.x, result.fun


def _subset(n: int, size: int, random_state: int) -> NDArray[np.int64]:
    return np.random.default_rng(random_state).permutation(n)[:size]


class _Covariances:
    """
    Covariance of one input with m points, for several squared-exponential kernels at a time.

    Parameters
    ----------
    points : (m, i)
    variances : (d,)
    length_scales : (d, i)
    """

    def __init__(self, points: Array, variances: Array, length_scales: Array) -> None:
        self.length_scales = length_scales
        self.scaled = points[None] / length_scales[:, None]
        self.constant = np.log(variances)[:, None] - 0.5 * (self.scaled**2).sum(axis=2)

    @classmethod
    def of(cls, points: Array, kernels: Sequence[Kernel]) -> _Covariances:
        signals = [kernel.k1 for kernel in kernels]
        return cls(
            points,
            np.array([signal.k1.constant_value for signal in signals]),
            np.array([signal.k2.length_scale for signal in signals]),
        )

    def __call__(self, x: Array) -> Array:
        """(d, m) of one input (i,)."""
        scaled = x / self.length_scales
        exponent = (self.scaled @ scaled[:, :, None])[:, :, 0]
        exponent += self.constant
        exponent -= 0.5 * (scaled**2).sum(axis=1)[:, None]
        return np.exp(exponent, out=exponent)


class WithKernels(Peer):
    """
    A method made of Gaussian processes.

    Parameters
    ----------
    random_state
    kernels
        Of `optimised_kernels` for the same samples, to do that once for several methods; None:
        optimised in `fit`.
    """

    def __init__(self, random_state: int = 0, kernels: Sequence[Kernel] | None = None) -> None:
        super().__init__(random_state)
        self.kernels = kernels

    def _fit(self, X: Array, Y: Array) -> None:
        kernels = self.kernels
        if kernels is None:
            kernels = optimised_kernels(X, Y, self.random_state)
        self._condition(X, Y, kernels)

    @abstractmethod
    def _condition(self, X: Array, Y: Array, kernels: Sequence[Kernel]) -> None:
        """Learn with these kernels."""


def _processes(X: Array, Y: Array, kernels: Sequence[Kernel]) -> list[GaussianProcessRegressor]:
    """One for each output, with hyperparameters as they are."""
    return [
        GaussianProcessRegressor(kernel, optimizer=None).fit(X, y)
        for kernel, y in zip(kernels, Y.T, strict=True)
    ]


class GaussianProcess(WithKernels):
    """
    Gaussian process regression on a random subset of 1,500 points, a process for each output.

    Kernels as in `optimised_kernels`.
    """

    name = "gaussian_process"
    n_points = 1500

    def _condition(self, X: Array, Y: Array, kernels: Sequence[Kernel]) -> None:
        chosen = _subset(len(X), self.n_points, self.random_state)
        self.processes = _processes(X[chosen], Y[chosen], kernels)
        self.covariances = _Covariances.of(X[chosen], kernels)
        self.weights = np.array([process.alpha_ for process in self.processes])

    def _predict(self, X: Array) -> tuple[Array, Array]:
        predictions = [process.predict(X, return_std=True) for process in self.processes]
        mean, std = (np.column_stack(columns) for columns in zip(*predictions, strict=True))
        return mean, std

    def _mean_at(self, x: Array) -> Array:
        return np.einsum("dm,dm->d", self.covariances(x), self.weights)


class _Committee(WithKernels):
    """
    Gaussian processes of 1,000 random samples each, whose predictions are combined.

    All experts share the kernels of `optimised_kernels`. What is combined are predictions of the
    function; the noise, which they share too, is added afterwards.
    """

    samples_per_expert = 1000

    def _condition(self, X: Array, Y: Array, kernels: Sequence[Kernel]) -> None:
        self.n_experts = max(1, round(len(X) / self.samples_per_expert))
        order = np.random.default_rng(self.random_state).permutation(len(X))
        chunks = np.array_split(order, self.n_experts)
        self.experts = [_processes(X[chunk], Y[chunk], kernels) for chunk in chunks]
        self.covariances = [_Covariances.of(X[chunk], kernels) for chunk in chunks]
        self.prior_variance = np.array([kernel.k1.k1.constant_value for kernel in kernels])
        self.noise_variance = np.array([kernel.k2.noise_level for kernel in kernels])

    @abstractmethod
    def _combine(self, means: Array, variances: Array) -> tuple[Array, Array]:
        """Mean and variance (..., d) of the function from those of the experts, (k, ..., d)."""

    def _predict(self, X: Array) -> tuple[Array, Array]:
        parts = [self._predict_chunk(X[i : i + CHUNK]) for i in range(0, len(X), CHUNK)]
        mean, variance = (np.concatenate(part) for part in zip(*parts, strict=True))
        return mean, np.sqrt(variance + self.noise_variance)

    def _predict_chunk(self, X: Array) -> tuple[Array, Array]:
        means = np.empty((len(self.experts), len(X), len(self.noise_variance)))
        variances = np.empty_like(means)
        for k, processes in enumerate(self.experts):
            for j, process in enumerate(processes):
                means[k, :, j], std = process.predict(X, return_std=True)
                variances[k, :, j] = std**2 - self.noise_variance[j]
        return self._combine(means, self._bounded(variances))

    def _mean_at(self, x: Array) -> Array:
        means = np.empty((len(self.experts), len(self.noise_variance)))
        variances = np.empty_like(means)
        for k, (processes, covariances) in enumerate(
            zip(self.experts, self.covariances, strict=True)
        ):
            for j, (process, row) in enumerate(zip(processes, covariances(x), strict=True)):
                whitened = solve_triangular(process.L_, row, lower=True, check_finite=False)
                means[k, j] = row @ process.alpha_
                variances[k, j] = self.prior_variance[j] - whitened @ whitened
        return self._combine(means, self._bounded(variances))[0]

    def _bounded(self, variances: Array) -> Array:
        # Differences of nearly equal numbers; nothing is known better than to rounding errors.
        return np.clip(variances, 1e-9 * self.prior_variance, self.prior_variance)


class GeneralisedProductOfExperts(_Committee):
    r"""
    The generalised product of experts (Cao and Fleet, 2014).

    .. math::

        \sigma^{-2}(x) = \sum_k \beta_k(x) \sigma_k^{-2}(x), \qquad
        \mu(x) = \sigma^2(x) \sum_k \beta_k(x) \sigma_k^{-2}(x) \mu_k(x)

    with weights in proportion to what an expert has learnt about x, the difference in differential
    entropy between prior and posterior
    :math:`\frac{1}{2} (\log \sigma_{**}^2 - \log \sigma_k^2(x))`, and
    :math:`\sum_k \beta_k(x) = 1`, so that far from all samples the prior is left.

    Experts have 1,000 samples each; kernels as in `optimised_kernels`.
    """

    name = "gpoe"

    def _combine(self, means: Array, variances: Array) -> tuple[Array, Array]:
        weights = _learnt_entropy(variances, self.prior_variance)
        # Experts that all know nothing count the same.
        weights = weights + 1e-12
        weights /= weights.sum(axis=0)
        precision = (weights / variances).sum(axis=0)
        return (weights * means / variances).sum(axis=0) / precision, 1.0 / precision


class RobustBCM(_Committee):
    r"""
    The robust Bayesian committee machine (Deisenroth and Ng, 2015).

    .. math::

        \sigma^{-2}(x) = \sum_k \beta_k(x) \sigma_k^{-2}(x)
            + \Bigl(1 - \sum_k \beta_k(x)\Bigr) \sigma_{**}^{-2}, \qquad
        \mu(x) = \sigma^2(x) \sum_k \beta_k(x) \sigma_k^{-2}(x) \mu_k(x)

    with :math:`\beta_k(x) = \frac{1}{2} (\log \sigma_{**}^2 - \log \sigma_k^2(x))`, the difference
    in differential entropy between the prior and the posterior of expert k.

    Experts have 1,000 samples each; kernels as in `optimised_kernels`.
    """

    name = "rbcm"

    def _combine(self, means: Array, variances: Array) -> tuple[Array, Array]:
        weights = _learnt_entropy(variances, self.prior_variance)
        precision = (weights / variances).sum(axis=0)
        precision += (1.0 - weights.sum(axis=0)) / self.prior_variance
        return (weights * means / variances).sum(axis=0) / precision, 1.0 / precision


def _learnt_entropy(variances: Array, prior_variance: Array) -> Array:
    return 0.5 * (np.log(prior_variance) - np.log(variances))


class NeuralNetwork(Peer):
    """
    Two hidden layers of 128 rectified units, for all outputs together.

    Adam, at most 200 passes; stopped early by a random tenth of the samples.
    """

    name = "neural_network"

    def _fit(self, X: Array, Y: Array) -> None:
        network = MLPRegressor(
            hidden_layer_sizes=(128, 128), early_stopping=True, random_state=self.random_state
        )
        with warnings.catch_warnings():
            # Of the last pass being reached before the early stop.
            warnings.simplefilter("ignore", ConvergenceWarning)
            # A single output has to be given as a vector, and is returned as one.
            self.network = network.fit(X, Y[:, 0] if Y.shape[1] == 1 else Y)

    def _predict(self, X: Array) -> tuple[Array, None]:
        return self.network.predict(X).reshape(len(X), -1), None

    def _mean_at(self, x: Array) -> Array:
        *hidden, last = zip(self.network.coefs_, self.network.intercepts_, strict=True)
        for weights, bias in hidden:
            x = np.maximum(x @ weights + bias, 0.0)
        return x @ last[0] + last[1]


class GaussianMixtureRegression(Peer):
    r"""
    A variational Gaussian mixture over inputs and outputs together, conditioned on the inputs.

    With :math:`w_k(x) \propto \pi_k N(x; \mu_k^x, \Sigma_k^{xx})` and each component's

    .. math::

        m_k(x) = \mu_k^y + \Sigma_k^{yx} (\Sigma_k^{xx})^{-1} (x - \mu_k^x), \qquad
        C_k = \Sigma_k^{yy} - \Sigma_k^{yx} (\Sigma_k^{xx})^{-1} \Sigma_k^{xy},

    mean and variance of the conditional mixture are

    .. math::

        m(x) = \sum_k w_k(x) m_k(x), \qquad
        v(x) = \sum_k w_k(x) (\mathrm{diag}\, C_k + m_k(x)^2) - m(x)^2.

    100 components with full covariances under a Dirichlet process, at most 100 iterations.
    `n_experts` counts those that hold at least one sample.
    """

    name = "gaussian_mixture_regression"
    n_components = 100

    def _fit(self, X: Array, Y: Array) -> None:
        n, m = X.shape
        mixture = BayesianGaussianMixture(
            n_components=min(self.n_components, n),
            covariance_type="full",
            max_iter=100,
            random_state=self.random_state,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            mixture.fit(np.hstack([X, Y]))
        held = mixture.weights_ * n >= 1.0
        self.n_experts = int(held.sum())
        centres, covariances = mixture.means_[held], mixture.covariances_[held]
        factors = np.linalg.cholesky(covariances[:, :m, :m])
        # log w_k(x) is a constant minus half the squared length of whitening @ x - centre.
        self.whitening = np.linalg.inv(factors)
        self.whitened_centres = np.einsum("kij,kj->ki", self.whitening, centres[:, :m])
        self.log_weights = np.log(mixture.weights_[held]) - np.log(
            np.diagonal(factors, axis1=1, axis2=2)
        ).sum(axis=1)
        self.slopes = np.linalg.solve(covariances[:, :m, :m], covariances[:, :m, m:])
        self.intercepts = centres[:, m:] - np.einsum("ki,kid->kd", centres[:, :m], self.slopes)
        explained = np.einsum("kid,kid->kd", covariances[:, :m, m:], self.slopes)
        self.variances = np.diagonal(covariances[:, m:, m:], axis1=1, axis2=2) - explained

    def _predict(self, X: Array) -> tuple[Array, Array]:
        parts = [self._predict_chunk(X[i : i + CHUNK]) for i in range(0, len(X), CHUNK)]
        mean, std = (np.concatenate(part) for part in zip(*parts, strict=True))
        return mean, std

    def _predict_chunk(self, X: Array) -> tuple[Array, Array]:
        # (k, n, ...): a product of matrices for each component.
        whitened = X @ self.whitening.transpose(0, 2, 1) - self.whitened_centres[:, None]
        weights = self._weights((whitened**2).sum(axis=2).T)
        means = X @ self.slopes + self.intercepts[:, None]
        mean = np.einsum("nk,knd->nd", weights, means)
        spread = np.einsum("nk,knd->nd", weights, (means - mean) ** 2)
        return mean, np.sqrt(weights @ self.variances + spread)

    def _mean_at(self, x: Array) -> Array:
        whitened = self.whitening @ x - self.whitened_centres
        weights = self._weights((whitened**2).sum(axis=1))
        return weights @ (x @ self.slopes + self.intercepts)

    def _weights(self, squared_distances: Array) -> Array:
        logarithm = self.log_weights - 0.5 * squared_distances
        weights = np.exp(logarithm - logarithm.max(axis=-1, keepdims=True))
        return weights / weights.sum(axis=-1, keepdims=True)


class SparseSpectrumGP(Peer):
    r"""
    A Gaussian process of 500 random Fourier features, learnt sample by sample.

    As Gijsberts and Metta (2013): cosines and sines of 250 random frequencies
    (Rahimi and Recht, 2008), then recursive Bayesian linear regression. With features
    :math:`\Phi` of new samples, whose noise has the unknown variance :math:`\sigma^2`, and weights
    with covariance :math:`\sigma^2 P`,

    .. math::

        S = I + \Phi P \Phi^\top, \quad G = P \Phi^\top S^{-1}, \quad
        W \leftarrow W + G (Y - \Phi W), \quad P \leftarrow P - G \Phi P

    and the inverse-gamma posterior of each output's :math:`\sigma^2` counts the squared
    innovations in units of S. The result doesn't depend on how samples are split into updates.

    One length scale for all standardised inputs, and the ratio of prior to noise variance, are
    those with the least error on the last fifth of the training samples, the rest being learnt
    from; frequencies are of a squared-exponential kernel.
    """

    name = "sparse_spectrum_gp"
    n_frequencies = 250
    length_scales = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
    # Of one weight; features have a mean square of 1/2, so the process has 250 times this.
    prior_variances = (0.01, 0.1, 1.0, 10.0, 100.0)

    def _fit(self, X: Array, Y: Array) -> None:
        generator = np.random.default_rng(self.random_state)
        directions = generator.standard_normal((X.shape[1], self.n_frequencies))
        scale, prior_variance = self._select(X, Y, directions)
        self.frequencies = directions / scale
        n_features = 2 * self.n_frequencies
        self.covariance = prior_variance * np.eye(n_features)
        self.weights = np.zeros((n_features, Y.shape[1]))
        # Weak: one sample's worth of a noise variance that is a hundredth of the outputs'.
        self.shape = 0.5
        self.rate = np.full(Y.shape[1], 0.5 * 0.01)
        for i in range(0, len(X), 100):
            self._update(X[i : i + 100], Y[i : i + 100])

    def update(self, X: Array, Y: Array) -> None:
        """Learn from further samples: inputs (n, m), outputs (n, d)."""
        self._update(self.inputs.apply(X), self.outputs.apply(Y))

    def _update(self, X: Array, Y: Array) -> None:
        features = self._features(X)
        projected = features @ self.covariance
        factor = cho_factor(np.eye(len(X)) + projected @ features.T, lower=True)
        innovation = Y - features @ self.weights
        scaled = cho_solve(factor, innovation)
        self.weights += projected.T @ scaled
        self.covariance -= projected.T @ cho_solve(factor, projected)
        # Rounding errors would add up to a covariance that is none.
        self.covariance = 0.5 * (self.covariance + self.covariance.T)
        self.shape += 0.5 * len(X)
        self.rate = self.rate + 0.5 * (innovation * scaled).sum(axis=0)

    def _select(self, X: Array, Y: Array, directions: Array) -> tuple[float, float]:
        """Length scale and prior variance of a weight with the least error on the last fifth."""
        n = len(X) - len(X) // 5
        best = (np.inf, self.length_scales[0], self.prior_variances[0])
        for scale in self.length_scales:
            features = _cosines_and_sines(X @ (directions / scale))
            gram, moment = features[:n].T @ features[:n], features[:n].T @ Y[:n]
            for prior_variance in self.prior_variances:
                precision = gram + np.eye(len(gram)) / prior_variance
                weights = cho_solve(cho_factor(precision, lower=True), moment)
                error = ((Y[n:] - features[n:] @ weights) ** 2).mean()
                best = min(best, (float(error), scale, prior_variance))
        return best[1], best[2]

    def _features(self, X: Array) -> Array:
        return _cosines_and_sines(X @ self.frequencies)

    def _predict(self, X: Array) -> tuple[Array, Array]:
        features = self._features(X)
        spread = np.einsum("ni,ni->n", features @ self.covariance, features)
        noise_variance = self.rate / self.shape
        return features @ self.weights, np.sqrt((1.0 + spread)[:, None] * noise_variance)

    def _mean_at(self, x: Array) -> Array:
        return self._features(x) @ self.weights


def _cosines_and_sines(phase: Array) -> Array:
    return np.concatenate([np.cos(phase), np.sin(phase)], axis=-1)


class SparseVariationalGP(Peer):
    """
    Stochastic variational Gaussian process (Hensman et al., 2013) of GPyTorch.

    A process for each output with 200 inducing inputs of its own, a length scale for each input
    and Gaussian noise; 20 passes over minibatches of 500 samples, in single precision. Adam's
    steps are 0.02.
    """

    name = "sparse_variational_gp"
    unavailable = "" if find_spec("gpytorch") else "gpytorch is not installed"
    n_inducing = 200
    n_passes = 20
    batch_size = 500
    step = 0.02

    def _fit(self, X: Array, Y: Array) -> None:
        import gpytorch
        import torch

        generator = torch.Generator().manual_seed(self.random_state)
        inducing = X[_subset(len(X), self.n_inducing, self.random_state)]
        self.model = _variational_process(inducing, Y.shape[1])
        self.likelihood = gpytorch.likelihoods.MultitaskGaussianLikelihood(
            num_tasks=Y.shape[1], rank=0, has_global_noise=False
        )
        self.likelihood.task_noises = torch.full((Y.shape[1],), 0.1)
        bound = gpytorch.mlls.VariationalELBO(self.likelihood, self.model, num_data=len(X))
        parameters = [*self.model.parameters(), *self.likelihood.parameters()]
        optimiser = torch.optim.Adam(parameters, lr=self.step)
        inputs, targets = (torch.as_tensor(A, dtype=torch.float32) for A in (X, Y))
        for _ in range(self.n_passes):
            for batch in torch.randperm(len(X), generator=generator).split(self.batch_size):
                optimiser.zero_grad()
                (-bound(self.model(inputs[batch]), targets[batch])).backward()
                optimiser.step()
        self.model.eval()
        self.likelihood.eval()
        self._prepare_mean()

    def _prepare_mean(self) -> None:
        """The mean is linear in the covariances with the inducing inputs; keep the weights."""
        strategy = self.model.variational_strategy.base_variational_strategy
        kernel = self.model.covar_module
        points = _double(strategy.inducing_points)
        variances = _double(kernel.outputscale)
        length_scales = _double(kernel.base_kernel.lengthscale)[:, 0]
        self.covariances = [
            _Covariances(points[j], variances[j : j + 1], length_scales[j : j + 1])
            for j in range(len(points))
        ]
        # Inducing values are the Cholesky factor of their covariance times whitened ones.
        whitened = _double(strategy.variational_distribution.mean)
        self.weights = []
        for covariances, z, value in zip(self.covariances, points, whitened, strict=True):
            gram = np.stack([covariances(point)[0] for point in z])
            gram[np.diag_indices_from(gram)] += strategy.jitter_val
            factor = np.linalg.cholesky(gram)
            self.weights.append(solve_triangular(factor.T, value))
        self.constants = _double(self.model.mean_module.constant)

    def _predict(self, X: Array) -> tuple[Array, Array]:
        import torch

        parts = []
        with torch.no_grad():
            for i in range(0, len(X), CHUNK):
                inputs = torch.as_tensor(X[i : i + CHUNK], dtype=torch.float32)
                marginal = self.likelihood(self.model(inputs))
                parts.append((_double(marginal.mean), _double(marginal.variance)))
        mean, variance = (np.concatenate(part) for part in zip(*parts, strict=True))
        return mean, np.sqrt(variance)

    def _mean_at(self, x: Array) -> Array:
        rows = (covariances(x)[0] for covariances in self.covariances)
        return self.constants + [
            row @ weights for row, weights in zip(rows, self.weights, strict=True)
        ]


def _double(tensor: Any) -> Array:
    return tensor.detach().numpy().astype(np.float64)


def _variational_process(inducing: Array, n_outputs: int) -> Any:
    """Independent processes as one model of GPyTorch, at first with the same inducing inputs."""
    import gpytorch
    import torch

    class Model(gpytorch.models.ApproximateGP):
        def __init__(self) -> None:
            batch = torch.Size([n_outputs])
            points = torch.as_tensor(inducing, dtype=torch.float32)
            super().__init__(
                gpytorch.variational.IndependentMultitaskVariationalStrategy(
                    gpytorch.variational.VariationalStrategy(
                        self,
                        points.expand(n_outputs, -1, -1).clone(),
                        gpytorch.variational.CholeskyVariationalDistribution(
                            len(inducing), batch_shape=batch
                        ),
                    ),
                    num_tasks=n_outputs,
                )
            )
            self.mean_module = gpytorch.means.ConstantMean(batch_shape=batch)
            self.covar_module = gpytorch.kernels.ScaleKernel(
                gpytorch.kernels.RBFKernel(ard_num_dims=inducing.shape[1], batch_shape=batch),
                batch_shape=batch,
            )
            self.covar_module.base_kernel.lengthscale = inducing.shape[1] ** 0.5

        def forward(self, x: torch.Tensor) -> gpytorch.distributions.MultivariateNormal:
            return gpytorch.distributions.MultivariateNormal(
                self.mean_module(x), self.covar_module(x)
            )

    return Model()


PEERS: tuple[type[Peer], ...] = (
    Linear,
    NearestNeighbours,
    GaussianProcess,
    GeneralisedProductOfExperts,
    RobustBCM,
    NeuralNetwork,
    GaussianMixtureRegression,
    SparseSpectrumGP,
    SparseVariationalGP,
)
