# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
The small problems of the paper: data of one seed and the truth they are judged by.

Numbers are the paper's where it gives them, else those of the authors' public examples.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.signal import chirp as scipy_chirp
from scipy.signal import sawtooth

from ilr_dynamics.arrays import FloatArray

__all__ = [
    "GAPS",
    "SINE_NOISE_STD",
    "Problem",
    "chirp",
    "cmb",
    "cubic_pieces",
    "gap",
    "inverse_branches",
    "inverse_curve",
    "inverse_curve_distance",
    "inverse_folds",
    "inverse_mapping",
    "sinc",
    "step",
    "triangle",
]

Function = Callable[[FloatArray], FloatArray]

GRID_SIZE = 1000
# Share of the input range left out on either side of a jump when errors are measured.
JUMP_MARGIN = 0.01

# Two ranges of 15 % of the inputs each, left out of the sine.
GAPS = ((0.20, 0.35), (0.65, 0.80))
SINE_RANGE = 10.0 * np.pi
SINE_NOISE_STD = 0.3


@dataclass(frozen=True)
class Problem:
    """
    Samples of one seed and what they were drawn from.

    Parameters
    ----------
    x, y : (n, 1)
        Samples.
    low, high
        Range of the inputs.
    mean, noise_std
        The true functions, where they are known.
    jumps
        Where the true mean is not continuous.
    """

    x: FloatArray
    y: FloatArray
    low: float
    high: float
    mean: Function
    noise_std: Function
    jumps: tuple[float, ...] = ()

    def grid(self) -> FloatArray:
        """Inputs (n, 1) to judge a model on: the range, but for margins around the jumps."""
        x = np.linspace(self.low, self.high, GRID_SIZE)
        margin = JUMP_MARGIN * (self.high - self.low)
        near = np.any([np.abs(x - jump) <= margin for jump in self.jumps], axis=0)
        return x[~near][:, None] if self.jumps else x[:, None]


def _constant(value: float) -> Function:
    return lambda x: np.full_like(x, value)


def gap(rng: np.random.Generator) -> Problem:
    """Sine with two gaps; the inputs carry noise too."""
    x = np.linspace(0.0, SINE_RANGE, 2000)
    share = x / SINE_RANGE
    x = x[~np.any([(share > low) & (share < high) for low, high in GAPS], axis=0)]
    x = x + 0.1 * rng.standard_normal(x.size)
    y = 3.0 * np.sin(x) + SINE_NOISE_STD * rng.standard_normal(x.size)
    return Problem(
        x[:, None],
        y[:, None],
        0.0,
        SINE_RANGE,
        lambda x: 3.0 * np.sin(x),
        _constant(SINE_NOISE_STD),
    )


def cmb(data_dir: Path) -> tuple[FloatArray, FloatArray]:
    """Angular power spectrum of the cosmic microwave background: multipole and power (n, 1)."""
    table = np.genfromtxt(data_dir / "cmb.csv", delimiter=",")
    table = table[np.all(np.isfinite(table), axis=1)]
    return table[:, :1], table[:, 1:2]


def sinc(rng: np.random.Generator) -> Problem:
    """Sinc under noise that depends on the input."""

    def noise_std(x: FloatArray) -> FloatArray:
        return 0.05 + 0.2 * (1.0 + np.sin(2.0 * x)) / (1.0 + np.exp(-0.2 * x))

    x = np.linspace(-10.0, 10.0, 2500)[:, None]
    y = np.sinc(x) + noise_std(x) * rng.standard_normal(x.shape)
    return Problem(x, y, -10.0, 10.0, np.sinc, noise_std)


def step(rng: np.random.Generator) -> Problem:
    """Four constant pieces."""
    edges, levels = np.linspace(-2.0, 2.0, 5), np.array([1.0, 3.0, 0.0, 4.0])
    x = np.concatenate([np.linspace(a, b, 40) for a, b in zip(edges, edges[1:], strict=False)])
    y = np.repeat(levels, 40) + 0.1 * rng.standard_normal(x.size)

    def mean(x: FloatArray) -> FloatArray:
        return levels[np.clip(np.searchsorted(edges, x, side="right") - 1, 0, 3)]

    return Problem(
        x[:, None], y[:, None], -2.0, 2.0, mean, _constant(0.1), tuple(edges[1:-1].tolist())
    )


