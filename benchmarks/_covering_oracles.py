# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
What limits local linear models: fits that know more, on the same samples.

Errors are those of the torque at the states of the test paths, where the feed-forward asks,
against the arm's own inverse; nothing is tracked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from _closed_loop import TEST_PATHS
from _covering_law import Box, distance_ratios, states_of
from _plant_inverse import PlantInverse
from _simulated_motion import Arm

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.regression.mixture_regressor import MixtureRegressor
from ilr_dynamics.robot.tool_paths import tool_path

__all__ = ["TestStates", "correlation_times", "normalised_error", "of_model", "of_oracles"]

Predict = Callable[[FloatArray], FloatArray]
Results = dict[str, Any]

RIDGE = 1e-2
# Friction turns round within this speed, rad/s.
SIGN_SPEED = 0.03
# Deviations of the kernel, in those of the samples: in positions and accelerations, in velocities.
KERNELS = ((2.0, 2.0), (2.0, 0.5), (4.0, 0.25))
# Samples and states for kernels, each of which needs all samples for each state.
KERNEL_SAMPLES, KERNEL_STATES = 30_000, 8
# Edges of the distances from the nearest training state, in units of the samples' spacing.
NEAR_AND_FAR = (0.0, 0.75, 1.25, 2.0, np.inf)


class TestStates:
    """
    States of the test paths and what the arm takes there, whose friction changes smoothly.

    Parameters
    ----------
    arm
    every
        One of so many states, of 100 Hz.
    """

    __test__ = False

    def __init__(self, arm: Arm, every: int = 4) -> None:
        inverse = PlantInverse(arm.plant)
        self.X = [states_of(arm.joint_path(tool_path(name)))[::every] for name in TEST_PATHS]
        self.Y = [np.array([inverse(*np.split(x, 3)) for x in X]) for X in self.X]

    def errors(self, predict: Predict) -> list[float]:
        """Normalised error of a prediction on each path."""
        return [normalised_error(predict(X), Y) for X, Y in zip(self.X, self.Y, strict=True)]


def normalised_error(predicted: FloatArray, wanted: FloatArray) -> float:
    """Mean over the outputs of the squared error over the variance."""
    return float(np.mean(np.mean((predicted - wanted) ** 2, axis=0) / np.var(wanted, axis=0)))


