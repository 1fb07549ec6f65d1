# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Plausibility of recorded torques: units, signs and limits, checked for every recording."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.learning.settings import LearningSettings
from ilr_dynamics.recording import Samples
from ilr_dynamics.recording.rejection import Rejection
from ilr_dynamics.robot.rigid_body import RigidBodyModel
from ilr_dynamics.robot.torque_doubts import MAX_DISTANCE, distance_to_model, friction_in

__all__ = ["MOST", "UNITS_OF_LIMIT", "constant_joints", "implausible_torques"]

# Largest share of the recorded states that may have a torque at a limit or beyond; more come from
# another unit.
MOST = 0.5
# Smallest regression coefficient of the recorded torques on the rigid-body model's, all joints
# together. Within MAX_DISTANCE of the model it is at least 0.6, and half of that where the
# description of the arm is twice too heavy. With torques in a unit a hundred times too large it is
# far below.
MIN_SHARE = 0.3
# Motion from which on a joint's torque must change, rad: its friction at least changes its sign.
MIN_RANGE = 0.01
# Units other than Nm in which drivers report torques, as shares of each joint's limit.
UNITS_OF_LIMIT = {"percent": 0.01, "thousandths": 0.001, "shares": 1.0}
# Another unit is assumed if it reduces the distance to the model by this factor, to at most this
# value. The distance is the root mean square over joints of the logarithm of the regression
# coefficient on the model, friction excluded. In Nm it is as large as the second value where the
# masses of the description are wrong by half.
UNIT_RATIO, MAX_UNIT_DISTANCE = 0.5, 0.4
# Joints used to find the unit: model torque, relative to that of the joint with the most. Others
# have little torque except friction.
MIN_RELATIVE_TORQUE = 0.1
# Largest number of samples compared with the model.
MAX_SAMPLES = 1000


def implausible_torques(samples: Samples, settings: LearningSettings) -> str:
    """
    Return why recorded torques cannot be those of the arm; empty if they can.

    Torques are compared with those of the rigid-body model, which lacks friction: what dry and
    viscous friction explain of the difference is set aside, as it may be larger than all weight.
    In a joint that carries no weight it is most of the torque, so that all joints are compared
    together. The same holds
    for all joints if the driver compensates gravity; there the comparison is skipped.

    Parameters
    ----------
    samples : Samples
        Inputs and torques of a recording.
    settings : LearningSettings
        Settings of the arm.

    Returns
    -------
    str
        Reason for the user, or empty.
    """
    saturated = samples.rejected.get(Rejection.SATURATED_TORQUE.name.lower(), 0)
    states = samples.n_used + sum(samples.rejected.values())
    if saturated > MOST * states:
        return (
            f"{saturated} of {states} recorded states have a torque at or beyond its limit; "
            f"expected at most {MOST:.0%} of them, in Nm, or accept_worse to be set"
        )
    constant = _constant_torques(samples)
    if constant:
        return constant
    if settings.robot is None or settings.driver_compensates_gravity:
        return ""
    chosen = slice(None, None, -(-samples.n_used // MAX_SAMPLES))
    X, Y = samples.X[chosen], samples.Y[chosen]
    model = RigidBodyModel(settings.arm())
    torque = np.array([model.inverse_dynamics(*np.split(x, 3)) for x in X])
    unit = _unit_of_limits(X, Y, torque, settings.samples.torque_limit)
    if unit:
        return (
            f"the recorded torques fit the rigid-body model as {unit} of each joint's limit; "
            "expected Nm, or accept_worse to be set"
        )
    Y = Y - friction_in(Y - torque, X)
    distance = distance_to_model(Y, torque)
    share = float(np.vdot(Y, torque) / np.vdot(torque, torque))
    if distance <= MAX_DISTANCE and share < MIN_SHARE:
        return (
            f"the recorded torques are {share:.2g} times those of the rigid-body model; expected "
            f"at least {MIN_SHARE:g} (is the unit Nm, and the arm's weight in the torques, or "
            "driver_compensates_gravity set?), or accept_worse to be set"
        )
    if distance <= MAX_DISTANCE:
        return ""
    return (
        f"the recorded torques are {distance:.2g} times as far from those of the rigid-body model "
        f"as zero torque would be; expected at most {MAX_DISTANCE:g} times (are signs those of "
        "the arm, and the unit Nm?), or accept_worse to be set"
    )


def _unit_of_limits(
    X: FloatArray,
    Y: FloatArray,
    model: FloatArray,
    limit: Sequence[float] | None,
) -> str:
    """
    Return the unit, relative to each joint's limit, of the torques; empty if that is Nm.

    Parameters
    ----------
    X : ndarray of shape (n, 3 n_joints)
        Inputs [q, qd, qdd].
    Y, model : ndarray of shape (n, n_joints)
        Recorded torques, and those of the rigid-body model, Nm.
    limit : sequence of float or None
        Torque limit of each joint, Nm.

    Returns
    -------
    str
        A key of `UNITS_OF_LIMIT`, or empty.
    """
    if limit is None:
        return ""
    size = np.linalg.norm(model, axis=0)
    joints = np.flatnonzero(size > MIN_RELATIVE_TORQUE * size.max())
    velocity = np.split(X, 3, axis=1)[1]
    shares = np.array([_share(Y[:, j], model[:, j], velocity[:, j]) for j in joints])
    if (shares <= 0.0).any():
        return ""

    def distance(unit: FloatArray) -> float:
        return float(np.sqrt(np.mean(np.log(shares * unit) ** 2)))

    of_limit = np.asarray(limit)[joints]
    found = {unit: distance(share * of_limit) for unit, share in UNITS_OF_LIMIT.items()}
    nearest = min(found, key=found.__getitem__)
    in_newtonmetres = distance(np.ones(len(joints)))
    is_nearer = found[nearest] < min(UNIT_RATIO * in_newtonmetres, MAX_UNIT_DISTANCE)
    return nearest if is_nearer else ""


def _share(torque: FloatArray, model: FloatArray, velocity: FloatArray) -> float:
    """Regression coefficient of a joint's torque (n,) on the model's, given its friction."""
    parts = np.column_stack([model, np.sign(velocity), velocity])
    return float(np.linalg.lstsq(parts, torque, rcond=None)[0][0])


def constant_joints(samples: Samples) -> IndexArray:
    """
    Return the indices of joints that move while their torque does not change.

    Parameters
    ----------
    samples : Samples
        Inputs and torques of a recording.
    """
    n = len(samples.joint_names)
    moves = np.ptp(samples.X[:, :n], axis=0) >= MIN_RANGE
    # A smoothed constant is constant up to rounding.
    rounding = 1e-9 * (1.0 + np.abs(samples.Y).max(axis=0))
    return np.flatnonzero(moves & (np.ptp(samples.Y, axis=0) <= rounding))


def _constant_torques(samples: Samples) -> str:
    """Reason for the user if a joint moves while its torque does not change; else empty."""
    constant = constant_joints(samples)
    if constant.size == 0:
        return ""
    names = ", ".join(samples.joint_names[j] for j in constant)
    values = ", ".join(f"{samples.Y[0, j]:.4g}" for j in constant)
    return (
        f"the torque of {names} is {values} Nm throughout, although the joints move; expected "
        "measured efforts or the topic of commanded torques in the recording, or accept_worse to "
        "be set"
    )
