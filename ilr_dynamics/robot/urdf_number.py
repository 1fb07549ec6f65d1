# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Numbers in the text of a URDF, as its parsers read them."""

from __future__ import annotations

import math
import re

__all__ = ["finite_number"]

# Pinocchio takes a link for one without mass where it cannot read a number, and that is less than
# Python's float reads: no blank after it, no underscores, no infinity.
_NUMBER = re.compile(r"[ \t\r\n]*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def finite_number(text: str | None) -> float | None:
    """Return the finite decimal number that a text is; None if it is none."""
    if text is None or _NUMBER.fullmatch(text) is None:
        return None
    value = float(text)
    return value if math.isfinite(value) else None
