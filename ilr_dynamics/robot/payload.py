# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Payload: the mass, centre of mass and inertia of what the tool carries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from ilr_dynamics.arrays import FloatArray, read_only
from ilr_dynamics.exceptions import InvalidParameterError
from ilr_dynamics.robot.dynamics_terms import N_INERTIAL
from ilr_dynamics.robot.pseudo_inertia import (
    MOMENTS,
    MassDistribution,
    inertial_parameters,
)

__all__ = ["Payload", "central_derivatives"]

# Rounding of a data sheet's moments, relative to the largest.
_ROUNDING = 1e-3


@dataclass(frozen=True, eq=False)
class Payload:
    """
    Rigid body at the tool, in the axes of the tool frame.

    Parameters
    ----------
    mass : float
        Mass, kg.
    com : array_like of shape (3,)
        Centre of mass from the tool point, m.
    inertia : array_like of shape (6,)
        Moments Ixx, Ixy, Ixz, Iyy, Iyz, Izz about the centre of mass, kg m^2, as in
        geometry_msgs/Inertia; all zero for a point mass.

    Raises
    ------
    InvalidParameterError
        If the mass is not positive, a number is not finite, or no body has these moments.
    """

    mass: float
    com: FloatArray
    inertia: FloatArray

    def __post_init__(self) -> None:
        for name, size in (("com", 3), ("inertia", 6)):
            values = np.array(getattr(self, name), dtype=float)
            if values.shape != (size,) or not np.isfinite(values).all():
                raise InvalidParameterError(
                    f"{name} of the payload is {values.tolist()}: expected {size} finite numbers"
                )
            object.__setattr__(self, name, read_only(values))
        if not (np.isfinite(self.mass) and self.mass > 0.0):
            raise InvalidParameterError(
                f"mass of the payload is {self.mass:g} kg: expected a positive number"
            )
        moments = np.linalg.eigvalsh(self.tensor)
        rounding = _ROUNDING * float(np.abs(moments).max())
        if moments[0] < -rounding or moments[0] + moments[1] < moments[2] - rounding:
            shown = ", ".join(f"{moment:.4g}" for moment in moments)
            raise InvalidParameterError(
                f"inertia of the payload has the principal moments {shown} kg m^2: expected none "
                "negative, and none larger than the sum of the other two"
            )

    @classmethod
    def from_parameters(cls, parameters: ArrayLike) -> Self:
        """Return the payload of inertial parameters (10,), see `inertial_parameters`."""
        body = MassDistribution.of(np.asarray(parameters, dtype=float))
        return cls(body.mass, body.centre, body.inertia[np.triu_indices(3)])

    @property
    def tensor(self) -> FloatArray:
        """Inertia tensor (3, 3) about the centre of mass, kg m^2."""
        upper = np.zeros((3, 3))
        upper[np.triu_indices(3)] = self.inertia
        return upper + np.triu(upper, 1).T

    @property
    def parameters(self) -> FloatArray:
        """Inertial parameters (10,) about the tool point, see `inertial_parameters`."""
        tensor = self.tensor
        matrix = np.empty((4, 4))
        second = 0.5 * np.trace(tensor) * np.eye(3) - tensor
        matrix[:3, :3] = second + self.mass * np.outer(self.com, self.com)
        matrix[:3, 3] = matrix[3, :3] = self.mass * self.com
        matrix[3, 3] = self.mass
        return inertial_parameters(matrix)


def central_derivatives(parameters: FloatArray) -> FloatArray:
    """
    Return the derivatives of mass, centre of mass and moments about it.

    Parameters
    ----------
    parameters : ndarray of shape (10,)
        Inertial parameters about the tool point, see `inertial_parameters`.

    Returns
    -------
    ndarray of shape (10, 10)
        Of [mass, com, inertia], as in `Payload`, by these parameters.
    """
    mass, first = parameters[0], parameters[1:4]
    derivatives = np.zeros((N_INERTIAL, N_INERTIAL))
    derivatives[0, 0] = 1.0
    derivatives[1:4, 0] = -first / mass**2
    derivatives[1:4, 1:4] = np.eye(3) / mass
    steiner = (first @ first) * np.eye(3) - np.outer(first, first)
    for place, (row, column) in enumerate(zip(*np.triu_indices(3), strict=True)):
        of_moment = derivatives[4 + place]
        of_moment[0] = steiner[row, column] / mass**2
        of_moment[4 + MOMENTS.index((row, column))] = 1.0
        if row == column:
            of_moment[1:4] -= 2.0 * first / mass
        of_moment[1 + row] += first[column] / mass
        of_moment[1 + column] += first[row] / mass
    return derivatives