def cubic_pieces(rng: np.random.Generator) -> Problem:
    """Three cubic polynomials side by side."""
    pieces = [
        np.polynomial.Polynomial([-20.0, -8.0, 0.0, 6.0]),
        np.polynomial.Polynomial([15.0, 0.0, 2.0, -5.0]),
        np.polynomial.Polynomial([-10.0, -6.0, 3.0, 4.0]),
    ]
    edges = np.array([-3.0, 0.0, 3.0, 6.0])

    def mean(x: FloatArray) -> FloatArray:
        which = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, 2)
        t = x - (edges[which] + 1.5)
        return np.choose(which, [piece(t) for piece in pieces])

    x = np.concatenate([np.linspace(a, b, 400) for a, b in zip(edges, edges[1:], strict=False)])
    # The last sample of a third belongs to it, not to the next one.
    which = np.repeat(np.arange(3), 400)
    t = x - (edges[which] + 1.5)
    y = np.choose(which, [piece(t) for piece in pieces]) + 3.0 * rng.standard_normal(x.size)
    return Problem(x[:, None], y[:, None], -3.0, 6.0, mean, _constant(3.0), (0.0, 3.0))


def inverse_mapping(rng: np.random.Generator) -> Problem:
    """The inverse of a function that is not monotone: up to three outputs for one input."""
    y = np.linspace(0.0, 1.0, 200)
    x = _inverse_input(y) + 0.05 * rng.standard_normal(y.size)
    nowhere = _constant(np.nan)
    return Problem(x[:, None], y[:, None], float(x.min()), float(x.max()), nowhere, nowhere)


def _inverse_input(y: FloatArray) -> FloatArray:
    return y + 0.3 * np.sin(2.0 * np.pi * y)


def inverse_branches(x: float) -> FloatArray:
    """All outputs between 0 and 1 whose input, without noise, is x."""
    y = np.linspace(0.0, 1.0, 100001)
    side = np.sign(_inverse_input(y) - x)
    return y[np.flatnonzero(side[:-1] != side[1:])]


def inverse_folds() -> FloatArray:
    """Inputs (2,) at which two branches meet."""
    y = np.arccos(-1.0 / (0.6 * np.pi)) / (2.0 * np.pi)
    return _inverse_input(np.array([y, 1.0 - y]))


def inverse_curve() -> tuple[FloatArray, FloatArray]:
    """Inputs and outputs of the relation without noise."""
    y = np.linspace(0.0, 1.0, 500)
    return _inverse_input(y), y


def inverse_curve_distance(x: float, y: float) -> float:
    """Distance of a point to the nearest point of the relation: the noise is in the input."""
    on_curve = np.linspace(-0.2, 1.2, 14001)
    return float(np.min(np.hypot(_inverse_input(on_curve) - x, on_curve - y)))


def chirp(rng: np.random.Generator) -> Problem:
    """A sine whose frequency falls with the input."""

    def mean(x: FloatArray) -> FloatArray:
        return np.asarray(scipy_chirp(x, f0=2.5, f1=1.0, t1=2.5, method="hyperbolic"))

    x = np.linspace(0.0, 5.0, 1000)[:, None]
    y = mean(x) + 0.25 * rng.standard_normal(x.shape)
    return Problem(x, y, 0.0, 5.0, mean, _constant(0.25))


def triangle(rng: np.random.Generator) -> Problem:
    """A triangle wave: eight straight pieces of two slopes."""

    def mean(x: FloatArray) -> FloatArray:
        return np.asarray(2.0 * sawtooth(np.pi * x, 0.5))

    x = np.linspace(-4.0, 4.0, 650)[:, None]
    y = mean(x) + 0.1 * rng.standard_normal(x.shape)
    return Problem(x, y, -4.0, 4.0, mean, _constant(0.1))
