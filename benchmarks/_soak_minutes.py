# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What a minute of a soak test was like; table and picture of all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.cli.table import format_table
from ilr_dynamics.cli.tracking_record import TrackingRecord
from ilr_dynamics.robot.driver import EventKind
from ilr_dynamics_msgs.msg import ControllerState
from ilr_dynamics_msgs.srv import UpdateModel

__all__ = ["Minute", "Observations", "draw", "minutes_table", "summary", "was_worse"]

LEVELS = {
    DiagnosticStatus.OK: "OK",
    DiagnosticStatus.WARN: "WARN",
    DiagnosticStatus.ERROR: "ERROR",
    DiagnosticStatus.STALE: "STALE",
}


@dataclass
class Observations:
    """
    What is noted as a minute goes by.

    Attributes
    ----------
    node_sizes : list of float
        Memory of the controller's process, about once a second, MB.
    learner_size : float
        Most that the learner's process held, MB.
    diagnostics : Counter
        How often each (level, name, message) was reported.
    braked : list of int
        How often the simulator had put its brakes on for want of a torque, about once a second.
    """

    node_sizes: list[float] = field(default_factory=list)
    learner_size: float = 0.0
    diagnostics: Counter[tuple[bytes, str, str]] = field(default_factory=Counter)
    braked: list[int] = field(default_factory=list)

    def add_diagnostics(self, message: DiagnosticArray) -> None:
        """Take note of a report."""
        for status in message.status:
            self.diagnostics[status.level, status.name, status.message] += 1
            self.braked += [int(v.value) for v in status.values if v.key == EventKind.BRAKED.value]


@dataclass(frozen=True)
class Minute:
    """
    A minute, complete.

    Attributes
    ----------
    number : int
        0 for the one before the first update.
    record : TrackingRecord
        All reports of the controller.
    observations : Observations
    update : UpdateModel.Response, optional
        Of the update that was made meanwhile.
    """

    number: int
    record: TrackingRecord
    observations: Observations
    update: UpdateModel.Response | None

    @property
    def tracked(self) -> TrackingRecord:
        """The reports while a trajectory was followed."""
        return self.record.during(ControllerState.TRACKING)

    @property
    def faults(self) -> int:
        """How often the controller went to fault."""
        fault = self.record.mode == ControllerState.FAULT
        return int(fault[0]) + int(np.sum(fault[1:] & ~fault[:-1]))

    @property
    def brakings(self) -> int:
        """How often the simulator put its brakes on, as no torque came in time."""
        counts = self.observations.braked
        return counts[-1] - counts[0] if counts else 0

    @property
    def components(self) -> int | None:
        """Occupied components of the model in the end; None if no update was made."""
        if self.update is None:
            return None
        return (
            self.update.components_after if self.update.success else self.update.components_before
        )

    @property
    def level(self) -> str:
        """Worst level of the diagnostics, and how many reports in how many were not OK."""
        counts = self.observations.diagnostics
        bad = sum(n for (level, *_), n in counts.items() if level != DiagnosticStatus.OK)
        worst = max((level for level, *_ in counts), default=DiagnosticStatus.STALE)
        return f"{LEVELS[worst]} {bad}/{counts.total()}"

    def warnings(self) -> list[str]:
        """Diagnostics that were not OK."""
        return [
            f"{LEVELS[level]} {name}: {message} ({n} x)"
            for (level, name, message), n in self.observations.diagnostics.items()
            if level != DiagnosticStatus.OK
        ]


def was_worse(answer: UpdateModel.Response) -> bool:
    """Whether an update was refused for its errors: only then are they in a refusal."""
    return not answer.success and len(answer.newest_error_after) > 0


def minutes_table(minutes: Sequence[Minute]) -> str:
    """Lay out one row a minute."""
    header = [
        "minute",
        "error [rad^2]",
        "PD [Nm]",
        "gate",
        "loop p50, p99 [ms]",
        "update",
        "components",
        "samples",
        "learning [s]",
        "node, learner [MB]",
        "diagnostics",
        "brakings",
        "faults",
    ]
    return format_table(header, [_row(minute) for minute in minutes])


