# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
Wrench at the tool point from external joint torques, with what cannot be known of it.

Torques are :math:`\tau = J^T w + e` with the Jacobian J of the tool, the wrench w and what the
model's torque errs by, e. Solving for w by a (pseudo-)inverse fails near singularities, where a
small error becomes a large force, and for arms with fewer than six joints. With a broad normal
prior for w it is linear regression: the error and the prior say how far each component follows the
torques, and the covariance says what is known of it. This is a damped inverse whose damping is no
free number.

.. math::
    G = S J (J^T S J + E)^{-1}, \qquad \hat w = G \tau, \qquad
    \operatorname{cov}(w) = S - G J^T S
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.robot.rigid_body import RigidBodyModel

__all__ = ["ToolWrench", "WrenchPrior", "tool_wrench"]

# Lever, as a share of the arm's reach, at which forces beside the tool point are expected to act.
LEVER = 0.1


class ToolWrench(NamedTuple):
    """
    Force and torque at the tool point, in the axes of the Jacobian.

    Attributes
    ----------
    mean : ndarray of shape (6,)
        Force, N, and torque, Nm.
    std : ndarray of shape (6,)
        Standard deviations of these.
    known : ndarray of shape (6,)
        Share of each component that the torques tell, in [0, 1]: one minus the ratio of the
        variances after and before.
    """

    mean: FloatArray
    std: FloatArray
    known: FloatArray


class WrenchPrior(NamedTuple):
    """
    What wrenches are expected of people and obstacles.

    Attributes
    ----------
    force : float
        Standard deviation of each component of the force, N.
    torque : float
        The same of the torque about the tool point, Nm.
    """

    force: float
    torque: float

    @classmethod
    def of_arm(cls, model: RigidBodyModel) -> Self:
        """Return that of an arm: as large as its strongest joint holds, stretched out."""
        points = model.arm_points(np.zeros(model.n_joints))
        reach = float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())
        force = float(model.description.torque_limit.max()) / reach
        return cls(force, LEVER * reach * force)


def tool_wrench(
    jacobian: FloatArray, torque: FloatArray, std: FloatArray, prior: WrenchPrior
) -> ToolWrench:
    """
    Return the wrench at the tool that explains external torques.

    Parameters
    ----------
    jacobian : ndarray of shape (6, n_joints)
        Of the tool point: linear and angular velocity for joint velocities.
    torque, std : ndarray of shape (n_joints,)
        External torques and the positive deviation of their errors, Nm.
    prior : WrenchPrior
        What is expected without them.
    """
    # Of many calls of NumPy for few numbers each, the slow ones are left out: half of the time.
    deviation = np.array((prior.force,) * 3 + (prior.torque,) * 3)
    # In units of the prior and of the errors all matrices are well scaled.
    scaled = (deviation[:, np.newaxis] * jacobian) / std
    gram = scaled.T @ scaled + np.eye(len(std))
    gain = np.linalg.solve(gram, scaled.T).T
    known = np.minimum(np.maximum((gain * scaled).sum(axis=1), 0.0), 1.0)
    return ToolWrench(deviation * (gain @ (torque / std)), deviation * np.sqrt(1.0 - known), known)
