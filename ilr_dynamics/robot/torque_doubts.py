# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Doubts whether samples (X, Y) are of the described arm: joint order, signs, units, gravity."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np
import scipy

from ilr_dynamics.arrays import FloatArray, IndexArray

__all__ = ["MAX_DISTANCE", "RigidTorque", "distance_to_model", "friction_in", "torque_doubts"]

RigidTorque = Callable[[FloatArray, FloatArray], FloatArray]
"""Torques (n, n_joints), Nm, of the described bodies at inputs [q, qd, qdd] (n, 3 n_joints), with
this gravity (3,), m/s^2."""

# Largest distance between torques, friction set aside, and those of the rigid-body model: the norm
# of the difference over all joints, relative to the norm of the model's. At most 0.39 on
# the simulated arms and 0.35 on the recording of a real one, with friction. Torques of the wrong
# sign are at 2.0, torques ten times too large at 8 and more.
MAX_DISTANCE = 1.5
# Largest number of samples compared.
MAX_SAMPLES = 300
# A joint is explained well if the model leaves this share of its torque: less is no evidence, as
# friction and wrong masses leave as much.
EXPLAINED = 0.3
# Another reading of the samples is told if what it leaves of the torques is smaller by these
# factors: the product over all joints, and the mean over the joints that it is about.
ALL_JOINTS, EACH_JOINT = 5.0, 2.0
FEW_JOINTS = 4
# Masses of a description are rarely wrong by more.
SMALLEST_UNIT = 3.0
UNITS = np.geomspace(1e-4, 1e4, 49)
DEGREE = np.pi / 180.0


@dataclass(frozen=True)
class _Reading:
    """
    What the samples might be instead, and how much of the torques would then be left.

    Attributes
    ----------
    text : str
        For the user.
    left : ndarray of shape (n_joints,)
        Share of each joint's torque that the model and friction leave.
    """

    text: str
    left: FloatArray


