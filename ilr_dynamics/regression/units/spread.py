# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Spread factors: what calibration multiplies standard deviations by."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["SpreadFactors"]


@dataclass(frozen=True)
class SpreadFactors:
    """
    Factors on standard deviations.

    Attributes
    ----------
    components
        Of all components that hold samples.
    unseen
        Of the unseen component.
    """

    components: float = 1.0
    unseen: float = 1.0
