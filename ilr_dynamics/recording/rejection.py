# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Reasons why states of a recording are not used, and their counts."""

from __future__ import annotations

from collections import Counter
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

__all__ = ["Rejection", "count_rejections"]


class Rejection(IntEnum):
    """Reason why a joint state gives no sample; reports show the name in lower case."""

    NONE = 0
    UNREADABLE = 1
    OTHER_JOINTS = 2
    MISSING_FIELD = 3
    WRONG_SIZE = 4
    NOT_FINITE = 5
    WRONG_STAMP = 6
    REPEATED_STAMP = 7
    NO_TORQUE = 8
    SHORT_STRETCH = 9
    FILTER_EDGE = 10
    SATURATED_TORQUE = 11
    STANDING_STILL = 12
    THINNED = 13
    POSITION_JUMP = 14
    GUIDED = 15


def count_rejections(reasons: NDArray[np.uint8]) -> Counter[str]:
    """Count the rejections by reason, without reasons that did not occur."""
    # Without NONE, which most are: bincount converts each value to 64 bits.
    counts = np.bincount(reasons[reasons != Rejection.NONE], minlength=len(Rejection))
    return Counter(
        {
            reason.name.lower(): int(counts[reason])
            for reason in Rejection
            if reason is not Rejection.NONE and counts[reason]
        }
    )
