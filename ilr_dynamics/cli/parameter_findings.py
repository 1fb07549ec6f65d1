# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Identified parameters of an arm by name: described, identified, and how well each is known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.robot.arm_export import ArmExport

__all__ = ["Known", "ParameterChange", "ParameterFinding", "parameter_changes", "parameter_findings"]

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
    described : float
        Its value in the description; of rotors and friction, which that does not have, 0.
    identified, deviation : float
        Its value as it is exported, and its standard deviation.
    left : float
        Deviation now, as a share of that before any recording.
    """

    place: str
    name: str
    unit: str
    described: float
    identified: float
    deviation: float
    left: float

    @property
    def known(self) -> Known:
        """How well it is known."""
        return Known.of(self.left)

    @property
    def away(self) -> float:
        """Difference from the description, in standard deviations."""
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
    left = arm.std / arm.dynamics.prior_parameter_std
    described = np.zeros_like(arm.parameters)
    described[: arm.dynamics.inertial_prior.size] = arm.dynamics.inertial_prior.ravel()
    columns = (described, arm.parameters, arm.std, left)
    bodies = [arm.bodies(values) for values in columns]
    motors = [arm.motors(values)[: len(MOTOR)].T for values in columns]
    joints = arm.description.joint_names
    moved = np.argmax(np.abs(arm.dynamics.motors), axis=1)
    names = [
        f"motor {k + 1}" if coupled else joints[moved[k]] for k, coupled in enumerate(arm.coupled)
    ]
    return [
        *_rows(joints, BODY, bodies),
        *_rows(names, MOTOR, motors),
    ]


def parameter_changes(now: ArmExport, before: ArmExport) -> list[ParameterChange]:
    """Return all parameters of an arm with what another model said, the largest change first."""
    both = zip(parameter_findings(now), parameter_findings(before), strict=True)
    changes = [ParameterChange(new, old) for new, old in both]
    return sorted(changes, key=lambda change: -abs(change.size))


def _rows(
    places: tuple[str, ...] | list[str],
    names: tuple[tuple[str, str], ...],
    columns: list[FloatArray],
) -> Iterator[ParameterFinding]:
    for k, place in enumerate(places):
        for index, (name, unit) in enumerate(names):
            yield ParameterFinding(
                place, name, unit, *(float(values[k, index]) for values in columns)
            )
