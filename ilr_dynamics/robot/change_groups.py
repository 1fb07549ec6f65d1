# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Parameters of inverse dynamics that change together: a payload, friction of a joint, all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ilr_dynamics.arrays import BoolArray, FloatArray, IndexArray
from ilr_dynamics.robot.dynamics_terms import (
    N_INERTIAL,
    N_OF_JOINT,
    N_OF_MOTOR,
    N_PLAIN,
    N_SPEEDS,
)
from ilr_dynamics.robot.pseudo_inertia import moved

__all__ = ["ChangeGroup", "change_groups", "whole_arm"]

# Of a usual payload: its mass, kg, and the distance of the mass from the tool point, m.
PAYLOAD, PAYLOAD_SIZE = 1.0, 0.1
# Usual change of each term of friction besides, as a share of its prior deviation.
SHARE_OF_PRIOR = 0.3


@dataclass(frozen=True, eq=False)
class ChangeGroup:
    """
    Something that may have changed.

    Attributes
    ----------
    name : str
        For the user.
    parameters : ndarray of shape (p,)
        Indices of its parameters, in the order of `DynamicsRegressor`.
    factor : ndarray of shape (p, k)
        Root F of the covariance F F' that a change of usual size has.
    joints : ndarray of shape (n,)
        Whether the torque of each joint depends on them.
    """

    name: str
    parameters: IndexArray
    factor: FloatArray
    joints: BoolArray


def change_groups(
    motors: FloatArray, tool: FloatArray, parameters: FloatArray, prior_std: FloatArray
) -> list[ChangeGroup]:
    """
    Return what may change by itself: the payload, and friction.

    A payload is a body at the tool. Friction of a joint is that in the joint and in a motor that
    turns no other one. A motor of a differential turns several joints: its friction is a group of
    its own. Friction changes as a whole, as with temperature, and a little in each of its terms.

    Parameters
    ----------
    motors : ndarray of shape (n, n)
        Rows of the joint-to-motor matrix.
    tool : ndarray of shape (3,)
        Tool point in the frame of the last joint, m.
    parameters, prior_std : ndarray of shape (P,)
        Parameters as they were, and their prior deviations.
    """
    n = len(motors)

    def friction(name: str, own: IndexArray, joints: BoolArray) -> ChangeGroup:
        as_a_whole = parameters[own, None]
        each = SHARE_OF_PRIOR * np.diag(prior_std[own])
        return ChangeGroup(name, own, np.hstack([as_a_whole, each]), joints)

    turned = motors != 0.0
    of_joints = [[_of_joint(n, joint)] for joint in range(n)]
    shared = []
    for motor in range(n):
        joints = np.flatnonzero(turned[motor])
        if joints.size == 1:
            of_joints[joints[0]].append(_of_motor(n, motor))
        else:
            name = f"friction of motor {motor + 1} (joints {_listed(joints + 1)})"
            shared.append(friction(name, _of_motor(n, motor), turned[motor]))
    return [
        _payload(n, tool),
        *(
            friction(f"friction of joint {joint + 1}", np.concatenate(own), np.arange(n) == joint)
            for joint, own in enumerate(of_joints)
        ),
        *shared,
    ]


def whole_arm(prior_std: FloatArray, n_joints: int) -> ChangeGroup:
    """Return the group of all parameters, which have these prior deviations (P,)."""
    every = np.arange(prior_std.size)
    return ChangeGroup("everything", every, np.diag(prior_std), np.ones(n_joints, dtype=bool))


def _payload(n: int, tool: FloatArray) -> ChangeGroup:
    """Mass, first and second moments of a body at the tool, as those of the last body."""
    last = np.arange(N_INERTIAL * (n - 1), N_INERTIAL * n)
    to_joint = np.eye(4)
    to_joint[:3, 3] = tool
    usual = PAYLOAD * PAYLOAD_SIZE ** np.repeat([0.0, 1.0, 2.0], [1, 3, 6])
    return ChangeGroup("payload", last, moved(to_joint) * usual, np.ones(n, dtype=bool))


def _of_motor(n: int, motor: int) -> IndexArray:
    """Viscous and dry friction of a motor; its rotor, which comes first, does not change."""
    return N_INERTIAL * n + n * np.arange(1, N_OF_MOTOR) + motor


def _of_joint(n: int, joint: int) -> IndexArray:
    """Dry friction of a joint, by load and position too, without terms in the position alone."""
    first = n * (N_INERTIAL + N_OF_MOTOR) + N_OF_JOINT * joint
    return first + np.concatenate([np.arange(N_SPEEDS), np.arange(N_PLAIN, N_OF_JOINT)])


def _listed(numbers: IndexArray) -> str:
    *first, last = map(str, numbers)
    return f"{', '.join(first)} and {last}"
