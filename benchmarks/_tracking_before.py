# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
What the controllers reached at commit e44dc7d, frozen: later ones are judged by it.

By plant, controller and path, one value a seed (0, 1, 2).
"""

from __future__ import annotations

__all__ = ["ERRORS_OF_PHYSICS", "SCORES_OF_PHYSICS_ILR", "OfSeeds"]

OfSeeds = list[float | None]
"""One value a seed, None where the controller ended in a fault."""
OfPaths = dict[str, dict[str, OfSeeds]]

ERRORS_OF_PHYSICS: OfPaths = {}
"""Mean squared errors of `physics_pd`, rad^2."""

SCORES_OF_PHYSICS_ILR: OfPaths = {}
"""Mean interval scores of `physics_ilr_pd`, Nm."""
