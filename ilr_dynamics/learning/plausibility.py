# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Whether torques can be those of the arm: what every recording is judged by."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.learning.settings import LearningSettings
from ilr_dynamics.recording import Samples
from ilr_dynamics.recording.joint_state import Rejection
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.rigid_body import RigidBodyModel

__all__ = ["MOST", "UNITS_OF_LIMIT", "constant_joints", "implausible_torques"]

# Of the recorded states: more that were at a torque limit or beyond come from other units.
MOST = 0.5
# Root mean square of the recorded torque less the rigid-body model's, all joints together, in
# units of that model's: at most 0.39 on the simulated arms (joints without weight alone: up to 14;
# joint 7 more) and 0.35 on the recording of a real one. Torques of the wrong sign have 2.0, ten
# times too large ones 8 and more.
FARTHEST = 1.5
# Share of the rigid-body model's torque in the recorded one, all joints together: with the
# distances above at least 0.6. Half of that has an arm whose description is twice too heavy;
# torques in hundredths of the unit are far below.
LEAST_SHARE = 0.3
# A joint that moves by as much has friction at least, whose sign changes.
LEAST_RANGE = 0.01
# Units that drivers give torques in, as shares of each joint's limit.
UNITS_OF_LIMIT = {"percent": 0.01, "thousandths": 0.001, "shares": 1.0}
# Another unit is believed that brings the torques nearer to the model's by this factor, and as
# near as this: logarithms of what each joint's are of the model's, friction set aside. Masses of a
# description that are wrong by half are this far in Nm.
CLEARLY_NEARER, NEAR = 0.5, 0.4
# Joints that say something about units: those that the model has so much torque for, as a share of
# the largest. Others have friction alone.
SPEAKS = 0.1
# Samples that are compared, at most.
ENOUGH = 1000


def implausible_torques(samples: Samples, settings: LearningSettings) -> str:
    """
    Say why recorded torques cannot be those of the arm; empty if they can.

    Joints are judged together: one that carries no weight has friction alone, of which the
    rigid-body model knows nothing. So has an arm whose driver compensates gravity, which therefore
    is judged by its torque limits only.

    Parameters
    ----------
    samples : Samples
        Inputs and torques of a recording.
    settings : LearningSettings
        The arm.
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
    chosen = slice(None, None, -(-samples.n_used // ENOUGH))
    X, Y = samples.X[chosen], samples.Y[chosen]
    model = RigidBodyModel(load_description(settings.robot, settings.tool_frame))
    torque = np.array([model.inverse_dynamics(*np.split(x, 3)) for x in X])
    unit = _unit_of_limits(X, Y, torque, settings.samples.torque_limit)
    if unit:
        return (
            f"the recorded torques fit the rigid-body model as {unit} of each joint's limit; "
            "expected Nm, or accept_worse to be set"
        )
    distance = float(np.linalg.norm(Y - torque) / np.linalg.norm(torque))
    share = float(np.vdot(Y, torque) / np.vdot(torque, torque))
    if distance <= FARTHEST and share < LEAST_SHARE:
        return (
            f"the recorded torques hold {share:.2g} of what the rigid-body model needs; expected "
            f"at least {LEAST_SHARE:g} (is the unit Nm, and the arm's weight in the torques, or "
            "driver_compensates_gravity set?), or accept_worse to be set"
        )
    if distance <= FARTHEST:
        return ""
    return (
        f"the recorded torques are {distance:.2g} times as far from those of the rigid-body model "
        f"as no torque at all would be; expected at most {FARTHEST:g} times (are signs those of "
        "the arm, and the unit Nm?), or accept_worse to be set"
    )


def _unit_of_limits(
    X: FloatArray,
    Y: FloatArray,
    model: FloatArray,
    limit: Sequence[float] | None,
) -> str:
    """
    Name the share of each joint's limit that torques are given in; empty if they are in Nm.

    Parameters
    ----------
    X : ndarray of shape (n, 3 n_joints)
        [q, qd, qdd].
    Y, model : ndarray of shape (n, n_joints)
        Recorded torques, and those of the rigid-body model, Nm.
    limit : sequence of float or None
        Of each joint's torque, Nm.
    """
    if limit is None:
        return ""
    size = np.linalg.norm(model, axis=0)
    joints = np.flatnonzero(size > SPEAKS * size.max())
    velocity = np.split(X, 3, axis=1)[1]
    shares = np.array([_share(Y[:, j], model[:, j], velocity[:, j]) for j in joints])
    if (shares <= 0.0).any():
        return ""

    def distance(unit: FloatArray) -> float:
        return float(np.sqrt(np.mean(np.log(shares * unit) ** 2)))

    of_limit = np.asarray(limit)[joints]
    found = {unit: distance(share * of_limit) for unit, share in UNITS_OF_LIMIT.items()}
    nearest = min(found, key=found.__getitem__)
    nearer = found[nearest] < min(CLEARLY_NEARER * distance(np.ones(len(joints))), NEAR)
    return nearest if nearer else ""


def _share(torque: FloatArray, model: FloatArray, velocity: FloatArray) -> float:
    """What a joint's torque (n,) holds of the model's beside dry and viscous friction."""
    parts = np.column_stack([model, np.sign(velocity), velocity])
    return float(np.linalg.lstsq(parts, torque, rcond=None)[0][0])


def constant_joints(samples: Samples) -> IndexArray:
    """
    Return the joints that move while their torque does not change.

    Parameters
    ----------
    samples : Samples
    """
    n = len(samples.joint_names)
    moves = np.ptp(samples.X[:, :n], axis=0) >= LEAST_RANGE
    # Smoothing leaves what rounding makes of a constant.
    rounding = 1e-9 * (1.0 + np.abs(samples.Y).max(axis=0))
    return np.flatnonzero(moves & (np.ptp(samples.Y, axis=0) <= rounding))


def _constant_torques(samples: Samples) -> str:
    """Name the joints that move while their torque does not change: none of a driven arm."""
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
