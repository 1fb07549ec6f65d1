# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What real_data.py found out, as figures, as a table and as a picture."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from _real_data_models import Model
from _real_data_sets import Split
from matplotlib.figure import Figure

__all__ = ["draw", "print_table", "summary"]


def summary(runs: dict[str, list[dict[str, object]]]) -> dict[str, object]:
    """
    Medians over the seeds, and the spread of the errors.

    Parameters
    ----------
    runs
        By protocol, what was measured with each seed.
    """
    figures: dict[str, object] = {"coverage": {}, "spread": {}, "mse": {}}
    for protocol, results in runs.items():
        errors = [result["nmse"] for result in results]
        figures[protocol] = _rounded(np.median(errors))
        figures["spread"][protocol] = _rounded(np.ptp(errors))
        figures["mse"][protocol] = _rounded(np.median([result["mse"] for result in results]))
        if "coverage" in results[0]:
            coverage = np.median([result["coverage"] for result in results], axis=0)
            figures["coverage"][protocol] = [_rounded(value) for value in coverage]
    first = next(iter(runs.values()))
    figures["seeds"] = len(first)
    figures["components"] = first[0]["components"]
    figures["fit_s"] = _rounded(np.median([result["fit_s"] for result in first]))
    figures["query_us"] = _rounded(np.median([result["query_us"] for result in first]))
    return figures


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


def print_table(name: str, models: dict[str, dict[str, object]]) -> None:
    """Print the summaries of the models on one set."""
    print(f"\n{name} (coverage of 95 % intervals: mean, lowest of an output)")
    header = (
        f"{'model':28}" + f"{'interpolation':>22}{'cover':>14}{'extrapolation':>22}{'cover':>14}"
    )
    print(header + f"{'MSE':>10}{'experts':>9}{'fit s':>8}{'query us':>10}{'seeds':>6}")
    for model, figures in models.items():
        cells = ""
        for protocol in ("interpolation", "extrapolation"):
            coverage = figures["coverage"].get(protocol)
            error = f"{figures[protocol]:.4g}" if protocol in figures else "-"
            if figures["spread"].get(protocol):
                error += f" (range {figures['spread'][protocol]:.1g})"
            cells += f"{error:>22}"
            covered = f"{coverage[0]:.3f}, {coverage[1]:.3f}" if coverage else "-"
            cells += f"{covered:>14}"
        mse = figures["mse"].get("interpolation", "-")
        experts = figures["components"] if figures["components"] is not None else "-"
        print(
            f"{model:28}{cells}{mse:>10}{experts:>9}{figures['fit_s']:>8.3g}"
            f"{figures['query_us']:>10.4g}{figures['seeds']:>6}"
        )


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
