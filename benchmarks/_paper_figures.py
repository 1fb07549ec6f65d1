# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Pictures of the paper's experiments, in its style.

Samples as grey dots, the truth dashed, the prediction red with two standard deviations in blue;
below it how active each component is, where that tells something. Drawn is the first seed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from _paper_experiments import Outcome
from _toy_problems import GAPS, SINE_RANGE, inverse_curve
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ilr_dynamics.arrays import FloatArray

__all__ = ["FIGURES"]

RED, BLUE, GREY = "#c0392b", "#2471a3", "#888888"
DPI = 150


def _draw_gap(outcomes: Sequence[Outcome], path: Path) -> None:
    problem, model = (outcomes[0].drawing[name] for name in ("problem", "model"))
    x = np.linspace(-1.0, SINE_RANGE + 1.0, 1500)[:, None]
    figure, (top, middle, bottom) = _panels((3.0, 1.0, 1.0))
    _draw_prediction(top, problem.x, problem.y, x, *model.predict(x, return_std=True))
    top.plot(x, problem.mean(x), "k--", lw=0.9, label="truth")
    top.set_ylim(-9.0, 9.0)
    middle.semilogy(x, model.predict(x, return_std=True)[1], color=BLUE)
    middle.set_ylabel("std")
    _draw_activations(bottom, model, x)
    for low, high in GAPS:
        for axes in (top, middle, bottom):
            axes.axvspan(low * SINE_RANGE, high * SINE_RANGE, color="k", alpha=0.06, lw=0)
    _finish(figure, top, bottom, path)


def _draw_cmb(outcomes: Sequence[Outcome], path: Path) -> None:
    drawing = outcomes[0].drawing
    x = np.linspace(drawing["x"].min(), drawing["x"].max(), 1000)[:, None]
    figure, (top, bottom) = _panels((3.0, 1.0))
    model = drawing["model"]
    _draw_prediction(top, drawing["x"], drawing["y"], x, *model.predict(x, return_std=True))
    lower, upper = model.predict_interval(x)
    top.plot(x, lower, color=BLUE, lw=0.6, ls=":")
    top.plot(x, upper, color=BLUE, lw=0.6, ls=":", label="95 % interval")
    _draw_activations(bottom, model, x)
    bottom.set_xlabel("multipole")
    _finish(figure, top, bottom, path)


def _draw_sinc(outcomes: Sequence[Outcome], path: Path) -> None:
    problem, model = (outcomes[0].drawing[name] for name in ("problem", "model"))
    x = problem.grid()
    mean, std = model.predict(x, return_std=True)
    figure, (top, middle, bottom) = _panels((3.0, 1.5, 1.0))
    _draw_prediction(top, problem.x, problem.y, x, mean, std)
    top.plot(x, problem.mean(x), "k--", lw=0.9, label="truth")
    middle.plot(x, problem.noise_std(x), "--", color="green", lw=1.0, label="true noise")
    middle.plot(x, std, color=BLUE, lw=1.0, label="predicted std")
    middle.set_ylim(0.0, None)
    middle.legend(fontsize=7, frameon=False)
    _draw_activations(bottom, model, x)
    _finish(figure, top, bottom, path)


def _draw_mode(outcomes: Sequence[Outcome], path: Path) -> None:
    problem, model = (outcomes[0].drawing[name] for name in ("problem", "model"))
    x = np.linspace(problem.low, problem.high, 1500)[:, None]
    figure, (top, bottom) = _panels((3.0, 1.0))
    _draw_prediction(
        top, problem.x, problem.y, x, *model.predict(x, return_std=True, mode="mode"), jumps=True
    )
    top.plot(x, problem.mean(x), "k--", lw=0.9, label="truth")
    _draw_activations(bottom, model, x)
    _finish(figure, top, bottom, path)


def _draw_inverse_mapping(outcomes: Sequence[Outcome], path: Path) -> None:
    problem, model = (outcomes[0].drawing[name] for name in ("problem", "model"))
    x = np.linspace(problem.low, problem.high, 800)[:, None]
    figure, (top, bottom) = _panels((3.0, 1.0))
    top.plot(*inverse_curve(), "k--", lw=0.9, label="truth")
    _draw_prediction(
        top, problem.x, problem.y, x, *model.predict(x, return_std=True, mode="mode"), jumps=True
    )
    weights, means, _ = model.predict_components(x)
    for component in range(weights.shape[1] - 1):
        active = weights[:, component] > 0.05
        shown = np.where(active, means[:, component, 0], np.nan)
        top.plot(x, shown, color="orange", lw=0.8, label="components" if not component else None)
    _draw_activations(bottom, model, x)
    _finish(figure, top, bottom, path)


