# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What real_data.py found out, as a table and as a picture."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from _real_data_measures import SCATTERED
from _real_data_models import OURS, Model
from _real_data_sets import Split
from _real_data_targets import fulfilled
from matplotlib.figure import Figure

__all__ = ["draw", "print_means", "print_table"]

PROTOCOLS = ("interpolation", "extrapolation")
# Width of each column of the table.
COLUMNS = {
    "model": 28,
    "nMSE": 11,
    "range": 9,
    "MSE": 11,
    "covered": 9,
    "lowest": 8,
    "score": 9,
    "times best peer's": 30,
    "experts": 9,
    "fit s": 8,
    "query us": 10,
    "seeds": 7,
}


def print_table(name: str, models: dict[str, dict[str, object]]) -> None:
    """Print the summaries of all models on one set, with their best peers."""
    for protocol in PROTOCOLS:
        rows = {model: figures for model, figures in models.items() if protocol in figures}
        if rows:
            print(f"\n{name}, {protocol}: 95 % intervals, scores in deviations of the outputs")
            print("".join(f"{title:>{width}}" for title, width in COLUMNS.items()) + "  required")
            for model in rows:
                print(_row(name, protocol, model, models))


def print_means(name: str, models: dict[str, dict[str, object]]) -> None:
    """Print the mean and the standard deviation over the seeds of each figure, model and set."""
    for protocol in PROTOCOLS:
        rows = {
            model: figures["mean_and_std"][protocol]
            for model, figures in models.items()
            if protocol in figures
        }
        if rows:
            print(f"\n{name}, {protocol}: mean (standard deviation) of the seeds")
            print(f"{'model':>28}" + "".join(f"{figure:>22}" for figure in SCATTERED))
        for model, row in rows.items():
            cells = (
                "{:.4g} ({:.2g})".format(*row[figure]) if figure in row else "-"
                for figure in SCATTERED
            )
            print(f"{model:>28}" + "".join(f"{cell:>22}" for cell in cells))


def _row(name: str, protocol: str, model: str, models: dict[str, dict[str, object]]) -> str:
    figures = models[model]
    coverage = figures["coverage"].get(protocol)
    best = figures.get("best_peer", {}).get(protocol)
    # Experts and times are those of the first protocol.
    is_first = protocol == next(other for other in PROTOCOLS if other in figures)
    cells = {
        "model": model,
        "nMSE": f"{figures[protocol]:.4g}",
        "range": f"{figures['spread'][protocol]:.1g}",
        "MSE": f"{figures['mse'][protocol]:.4g}",
        "covered": f"{coverage[0]:.3f}" if coverage else "-",
        "lowest": f"{coverage[1]:.3f}" if coverage else "-",
        "score": f"{figures['interval_score'][protocol]:.3f}" if coverage else "-",
        "times best peer's": f"{best['ratio']:.3f} {best['model']}" if best else "-",
        "experts": str(figures["components"] or "-") if is_first else "",
        "fit s": f"{figures['fit_s']:.3g}" if is_first else "",
        "query us": f"{figures['query_us']:.4g}" if is_first else "",
        "seeds": str(figures["seeds"]),
    }
    held = fulfilled(name, protocol, model, models) if model in OURS else {}
    verdict = ", ".join(f"{what} {'yes' if holds else 'NO'}" for what, holds in held.items())
    return "".join(f"{cells[title]:>{width}}" for title, width in COLUMNS.items()) + f"  {verdict}"


def draw(split: Split, model: Model, path: Path) -> None:
    """
    Draw measured and predicted torque with 95 % bands over the first 20 s of new motions.

    Parameters
    ----------
    split
        Its test rows are drawn.
    model
        Has learned its training rows.
    path
        Picture to write.
    """
    shown = slice(0, min(1000, len(split.X_test)))
    mean, (lower, upper) = model.predict(split.X_test), model.interval(split.X_test)
    n_outputs = split.Y_test.shape[1]
    figure = Figure(figsize=(9.0, 1.3 * n_outputs), layout="constrained")
    panels = figure.subplots(n_outputs, 1, sharex=True)
    for joint, axes in enumerate(panels):
        rows = np.arange(len(split.X_test))[shown]
        axes.fill_between(
            rows, lower[shown, joint], upper[shown, joint], color="#2471a3", alpha=0.25, lw=0
        )
        axes.plot(rows, split.Y_test[shown, joint], color="k", lw=0.8, label="measured")
        axes.plot(rows, mean[shown, joint], color="#c0392b", lw=0.8, label="predicted")
        axes.set_ylabel(f"j{joint + 1} [Nm]")
    panels[0].legend(fontsize=7, frameon=False, ncols=2)
    panels[-1].set_xlabel("sample")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
