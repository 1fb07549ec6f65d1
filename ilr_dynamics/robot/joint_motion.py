# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Joint motion as an array of knots."""

from __future__ import annotations

from typing import NamedTuple

from ilr_dynamics.arrays import FloatArray

__all__ = ["JointMotion"]


class JointMotion(NamedTuple):
    """Motion of the joints, given at knots."""

    times: FloatArray
    """Times since the start [s], shape (n,)."""
    positions: FloatArray
    """Joint angles [rad], shape (n, n_joints)."""
    velocities: FloatArray
    """Joint velocities [rad/s], shape (n, n_joints)."""
    accelerations: FloatArray
    """Joint accelerations [rad/s^2], shape (n, n_joints)."""
