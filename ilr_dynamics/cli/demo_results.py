# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Results of the demo, as a table and as figures for JSON."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ilr_dynamics.cli.table import format_table
from ilr_dynamics.cli.tracking_record import TrackingRecord

__all__ = ["DemoResults", "summary", "table"]


@dataclass
class DemoResults:
    """
    Measurements of the demo.

    Attributes
    ----------
    records : dict of str to TrackingRecord
        Runs of the test trajectory: pd, analytic, ilr (after the last round) and loaded.
    rounds : list of TrackingRecord
        Runs with the learned feed-forward, one after each round.
    samples, components, learn_s : int, int, float
        Number of samples learned from, of local models at the end, and time of inference, s.
    loop_times : list of ndarray
        Times from receipt of a joint state to publication of its torque, s, one array per run.
    """

    records: dict[str, TrackingRecord] = field(default_factory=dict)
    rounds: list[TrackingRecord] = field(default_factory=list)
    samples: int = 0
    components: int = 0
    learn_s: float = 0.0
    loop_times: list[np.ndarray] = field(default_factory=list)


def summary(results: DemoResults) -> dict[str, object]:
    """Return the figures for the last line of ``demo --json``."""
    records = {
        "pd": results.records["pd"],
        "analytic_pd": results.records["analytic"],
        "ilr_pd": results.records["ilr"],
        "ilr_pd_loaded": results.records["loaded"],
    }
    mse = {name: record.mean_squared_error for name, record in records.items()}
    torque = {name: record.mean_pd_torque for name, record in records.items()}
    loop_times = 1e3 * np.concatenate(results.loop_times)
    return {
        "benchmark": "demo",
        "tracking_mse": {
            **mse,
            "ilr_pd_rounds": [record.mean_squared_error for record in results.rounds],
        },
        "pd_torque": {
            **torque,
            "ilr_pd_rounds": [record.mean_pd_torque for record in results.rounds],
        },
        "samples": results.samples,
        "components": results.components,
        "learn_s": results.learn_s,
        "loop_ms_p50": float(np.percentile(loop_times, 50)),
        "loop_ms_p99": float(np.percentile(loop_times, 99)),
    }


def table(results: DemoResults, test: str) -> str:
    """Return a table of error and PD torque of all controllers on the trajectory `test`."""
    pd = results.records["pd"]
    rows = {"PD": pd, "analytic + PD": results.records["analytic"]}
    for number, record in enumerate(results.rounds, 1):
        rows[f"ILR + PD, round {number}"] = record
    rows["ILR + PD, snapshot loaded"] = results.records["loaded"]
    return format_table(
        [f"controller on {test}", "error [rad^2]", "PD / this", "PD torque [Nm]", "PD / this"],
        [
            [
                label,
                f"{record.mean_squared_error:.2e}",
                f"{pd.mean_squared_error / record.mean_squared_error:.1f}",
                f"{record.mean_pd_torque:.2f}",
                f"{pd.mean_pd_torque / record.mean_pd_torque:.1f}",
            ]
            for label, record in rows.items()
        ],
    )
