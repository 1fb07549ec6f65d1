# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Parsing of the numbers in a URDF, as strictly as Pinocchio does."""

from __future__ import annotations

import math
import re

__all__ = ["finite_number", "finite_numbers"]

# Pinocchio silently treats a link as massless if it cannot parse a number, and it parses less than
# Python's float does: no blank after the number, no underscores, no infinity.
_NUMBER = re.compile(r"[ \t\r\n]*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def finite_number(text: str | None) -> float | None:
    """Return the number in a text; None if it is not a finite decimal number."""
    if text is None or _NUMBER.fullmatch(text) is None:
        return None
    value = float(text)
    return value if math.isfinite(value) else None


def finite_numbers(text: str) -> tuple[float, ...] | None:
    """Return the three numbers in a text, as of a position; None if they are not three."""
    numbers = [finite_number(word) for word in text.split()]
    found = tuple(number for number in numbers if number is not None)
    return found if len(found) == len(numbers) == 3 else None