def of_oracles(X: FloatArray, Y: FloatArray, weights: FloatArray, tests: TestStates) -> Results:
    """
    Errors of fits to samples X (n, 3 n_joints), Y (n, n_joints) of these weights (n,).

    One linear map; that and the sign of each velocity, smooth; a linear map for each combination
    of the velocities' signs; locally weighted regression with several widths of its kernel.
    """
    n, scale = Y.shape[1], X.std(axis=0)

    def extended(states: FloatArray) -> FloatArray:
        return np.column_stack([states / scale, np.ones(len(states))])

    def with_signs(states: FloatArray) -> FloatArray:
        return np.column_stack([extended(states), np.tanh(states[:, n : 2 * n] / SIGN_SPEED)])

    def signs(states: FloatArray) -> FloatArray:
        return np.asarray((states[:, n : 2 * n] > 0.0) @ 2 ** np.arange(n))

    linear = _ridge(extended(X), Y, weights)
    smooth = _ridge(with_signs(X), Y, weights)
    of_samples = signs(X)
    of_signs = np.array([
        _ridge(extended(X[chosen]), Y[chosen], weights[chosen])
        for chosen in (of_samples == k for k in range(2**n))
    ])  # fmt: skip

    def by_signs(states: FloatArray) -> FloatArray:
        return np.einsum("tc,tcj->tj", extended(states), of_signs[signs(states)])

    results: Results = {
        "linear": tests.errors(lambda x: extended(x) @ linear),
        "linear and smooth signs": tests.errors(lambda x: with_signs(x) @ smooth),
        "linear for each combination of signs": tests.errors(by_signs),
    }
    thinned = slice(None, None, max(1, len(X) // KERNEL_SAMPLES))
    for wide, narrow in KERNELS:
        widths = scale * np.repeat([wide, narrow, wide], n)
        predict = _locally_weighted(extended, X[thinned], Y[thinned], weights[thinned], widths)
        results[f"kernel {wide:g}, {narrow:g} in velocity"] = [
            normalised_error(predict(states[::KERNEL_STATES]), wanted[::KERNEL_STATES])
            for states, wanted in zip(tests.X, tests.Y, strict=True)
        ]
    return results


def correlation_times(
    X: FloatArray, Y: FloatArray, recordings: Sequence[slice], period: float
) -> FloatArray:
    """
    Correlation time (n_joints,), s, of what one linear map leaves of the torques.

    The integral of the autocorrelation up to its first zero.

    Parameters
    ----------
    X, Y : (n, 3 n_joints), (n, n_joints)
        Samples in the order of time.
    recordings
        Rows of each recording.
    period
        From one sample to the next, s.
    """
    columns = np.column_stack([X, np.ones(len(X))])
    left = Y - columns @ np.linalg.lstsq(columns, Y, rcond=None)[0]
    left -= left.mean(axis=0)
    longest = max(rows.stop - rows.start for rows in recordings)
    # Padded, as the transform takes each recording for periodic.
    spectra = [np.abs(np.fft.rfft(left[rows], 2 * longest, axis=0)) ** 2 for rows in recordings]
    correlation = np.fft.irfft(np.sum(spectra, axis=0), axis=0)[:longest]
    correlation /= correlation[0]
    positive = np.cumprod(correlation > 0.0, axis=0)
    return np.asarray(period * (np.sum(correlation * positive, axis=0) - 0.5))


def of_model(
    model: MixtureRegressor, X: FloatArray, times: FloatArray, box: Box, tests: TestStates
) -> Results:
    """Errors of a model, by path and by distance from its samples, and which components speak."""
    weights = [model.predict_components(states[::5])[0] for states in tests.X]
    ratios = [distance_ratios(states, X, times, box) for states in tests.X]
    return {
        "error": tests.errors(model.predict),
        "experts": model.n_active_,
        "unseen": [float(w[:, -1].mean()) for w in weights],
        "speaking": [float(np.median(1.0 / np.sum(w**2, axis=1))) for w in weights],
        "distance": [float(np.median(of_path)) for of_path in ratios],
        "by_distance": _by_distance(model, tests, np.concatenate(ratios)),
    }


def _by_distance(
    model: MixtureRegressor, tests: TestStates, ratios: FloatArray
) -> list[tuple[float, float | None]]:
    """Share of the states within each range of distances, and their normalised error."""
    X, Y = np.concatenate(tests.X), np.concatenate(tests.Y)
    squared = np.mean((model.predict(X) - Y) ** 2 / np.var(Y, axis=0), axis=1)
    rows = []
    for low, high in zip(NEAR_AND_FAR[:-1], NEAR_AND_FAR[1:], strict=True):
        inside = (ratios >= low) & (ratios < high)
        error = float(np.mean(squared[inside])) if inside.any() else None
        rows.append((float(np.mean(inside)), error))
    return rows


def _ridge(A: FloatArray, Y: FloatArray, weights: FloatArray) -> FloatArray:
    weighted = A * weights[:, None]
    return np.asarray(np.linalg.solve(A.T @ weighted + RIDGE * np.eye(A.shape[1]), weighted.T @ Y))


def _locally_weighted(
    extended: Predict, X: FloatArray, Y: FloatArray, weights: FloatArray, widths: FloatArray
) -> Predict:
    columns = extended(X)

    def predict(states: FloatArray) -> FloatArray:
        answers = np.empty((len(states), Y.shape[1]))
        for answer, x in zip(answers, states, strict=True):
            near = weights * np.exp(-0.5 * np.sum(((X - x) / widths) ** 2, axis=1))
            chosen = near > 1e-4 * weights.max()
            answer[:] = extended(x[None])[0] @ _ridge(columns[chosen], Y[chosen], near[chosen])
        return answers

    return predict
