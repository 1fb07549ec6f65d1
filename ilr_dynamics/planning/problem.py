# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What a motion to record has to keep, by settings, by the arm and by where it has been."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.exceptions import InvalidParameterError
from ilr_dynamics.planning.clearance import Clearance, KeepOutBox
from ilr_dynamics.planning.motion_law import MotionBounds, motion_states
from ilr_dynamics.planning.torque_margin import TorqueMargin
from ilr_dynamics.robot.description import RobotDescription
from ilr_dynamics.robot.identified_dynamics import IdentifiedDynamics

__all__ = ["CHECKED_PER_STEP", "PlanProblem", "PlanSettings"]

CHECKED_PER_STEP = 5
"""States checked for each waypoint: at 2 rad/s a joint moves by 0.04 rad between two of them."""
# Waypoints before a piece with which it is checked, as the spline through all changes there too:
# by a quarter as much with each waypoint, and by nothing after half of them.
BEHIND = 30
# Least and largest value of each setting, and what it is counted in.
RANGES = {
    "reach": (0.0, math.pi, "rad"),
    "speed": (0.01, 1.0, "of the velocity limits"),
    "acceleration": (0.1, 100.0, "rad/s^2"),
    "position_margin": (0.0, 1.0, "rad"),
    "clearance": (0.0, 1.0, "m"),
    "rate": (1.0, 10_000.0, "Hz"),
}


@dataclass(frozen=True)
class PlanSettings:
    """
    Settings of a motion.

    Parameters
    ----------
    reach : float
        How far each joint may leave the range in which it was recorded, rad.
    speed : float
        Share of the velocity limits.
    acceleration : float
        Largest acceleration of each joint, rad/s^2.
    position_margin : float
        Distance to the ends of the joint range, rad.
    boxes : tuple of KeepOutBox
        What the arm must not enter.
    clearance : float
        Smallest distance of the arm from these and from itself, m.
    rate : float
        Samples a second that will be learned, Hz.

    Raises
    ------
    InvalidParameterError
        If a value is out of range.
    """

    reach: float = 0.5
    speed: float = 0.6
    acceleration: float = 5.0
    position_margin: float = 0.05
    boxes: tuple[KeepOutBox, ...] = ()
    clearance: float = 0.05
    rate: float = 100.0

    def __post_init__(self) -> None:
        """Check ranges."""
        for name, (least, most, unit) in RANGES.items():
            value = getattr(self, name)
            if not least <= value <= most:
                raise InvalidParameterError(
                    f"{name} is {value:g}, expected {least:g} to {most:g} {unit}"
                )


@dataclass(frozen=True, eq=False)
class PlanProblem:
    """
    What a motion has to keep.

    Parameters
    ----------
    bounds : MotionBounds
    torque : TorqueMargin
    clearance : Clearance
    start : ndarray of shape (n_joints,)
        Posture at rest in which the motion begins and ends, rad.
    sample_rate : float
        Samples a second that will be learned, Hz.
    """

    bounds: MotionBounds
    torque: TorqueMargin
    clearance: Clearance
    start: FloatArray
    sample_rate: float = 100.0

    @classmethod
    def of_arm(
        cls,
        dynamics: IdentifiedDynamics,
        description: RobotDescription,
        settings: PlanSettings = PlanSettings(),
    ) -> PlanProblem:
        """
        Return what a motion of an arm has to keep; it begins where the arm was recorded first.

        Parameters
        ----------
        dynamics : IdentifiedDynamics
            What is known of the arm.
        description : RobotDescription
            Its limits and shapes.
        settings : PlanSettings

        Raises
        ------
        InvalidParameterError
            If nothing was learned, or the arm has been in a box.
        RobotDescriptionError
            If shapes cannot be read.
        """
        n = description.n_joints
        known = dynamics.representatives.X[:, :n]
        if not len(known):
            raise InvalidParameterError(
                "the model has learned no samples, expected some: a motion begins where the arm "
                "was recorded"
            )
        lower = description.position_lower + settings.position_margin
        upper = description.position_upper - settings.position_margin
        return cls(
            MotionBounds(
                np.maximum(known.min(axis=0) - settings.reach, lower),
                np.minimum(known.max(axis=0) + settings.reach, upper),
                settings.speed * description.velocity_limit,
                np.full(n, settings.acceleration),
            ),
            TorqueMargin(dynamics, description),
            Clearance(description, settings.boxes, settings.clearance, known),
            np.clip(known[0], lower, upper),
            settings.rate,
        )

    def broken(self, states: FloatArray) -> str:
        """What is not kept by states [q, qd, qdd] (m, 3 n_joints); nothing if all is."""
        if not self.bounds.hold(states):
            return "bounds"
        if not self.torque.holds(states):
            return "torque limits"
        if not self.clearance.holds(states[:, : len(self.start)]):
            return "clearance"
        return ""

    def broken_by(self, before: FloatArray, piece: FloatArray) -> str:
        """
        What is not kept by a piece (m, n_joints), or by what is before it once they are joined.

        Nothing if all is. The waypoints before it (k, n_joints) keep all by themselves.
        """
        waypoints = np.concatenate([before[-BEHIND:], piece])
        states = motion_states(waypoints, CHECKED_PER_STEP)
        # The first are as if the motion began there; they were seen before, and change no more.
        n_seen = BEHIND // 2 if len(before) > BEHIND else 0
        return self.broken(states[CHECKED_PER_STEP * n_seen :])
