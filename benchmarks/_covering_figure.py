# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Picture of the covering experiment: learning curve, time of a prediction, experts and error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

__all__ = ["draw_covering"]

Results = dict[str, Any]

COLOURS = {"ilr_pd": "tab:green", "hilr_pd": "tab:olive"}


def draw_covering(
    path: Path,
    curves: Mapping[str, Sequence[list[Results]]],
    sweeps: Mapping[str, list[Results]],
    tests: tuple[str, ...],
) -> None:
    """
    Draw errors and times over the batches, mean and deviation of the seeds, and errors by experts.

    Parameters
    ----------
    path
        Of the picture.
    curves
        By model, of each seed, the figures after each batch.
    sweeps
        By model, the figures of each number of components; of none there is no panel.
    tests
        Names of the test paths, one panel each.
    """
    n_panels = len(tests) + 1 + bool(sweeps)
    figure = Figure(figsize=(3.1 * n_panels, 3.2), layout="constrained")
    axes = figure.subplots(1, n_panels)
    of_time = axes[len(tests)]
    for index, (axis, test) in enumerate(zip(axes, tests, strict=False)):
        for name, of_seeds in curves.items():
            errors = [[after["error"][index] for after in curve] for curve in of_seeds]
            _band(axis, name, errors)
        if index > 0:
            axis.sharey(axes[0])
        axis.set_yscale("log")
        axis.set_title(test)
        axis.set_xlabel("batches of 10,000 samples")
    axes[0].set_ylabel("normalised error of the torque")
    axes[0].legend(fontsize="small")
    for name, of_seeds in curves.items():
        _band(of_time, name, [[after["prediction_us"] for after in curve] for curve in of_seeds])
    of_time.set_ylim(bottom=0.0)
    of_time.set_title("time of a prediction [us]")
    of_time.set_xlabel("batches of 10,000 samples")
    for name, rows in sweeps.items():
        experts, errors = ([row[key] for row in rows] for key in ("experts", "new_motion"))
        axes[-1].plot(experts, errors, "o-", ms=3, color=COLOURS[name])
        axes[-1].set_title("error on a new motion")
        axes[-1].set_xlabel("experts")
    for axis in axes:
        axis.grid(alpha=0.3)
    figure.savefig(path, dpi=110)


def _band(axis: Axes, name: str, of_seeds: ArrayLike) -> None:
    """Mean and standard deviation (n_seeds, n_batches) over the batches."""
    values = np.asarray(of_seeds, dtype=float)
    batches, mean = np.arange(1, values.shape[1] + 1), values.mean(axis=0)
    axis.plot(batches, mean, "o-", ms=3, color=COLOURS[name], label=name.removesuffix("_pd"))
    if len(values) > 1:
        deviation = values.std(axis=0, ddof=1)
        low, high = np.maximum(mean - deviation, 0.1 * mean), mean + deviation
        axis.fill_between(batches, low, high, color=COLOURS[name], alpha=0.2, lw=0.0)