def _row(minute: Minute) -> list[object]:
    tracked, update = minute.tracked, minute.update
    loop = np.percentile(1e3 * minute.record.loop_time, (50, 99))
    seen = minute.observations
    learned: list[object] = ["", "", "", ""]
    if update is not None:
        learned = [
            "learned" if update.success else "worse" if was_worse(update) else "failed",
            minute.components,
            update.samples_used,
            f"{update.learning_time:.1f}",
        ]
    return [
        minute.number,
        f"{tracked.mean_squared_error:.2e}",
        f"{tracked.mean_pd_torque:.3f}",
        f"{np.mean(tracked.gate):.3f}",
        f"{loop[0]:.3f}, {loop[1]:.3f}",
        *learned,
        f"{_size(minute):.1f}, {seen.learner_size:.1f}",
        minute.level,
        minute.brakings,
        minute.faults,
    ]


def _size(minute: Minute) -> float:
    return float(np.median(minute.observations.node_sizes or [np.nan]))


def summary(minutes: Sequence[Minute], lateness: FloatArray) -> dict[str, float | None]:
    """
    Figures of all minutes.

    The memory's growth is from the first minute with a model to the last one.

    Parameters
    ----------
    minutes
        From number 0 on.
    lateness : (n,)
        Of a process that only slept meanwhile, s: what the machine gives at best.
    """
    answers = [minute.update for minute in minutes if minute.update is not None]
    loop_times = np.concatenate([minute.record.loop_time for minute in minutes])
    with_model = [minute for minute in minutes if minute.number > 0] or minutes
    figures = {
        "first_mse": minutes[0].tracked.mean_squared_error,
        "last_mse": minutes[-1].tracked.mean_squared_error,
        "rss_growth_mb": _size(with_model[-1]) - _size(with_model[0]),
        "ms_p99": 1e3 * np.percentile(loop_times, 99),
        "timer_ms_p99": 1e3 * np.percentile(lateness, 99),
        "timer_max_ms": 1e3 * np.max(lateness),
    }
    return {
        "minutes": minutes[-1].number,
        "faults": sum(minute.faults for minute in minutes),
        "updates": sum(answer.success for answer in answers),
        "brakings": sum(minute.brakings for minute in minutes),
        "refused": sum(was_worse(answer) for answer in answers),
        # JSON knows no NaN, which is the mean error of a minute without tracking.
        **{
            name: float(f"{value:.4g}") if np.isfinite(value) else None
            for name, value in figures.items()
        },
    }


def draw(minutes: Sequence[Minute], path: Path) -> None:
    """Draw error, components and memory by the minute."""
    numbers = [minute.number for minute in minutes]
    figure = Figure(figsize=(8.0, 6.4), layout="constrained")
    error, components, memory = figure.subplots(3, sharex=True)
    errors = [minute.tracked.mean_squared_error for minute in minutes]
    error.semilogy(numbers, errors, "o-", color="tab:green", ms=4)
    error.set_ylabel("squared error\n[rad$^2$]")
    learned = [(minute.number, minute.components) for minute in minutes if minute.update]
    components.plot(*zip((0, 0), *learned, strict=True), "o-", ms=4)
    components.set_ylabel("components")
    memory.plot(numbers, [_size(minute) for minute in minutes], "o-", ms=4, label="controller")
    peaks = [minute.observations.learner_size or np.nan for minute in minutes]
    memory.plot(numbers, peaks, "s-", ms=4, label="learner, peak")
    memory.set_ylabel("memory [MB]")
    memory.set_ylim(0.0, 1.1 * memory.get_ylim()[1])
    memory.xaxis.set_major_locator(MaxNLocator(integer=True))
    memory.set_xlabel("minute; an update within each but the first")
    memory.legend(loc="lower right")
    for axes in (error, components, memory):
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=120)
