# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Programs that keep processors busy beside what is measured."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

__all__ = ["busy_programs"]

# Busy programs have begun, and those of the turn before have ended.
SETTLING_TIME = 0.5


@contextmanager
def busy_programs(count: int) -> Iterator[None]:
    """Programs that compute without end, in sessions of their own as if of other users."""
    with ExitStack() as stack:
        for _ in range(count):
            program = subprocess.Popen(
                [sys.executable, "-c", "while True: pass"], start_new_session=True
            )
            stack.callback(program.wait)
            stack.callback(program.kill)
        time.sleep(SETTLING_TIME)
        yield
