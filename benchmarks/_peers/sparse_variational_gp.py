# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""A stochastic variational Gaussian process."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from itertools import islice
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import solve_triangular

from ilr_dynamics.arrays import FloatArray

from .kernels import CORRELATIONS, SMOOTHNESS, Covariances, random_subset
from .peer import CHUNK, Peer

__all__ = ["SparseVariationalGP"]

NATURAL_STEP = 0.1


class SparseVariationalGP(Peer):
    """
    Stochastic variational Gaussian process (Hensman et al., 2013) of GPyTorch.

    A process for each output with 200 inducing inputs of its own, a length scale for each input
    and Gaussian noise; 400 minibatches of 500 samples, in single precision. Inducing values take
    natural gradients' steps of 0.1, as the library advises, all else Adam's of 0.05.
    """

    name = "sparse_variational_gp"
    unavailable = "" if find_spec("gpytorch") else "gpytorch is not installed"
    correlation = "squared_exponential"
    n_inducing = 200
    n_steps = 400
    batch_size = 500
    step = 0.05
    choices: ClassVar = {
        "correlation": tuple(CORRELATIONS),
        "step": (0.02, 0.05, 0.1),
    }

    def _fit(self, X: FloatArray, Y: FloatArray) -> None:
        import gpytorch
        import torch

        generator = torch.Generator().manual_seed(self.random_state)
        inducing = X[random_subset(len(X), self.n_inducing, self.random_state)]
        self.model = _variational_process(inducing, Y.shape[1], self.correlation)
        self.likelihood = gpytorch.likelihoods.MultitaskGaussianLikelihood(
            num_tasks=Y.shape[1], rank=0, has_global_noise=False
        )
        self.likelihood.task_noises = torch.full((Y.shape[1],), 0.1)
        bound = gpytorch.mlls.VariationalELBO(self.likelihood, self.model, num_data=len(X))
        hyperparameters = [*self.model.hyperparameters(), *self.likelihood.parameters()]
        optimisers = (
            gpytorch.optim.NGD(
                self.model.variational_parameters(), num_data=len(X), lr=NATURAL_STEP
            ),
            torch.optim.Adam(hyperparameters, lr=self.step),
        )
        inputs, targets = (torch.as_tensor(A, dtype=torch.float32) for A in (X, Y))
        for batch in islice(_batches(len(X), self.batch_size, generator), self.n_steps):
            for optimiser in optimisers:
                optimiser.zero_grad()
            (-bound(self.model(inputs[batch]), targets[batch])).backward()
            for optimiser in optimisers:
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
            Covariances(
                points[j], variances[j : j + 1], length_scales[j : j + 1], self.correlation
            )
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

    def _predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        import torch

        parts = []
        with torch.no_grad():
            for i in range(0, len(X), CHUNK):
                inputs = torch.as_tensor(X[i : i + CHUNK], dtype=torch.float32)
                marginal = self.likelihood(self.model(inputs))
                parts.append((_double(marginal.mean), _double(marginal.variance)))
        mean, variance = (np.concatenate(part) for part in zip(*parts, strict=True))
        return mean, np.sqrt(variance)

    def _mean_at(self, x: FloatArray) -> FloatArray:
        rows = (covariances(x)[0] for covariances in self.covariances)
        return self.constants + [
            row @ weights for row, weights in zip(rows, self.weights, strict=True)
        ]


def _batches(n_samples: int, size: int, generator: Any) -> Iterator[Any]:
    """Rows of minibatches, each sample once in a pass."""
    import torch

    while True:
        yield from torch.randperm(n_samples, generator=generator).split(size)


def _double(tensor: Any) -> FloatArray:
    return tensor.detach().numpy().astype(np.float64)


def _kernel(correlation: str, **settings: Any) -> Any:
    import gpytorch

    if correlation in SMOOTHNESS:
        return gpytorch.kernels.MaternKernel(nu=SMOOTHNESS[correlation], **settings)
    return gpytorch.kernels.RBFKernel(**settings)


def _variational_process(inducing: FloatArray, n_outputs: int, correlation: str) -> Any:
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
                        gpytorch.variational.NaturalVariationalDistribution(
                            len(inducing), batch_shape=batch
                        ),
                    ),
                    num_tasks=n_outputs,
                )
            )
            self.mean_module = gpytorch.means.ConstantMean(batch_shape=batch)
            self.covar_module = gpytorch.kernels.ScaleKernel(
                _kernel(correlation, ard_num_dims=inducing.shape[1], batch_shape=batch),
                batch_shape=batch,
            )
            self.covar_module.base_kernel.lengthscale = inducing.shape[1] ** 0.5

        def forward(self, x: torch.Tensor) -> gpytorch.distributions.MultivariateNormal:
            return gpytorch.distributions.MultivariateNormal(
                self.mean_module(x), self.covar_module(x)
            )

    return Model()
