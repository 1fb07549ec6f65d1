# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Warnings of a fit as lines of a report, not as Python's warnings in a log."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ilr_dynamics.exceptions import ConvergenceWarning, DoubtfulDataWarning

__all__ = ["noted_convergence"]


@contextmanager
def noted_convergence() -> Iterator[list[str]]:
    """
    Collect convergence warnings in a list; doubts on data are left out.

    Recordings are judged by `implausible_torques`, which refuses what these doubts warn of. Like
    `warnings.catch_warnings` it holds for the whole process.
    """
    texts: list[str] = []
    with warnings.catch_warnings():
        show = warnings.showwarning

        def note(message: Any, category: type[Warning], *rest: Any, **named: Any) -> None:
            if issubclass(category, ConvergenceWarning):
                texts.append(str(message))
            else:
                show(message, category, *rest, **named)

        warnings.showwarning = note
        warnings.simplefilter("always", ConvergenceWarning)
        warnings.simplefilter("ignore", DoubtfulDataWarning)
        yield texts
