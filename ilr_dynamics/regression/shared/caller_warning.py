# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Warnings that name the caller's line, however deep inside the package they arise."""

from __future__ import annotations

import contextlib
import sys
import warnings
from pathlib import Path

__all__ = ["warn_caller"]

# The package, and what its decorators are made with.
INSIDE = f"{Path(__file__).parents[2]}/", contextlib.__file__


def warn_caller(text: str, category: type[Warning]) -> None:
    """Warn at the innermost line outside the package."""
    # From Python 3.12 on `warnings.warn` has `skip_file_prefixes` for it.
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(INSIDE):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)
