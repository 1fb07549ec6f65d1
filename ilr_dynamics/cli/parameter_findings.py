# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Identified parameters of an arm by name: described, identified, and how well each is known."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.robot.arm_export import ArmExport

__all__ = [
    "Known",
    "ParameterChange",
    "ParameterFinding",
    "parameter_changes",
    "parameter_findings",
]

# Of an inertia about the origin of the joint's frame, in Pinocchio's order.
BODY = (
    ("mass", "kg"),
    ("first moment x", "kg m"),
    ("first moment y", "kg m"),
    ("first moment z", "kg m"),
    ("inertia xx", "kg m²"),
    ("inertia xy", "kg m²"),
    ("inertia yy", "kg m²"),
    ("inertia xz", "kg m²"),
    ("inertia yz", "kg m²"),
    ("inertia zz", "kg m²"),
)
MOTOR = (("rotor inertia", "kg m²"), ("viscous friction", "Nms/rad"))
# Deviations, as shares of that before any recording, up to which a parameter is known.
WELL, PARTLY = 0.1, 0.5


class Known(StrEnum):
    """How well a parameter is known."""

    WELL = "well"
    PARTLY = "partly"
    HARDLY = "hardly"

    @classmethod
    def of(cls, left: float) -> Known:
        """By the share of the deviation that the recordings have left."""
        return cls.WELL if left <= WELL else cls.PARTLY if left <= PARTLY else cls.HARDLY


@dataclass(frozen=True)
class ParameterFinding:
    """
    One parameter of an arm.

    Attributes
    ----------
    place : str
        Joint whose body it is of, or motor.
    name, unit : str
    described : float or None
        Its value in the description; of rotors and friction, which that does not have, None.
    identified, deviation : float
        Its value as it is exported, and its standard deviation.
    left : float
        Share of the deviation before any recording that the recordings have left.
    """

    place: str
    name: str
    unit: str
    described: float | None
    identified: float
    deviation: float
    left: float

    @property
    def known(self) -> Known:
        """How well it is known."""
        return Known.of(self.left)

    @property
    def away(self) -> float:
        """Difference from the description, in standard deviations; NaN if that has no value."""
        if self.described is None:
            return math.nan
        return (self.identified - self.described) / self.deviation


@dataclass(frozen=True)
class ParameterChange:
    """
    Parameter that another model has identified otherwise.

    Attributes
    ----------
    now, before : ParameterFinding
    """

    now: ParameterFinding
    before: ParameterFinding

    @property
    def size(self) -> float:
        """Change, in the standard deviations that it had before."""
        return (self.now.identified - self.before.identified) / self.before.deviation


def parameter_findings(arm: ArmExport) -> list[ParameterFinding]:
    """
    Return what is known of the bodies, rotors and viscous friction of an arm.

    Parameters
    ----------
    arm : ArmExport
        Identified arm, with bodies that can exist.
    """
    # What the torques tell, before held-out postures say how much to believe of it: that factor is
    # one for all parameters, also for those that no recording shows.
    told = np.sqrt(np.diagonal(np.linalg.inv(arm.dynamics.parameter_precision)))
    left = told / arm.dynamics.prior_parameter_std
    columns = (arm.parameters, arm.std, left)
    bodies = [arm.dynamics.inertial_prior, *map(arm.bodies, columns)]
    motors = [arm.motors(values)[: len(MOTOR)].T for values in columns]
    motors = [np.full_like(motors[0], np.nan), *motors]
    joints = arm.description.joint_names
    moved = np.argmax(np.abs(arm.dynamics.motors), axis=1)
    names = [
        f"motor {k + 1}" if coupled else joints[moved[k]] for k, coupled in enumerate(arm.coupled)
    ]
    return [*_rows(joints, BODY, bodies), *_rows(names, MOTOR, motors)]


def parameter_changes(now: ArmExport, before: ArmExport) -> list[ParameterChange]:
    """Return all parameters of an arm with what another model said, the largest change first."""
    both = zip(parameter_findings(now), parameter_findings(before), strict=True)
    changes = [ParameterChange(new, old) for new, old in both]
    return sorted(changes, key=lambda change: -abs(change.size))


def _rows(
    places: Sequence[str], names: Sequence[tuple[str, str]], columns: Sequence[FloatArray]
) -> Iterator[ParameterFinding]:
    """Parameters by place and name; NaN in the first column is no description."""
    for k, place in enumerate(places):
        for index, (name, unit) in enumerate(names):
            described, *others = (float(values[k, index]) for values in columns)
            known = None if math.isnan(described) else described
            yield ParameterFinding(place, name, unit, known, *others)
