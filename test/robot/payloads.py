# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Payloads for tests, and what an arm that carries them is asked for."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from ilr_dynamics.robot.payload import Payload

__all__ = ["box", "payloads"]


def box(mass, com, sides):
    """A box of even density."""
    squares = np.square(sides)
    moments = mass / 12.0 * (squares.sum() - squares)
    return Payload(mass, com, [moments[0], 0.0, 0.0, moments[1], 0.0, moments[2]])


def payloads():
    """Boxes of all kinds, turned in no way: their tensors are diagonal about their centres."""
    coordinate = st.floats(-0.2, 0.2)
    side = st.floats(0.01, 0.4)
    return st.builds(
        box,
        st.floats(0.01, 5.0),
        st.tuples(coordinate, coordinate, coordinate),
        st.tuples(side, side, side),
    )