def torque_doubts(
    rigid_torque: RigidTorque, gravity: FloatArray, X: FloatArray, Y: FloatArray
) -> list[str]:
    """
    Tell why samples do not look like those of the described arm.

    The samples are read in other ways, with joints in another order, other signs and units,
    another gravity. Friction, which the description lacks, is set aside each time: it may be
    larger than all weight.

    Parameters
    ----------
    rigid_torque : callable
        Torques of the described bodies.
    gravity : ndarray of shape (3,)
        As described, m/s^2.
    X : ndarray of shape (n, 3 n_joints)
        Inputs [q, qd, qdd], rad, rad/s, rad/s^2.
    Y : ndarray of shape (n, n_joints)
        Torques, Nm.

    Returns
    -------
    list of str
        What is probably wrong, the most probable first; empty if nothing is.
    """
    chosen = slice(None, None, max(1, -(-len(X) // MAX_SAMPLES)))
    X, Y = X[chosen], Y[chosen]
    described = rigid_torque(X, gravity)
    left = _left(Y, described, X)
    if np.sum(_nats(left) - np.log(EXPLAINED)) < np.log(ALL_JOINTS):
        # No other reading could be so much better.
        return []
    readings = [r for r in _readings(rigid_torque, gravity, X, Y) if _is_better(r.left, left)]
    if readings:
        best = min(readings, key=lambda reading: float(np.sum(_nats(reading.left))))
        return [
            f"the torques do not fit the description, which leaves {_percent(left)} of them: "
            f"{best.text}, it would leave {_percent(best.left)}; expected X = [q, qd, qdd] in "
            "rad, rad/s and rad/s^2 and Y in Nm, of the joints in the order of the description"
        ]
    distance = distance_to_model(Y - friction_in(Y - described, X), described)
    if distance > MAX_DISTANCE:
        return [
            f"the torques are {distance:.2g} times as far from those of the description as zero "
            f"torque would be; expected at most {MAX_DISTANCE:g} times: are order, signs and "
            "units those of the arm, and is gravity as described?"
        ]
    return []


def _readings(
    rigid_torque: RigidTorque, gravity: FloatArray, X: FloatArray, Y: FloatArray
) -> Iterator[_Reading]:
    described = rigid_torque(X, gravity)
    n = Y.shape[1]
    for unit in UNITS:
        if max(unit, 1.0 / unit) >= SMALLEST_UNIT:
            text = f"were they {float(f'{1.0 / unit:.2g}'):g} times as large"
            yield _Reading(text, _left(Y / unit, described, X))
    size = float(np.linalg.norm(gravity)) or 9.81
    for direction in (np.zeros(3), *np.eye(3), *-np.eye(3)):
        other = size * direction
        if not np.allclose(other, gravity, atol=0.1 * size):
            text = f"were gravity {np.round(other, 2).tolist()} m/s^2"
            yield _Reading(text, _left(Y, rigid_torque(X, other), X))
    for text, inputs in _inputs(X, n):
        yield _Reading(f"were {text}", _left(Y, rigid_torque(inputs, gravity), inputs))
    yield _Reading("were all signs of the torques turned round", _left(-Y, described, X))
    for joint in range(n):
        sign = np.where(np.arange(n) == joint, -1.0, 1.0)
        turned = X * np.tile(sign, 3)
        of_motion = rigid_torque(turned, gravity)
        where = f"of joint {joint + 1}"
        yield _Reading(
            f"were the sign of the torque {where} the other", _left(sign * Y, described, X)
        )
        yield _Reading(
            f"were the sign of the motion {where} the other", _left(Y, of_motion, turned)
        )
        yield _Reading(
            f"were the signs of motion and torque {where} the others",
            _left(sign * Y, of_motion, turned),
        )
    for order in _orders(n, Y, described, X):
        moved = X.reshape(len(X), 3, n)[:, :, order].reshape(X.shape)
        of_motion = rigid_torque(moved, gravity)
        joints = f"in the order {(order + 1).tolist()}"
        yield _Reading(f"were the joints of Y {joints}", _left(Y[:, order], described, X))
        yield _Reading(f"were the joints of X {joints}", _left(Y, of_motion, moved))
        yield _Reading(
            f"were the joints of X and Y {joints}", _left(Y[:, order], of_motion, moved)
        )


def _inputs(X: FloatArray, n: int) -> Iterator[tuple[str, FloatArray]]:
    """Inputs in other units, or with columns in another order, and how to tell of it."""
    yield "X in degrees", DEGREE * X
    yield "X in turns", 2.0 * np.pi * X
    by_joint = X.reshape(len(X), n, 3).swapaxes(1, 2).reshape(X.shape)
    yield "the columns of X [q, qd, qdd] of one joint after the other", by_joint
    q, qd, qdd = np.split(X, 3, axis=1)
    yield "X = [q, qdd, qd]", np.hstack([q, qdd, qd])
    yield "X = [qdd, qd, q]", np.hstack([qdd, qd, q])


def _orders(n: int, Y: FloatArray, described: FloatArray, X: FloatArray) -> Iterator[IndexArray]:
    """Orders of the joints: all of a few, else those that people get wrong, or that fit best."""
    if n <= FEW_JOINTS:
        orders = [np.array(order) for order in permutations(range(n))]
    else:
        velocity = np.split(X, 3, axis=1)[1]
        left = [
            [_left_of(Y[:, i], described[:, j], velocity[:, j]) for i in range(n)]
            for j in range(n)
        ]
        orders = [scipy.optimize.linear_sum_assignment(np.log(np.maximum(left, EXPLAINED)))[1]]
        orders += [np.arange(n)[::-1], np.roll(np.arange(n), 1), np.roll(np.arange(n), -1)]
        for one, other in combinations(range(n), 2):
            order = np.arange(n)
            order[[one, other]] = other, one
            orders.append(order)
    yield from (order for order in orders if not np.array_equal(order, np.arange(n)))


def _is_better(left: FloatArray, described: FloatArray) -> bool:
    gains = _nats(described) - _nats(left)
    changed = gains[np.abs(gains) > 0.01]
    if not changed.size:
        return False
    return bool(np.sum(gains) >= np.log(ALL_JOINTS) and np.mean(changed) >= np.log(EACH_JOINT))


def _nats(left: FloatArray) -> FloatArray:
    return np.asarray(0.5 * np.log(left**2 + EXPLAINED**2))


def _percent(left: FloatArray) -> str:
    return f"{float(np.exp(np.mean(np.log(left + 1e-9)))):.0%}"


def _left(Y: FloatArray, model: FloatArray, X: FloatArray) -> FloatArray:
    """Share (n_joints,) of each joint's torque that the model and friction leave."""
    velocity = np.split(X, 3, axis=1)[1]
    joints = zip(Y.T, model.T, velocity.T, strict=True)
    return np.array([_left_of(*joint) for joint in joints])


def _left_of(torque: FloatArray, model: FloatArray, velocity: FloatArray) -> float:
    size = float(np.linalg.norm(torque))
    if size == 0.0:
        return 1.0
    return float(scipy.optimize.nnls(_friction_columns(velocity), torque - model)[1]) / size


def friction_in(rest: FloatArray, X: FloatArray) -> FloatArray:
    """
    Return the friction in what a rigid-body model leaves of torques.

    Parameters
    ----------
    rest : ndarray of shape (n, n_joints)
        Torques less those of the model, Nm.
    X : ndarray of shape (n, 3 n_joints)
        Inputs [q, qd, qdd].

    Returns
    -------
    ndarray of shape (n, n_joints)
        Dry and viscous friction, Nm.
    """
    friction = np.empty_like(rest)
    velocity = np.split(X, 3, axis=1)[1]
    for j, (torque, speed) in enumerate(zip(rest.T, velocity.T, strict=True)):
        columns = _friction_columns(speed)
        friction[:, j] = columns @ scipy.optimize.nnls(columns, torque)[0]
    return friction


def _friction_columns(velocity: FloatArray) -> FloatArray:
    """Dry and viscous friction (n, 2); it never pushes, so that coefficients are positive."""
    return np.column_stack([np.sign(velocity), velocity])


def distance_to_model(torque: FloatArray, model: FloatArray) -> float:
    """Norm of the difference of torques (n, n_joints), Nm, relative to that of the model's."""
    return float(np.linalg.norm(torque - model) / np.linalg.norm(model))
