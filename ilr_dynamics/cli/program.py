# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What the programs have in common: errors become a line on stderr and an exit code."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from ilr_dynamics.exceptions import IlrDynamicsError

__all__ = ["FAILED", "INTERRUPTED", "run_program"]

FAILED = 1
INTERRUPTED = 130
"""Exit code of a program that Ctrl-C ended, as shells have it."""


def run_program(
    name: str,
    work: Callable[[Sequence[str] | None], int | None],
    arguments: Sequence[str] | None,
    *,
    failed: int = FAILED,
    interrupted: str = "interrupted; nothing was written",
) -> int:
    """
    Run a program and say what went wrong.

    Parameters
    ----------
    name : str
        Name of the program, with which each of its lines on stderr begins.
    work : callable
        What it does with its command line, and returns as its exit code; None is 0.
    arguments : sequence of str or None
        Command line without the program's name; None: that of the process.
    failed : int
        Exit code after an error of the package or of a file.
    interrupted : str
        What to say when a person has interrupted it.

    Returns
    -------
    int
        Exit code.
    """
    try:
        return work(arguments) or 0
    except (IlrDynamicsError, OSError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return failed
    except KeyboardInterrupt:
        print(f"{name}: {interrupted}", file=sys.stderr)
        return INTERRUPTED
