# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics of the tool point by damped least squares."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.exceptions import TrajectoryError
from ilr_dynamics.robot.rigid_body import RigidBodyModel

__all__ = ["inverse_kinematics"]

_DAMPING = 1e-4
_FAR = 0.01  # m, error from which the damping is full
_ROUNDING = 1e-12
_MAX_STEP = 0.3


def inverse_kinematics(
    model: RigidBodyModel,
    tool_position: ArrayLike,
    *,
    start: ArrayLike,
    resting_posture: ArrayLike,
    tolerance: float = 1e-9,
    max_iterations: int = 200,
) -> FloatArray:
    """
    Find joint angles for a tool point, close to a resting posture in the null space.

    Each step is J^+ e + (I - J^+ J) (q_rest - q) with J^+ = J^T (J J^T + d I)^-1 and a damping d
    that vanishes with the error e (Nakamura and Hanafusa, 1986; Siciliano, 1990). At convergence
    the angles do not depend on the start, so a smooth tool path gives a smooth joint path.

    Parameters
    ----------
    model : RigidBodyModel
        Model of the arm.
    tool_position : array_like of shape (3,)
        Desired tool point in the base frame [m].
    start : array_like of shape (n_joints,)
        Joint angles to start from [rad].
    resting_posture : array_like of shape (n_joints,)
        Preferred joint angles [rad].
    tolerance : float
        Largest remaining step [rad] and tool error [m].
    max_iterations : int
        Largest number of steps.

    Returns
    -------
    ndarray of shape (n_joints,)
        Joint angles [rad].

    Raises
    ------
    TrajectoryError
        If the point is out of reach or needs angles outside the joint range, or if the iteration
        does not converge, as from a resting posture that is too far away.
    """
    target = np.asarray(tool_position, dtype=np.float64)
    rest = np.asarray(resting_posture, dtype=np.float64)
    position = np.array(start, dtype=np.float64)
    for _ in range(max_iterations):
        error = target - model.tool_position(position)
        step = _step(model.tool_jacobian(position), error, rest - position)
        position += step
        if max(np.abs(step).max(), np.abs(error).max()) < tolerance:
            return _within_range(model, position, target)
    raise TrajectoryError(
        f"tool point {target.tolist()} not reached in {max_iterations} steps: still "
        f"{np.linalg.norm(error):.2g} m away and moving by {np.abs(step).max():.2g} rad per step, "
        f"expected at most {tolerance:.2g}"
    )


def _step(jacobian: FloatArray, error: FloatArray, to_rest: FloatArray) -> FloatArray:
    damping = _DAMPING * min(1.0, float(error @ error) / _FAR**2) + _ROUNDING
    gram = jacobian @ jacobian.T + damping * np.eye(3)
    step = to_rest + jacobian.T @ np.linalg.solve(gram, error - jacobian @ to_rest)
    return step * min(1.0, _MAX_STEP / max(float(np.abs(step).max()), 1e-300))


def _within_range(model: RigidBodyModel, position: FloatArray, target: FloatArray) -> FloatArray:
    description = model.description
    outside = (position < description.position_lower) | (position > description.position_upper)
    if outside.any():
        joint = int(np.argmax(outside))
        raise TrajectoryError(
            f"tool point {target.tolist()} needs {description.joint_names[joint]} = "
            f"{position[joint]:.3f} rad, expected {description.position_lower[joint]} to "
            f"{description.position_upper[joint]}"
        )
    return position
