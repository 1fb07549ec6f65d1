# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""How the time of an iteration grows, on two logarithmic axes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

__all__ = ["draw_growth"]

FEW = 30.0
LABELS = {"n_samples": "samples", "n_components": "components at first", "n_inputs": "inputs"}


def draw_growth(along: str, by_size: dict[str, dict[str, float]], path: Path) -> None:
    """
    Draw processor time of an iteration against one size, and a line of slope one.

    Parameters
    ----------
    along
        "n_samples", "n_components" or "n_inputs".
    by_size
        Figures of each size.
    path
        The picture.
    """
    sizes = np.array([float(size) for size in by_size])
    seconds = np.array([figures["iteration_cpu_s"] for figures in by_size.values()])
    figure = Figure(figsize=(4.5, 3.2), layout="constrained")
    axes = figure.subplots()
    axes.loglog(sizes, seconds, "o-", color="#2471a3", label="an iteration")
    # Through the largest, beside which overheads are small.
    guide = seconds[-1] * sizes / sizes[-1]
    axes.loglog(sizes, guide, "--", color="#7f8c8d", label="proportional")
    if sizes[-1] < FEW * sizes[0]:
        # Within little more than a decade each size has its place; powers of ten would overlap.
        axes.set_xticks(sizes, [f"{size:g}" for size in sizes])
        axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel(LABELS[along])
    axes.set_ylabel("processor time [s]")
    axes.grid(True, which="major", alpha=0.3)
    axes.legend(frameon=False, fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