def _draw_chirp(outcomes: Sequence[Outcome], path: Path) -> None:
    drawing = outcomes[0].drawing
    problem, snapshots, xs = drawing["problem"], drawing["snapshots"], drawing["xs"]
    shown = sorted({0, len(snapshots) // 2, len(snapshots) - 1})
    figure = Figure(figsize=(3.6 * len(shown), 3.0), layout="constrained")
    panels = figure.subplots(1, len(shown), sharey=True)
    x = problem.grid()
    for axes, index in zip(panels, shown, strict=True):
        learned = problem.x[:, 0] <= xs[index].max()
        _draw_prediction(
            axes, problem.x[learned], problem.y[learned], x, *snapshots[index], legend=False
        )
        axes.plot(x, problem.mean(x), "k--", lw=0.7)
        axes.set_title(f"after batch {index + 1} of {len(snapshots)}", fontsize=9)
        axes.set_ylim(-3.0, 3.0)
        axes.set_xlabel("x")
    figure.savefig(path, dpi=DPI)


def _draw_sequential_dynamics(outcomes: Sequence[Outcome], path: Path) -> None:
    figure = Figure(figsize=(5.0, 3.0), layout="constrained")
    axes = figure.subplots()
    for seed, outcome in enumerate(outcomes):
        errors = outcome.drawing["overall"]
        axes.semilogy(np.arange(1, len(errors) + 1), errors, ".-", lw=1.0, label=f"seed {seed}")
    axes.set_xlabel("batches learned")
    axes.set_ylabel("normalised error, all samples")
    axes.legend(fontsize=7, frameon=False)
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=DPI)


def _panels(heights: Sequence[float]) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(6.0, 0.9 * sum(heights) + 0.6), layout="constrained")
    panels = figure.subplots(len(heights), 1, sharex=True, height_ratios=heights)
    return figure, list(panels)


def _draw_prediction(
    axes: Axes,
    samples_x: FloatArray,
    samples_y: FloatArray,
    x: FloatArray,
    mean: FloatArray,
    std: FloatArray,
    *,
    jumps: bool = False,
    legend: bool = True,
) -> None:
    """Samples, mean and two standard deviations; the line is broken where the mode jumps."""
    axes.plot(samples_x, samples_y, ".", color=GREY, ms=2.0, alpha=0.5, zorder=0)
    line, low, high = mean[:, 0].copy(), (mean - 2.0 * std)[:, 0], (mean + 2.0 * std)[:, 0]
    if jumps:
        leap = np.abs(np.diff(line)) > 0.05 * (np.max(samples_y) - np.min(samples_y))
        line[np.append(leap, False)] = np.nan
    axes.fill_between(
        x[:, 0], low, high, color=BLUE, alpha=0.25, lw=0, label="two std" if legend else None
    )
    axes.plot(x, line, color=RED, lw=1.2, label="prediction" if legend else None)
    axes.set_ylabel("y")


def _draw_activations(axes: Axes, model, x: FloatArray) -> None:
    """Share of each component over the inputs; those of one upper component in one colour."""
    weights = model.responsibilities(x)
    colours = mpl.colormaps["tab20"]
    for component in range(weights.shape[1] - 1):
        is_lower = component < model.groups_.size
        group = model.groups_[component] if is_lower else component - model.groups_.size
        axes.plot(x, weights[:, component], color=colours(group % 20), lw=0.8)
    axes.plot(x, weights[:, -1], color="k", lw=1.0, ls=":")
    axes.set_ylabel("activation")
    axes.set_ylim(-0.03, 1.03)


def _finish(figure: Figure, top: Axes, bottom: Axes, path: Path) -> None:
    top.legend(fontsize=7, frameon=False, loc="upper right")
    if not bottom.get_xlabel():
        bottom.set_xlabel("x")
    figure.savefig(path, dpi=DPI)


FIGURES: dict[str, Callable[[Sequence[Outcome], Path], None]] = {
    "gap": _draw_gap,
    "cmb": _draw_cmb,
    "sinc": _draw_sinc,
    "step": _draw_mode,
    "cubic_pieces": _draw_mode,
    "inverse_mapping": _draw_inverse_mapping,
    "chirp_3": _draw_chirp,
    "chirp_25": _draw_chirp,
    "triangle": _draw_mode,
    "sequential_dynamics": _draw_sequential_dynamics,
}
