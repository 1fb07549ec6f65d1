# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Colours of the markers, on RViz's dark grey."""

from __future__ import annotations

import numpy as np

__all__ = [
    "DESIRED",
    "FEEDBACK",
    "FEEDFORWARD",
    "GOOD",
    "MEASURED",
    "MIDDLING",
    "PLAIN",
    "SUBDUED",
    "TOTAL",
    "WRONG",
    "Rgb",
    "between",
]

Rgb = tuple[float, float, float]
"""Red, green and blue, 0 to 1."""

PLAIN: Rgb = (0.95, 0.95, 0.95)
SUBDUED: Rgb = (0.62, 0.62, 0.62)
GOOD: Rgb = (0.3, 0.9, 0.4)
MIDDLING: Rgb = (1.0, 0.8, 0.15)
WRONG: Rgb = (1.0, 0.3, 0.25)

# Paths, and torques, which have no colour in common: blue and orange are positions.
DESIRED: Rgb = (0.3, 0.6, 1.0)
MEASURED: Rgb = (1.0, 0.55, 0.1)
TOTAL: Rgb = PLAIN
FEEDFORWARD: Rgb = (0.75, 0.5, 1.0)
FEEDBACK: Rgb = (0.95, 0.9, 0.3)

_SCALE = np.array([WRONG, MIDDLING, GOOD])


def between(share: float) -> Rgb:
    """Return red for a share of zero, yellow for one half, green for one."""
    red, green, blue = (float(np.interp(share, [0.0, 0.5, 1.0], part)) for part in _SCALE.T)
    return red, green, blue
