# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Inertial of one link of a URDF, checked to be physically consistent."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.exceptions import RobotDescriptionError
from ilr_dynamics.robot.moment_rounding import MOMENTS, rounding_of, tensor_of
from ilr_dynamics.robot.urdf_number import finite_number, finite_numbers

__all__ = ["LinkInertial", "read_link_inertial"]

# Rounding error of arithmetic in double precision, relative to the largest moment.
_ARITHMETIC = 1e-12


@dataclass(frozen=True)
class LinkInertial:
    """
    Mass of a link, and a warning about its moments of inertia.

    Attributes
    ----------
    mass : float
        Mass [kg]; zero for a link that is only a frame.
    warning : str
        Inconsistency of its moments that rounding explains; empty if there is none.
    """

    mass: float = 0.0
    warning: str = ""


def read_link_inertial(path: Path, link: ElementTree.Element) -> LinkInertial:
    """
    Read the inertial of a link.

    Parameters
    ----------
    path : Path
        Path of the URDF, for error messages.
    link : Element
        Element of the link. Without an inertial, or with one whose numbers are all zero, it has no
        mass.

    Returns
    -------
    LinkInertial

    Raises
    ------
    RobotDescriptionError
        If there is more than one, if a number is missing or cannot be read, if the mass is
        negative, or zero while moments are not, or if the moments are inconsistent by more than
        their rounding.
    """
    where = f"{path}: link '{link.get('name')}'"
    inertials = link.findall("inertial")
    if len(inertials) > 1:
        raise RobotDescriptionError(
            f"{where} has {len(inertials)} <inertial>, expected one: which of them counts depends "
            "on the reader"
        )
    if not inertials:
        return LinkInertial()
    inertial = inertials[0]
    mass = _number(where, "mass", _attribute(inertial.find("mass"), "value"))
    inertia = inertial.find("inertia")
    texts = {name: _attribute(inertia, name) for name in MOMENTS}
    values = {name: _number(where, name, text) for name, text in texts.items()}
    _check_origin(where, inertial.find("origin"))
    if mass == 0.0 and not any(values.values()):
        return LinkInertial()
    if mass <= 0.0:
        raise RobotDescriptionError(
            f"{where} has a mass of {mass:g} kg, expected a positive one"
            + (", or no moments of inertia for a frame without mass" if mass == 0.0 else "")
        )
    rounding = rounding_of({name: text or "" for name, text in texts.items()})
    return LinkInertial(mass, _check_moments(where, tensor_of(values), rounding))


def _attribute(element: ElementTree.Element | None, name: str) -> str | None:
    return None if element is None else element.get(name)


def _number(where: str, name: str, text: str | None) -> float:
    value = finite_number(text)
    if value is None:
        found = f"no {name} in its inertial" if text is None else f"{name}='{text}'"
        raise RobotDescriptionError(
            f"{where} has {found}, expected a finite number with a decimal point, no blank after "
            "it, and xacro's ${...} expanded"
        )
    return value


def _check_origin(where: str, origin: ElementTree.Element | None) -> None:
    for name in ("xyz", "rpy"):
        text = _attribute(origin, name)
        if text is not None and finite_numbers(text) is None:
            raise RobotDescriptionError(
                f"{where} has the origin {name}='{text}' in its inertial, expected three finite "
                "numbers with decimal points"
            )


def _check_moments(where: str, tensor: FloatArray, rounding: FloatArray) -> str:
    """Refuse moments that no body can have; return a warning where rounding explains them."""
    for name in ("ixx", "iyy", "izz"):
        moment = tensor[MOMENTS[name]]
        if moment + rounding[MOMENTS[name]] <= 0.0:
            raise RobotDescriptionError(
                f"{where} has {name}={moment:g} kg m^2, expected a positive moment of inertia"
            )
    # In ascending order.
    moments, axes = np.linalg.eigh(tensor)
    shown = f"the principal moments of inertia {', '.join(f'{m:.6g}' for m in moments)} kg m^2"
    noise = _ARITHMETIC * float(moments[2])
    smallest, largest = axes[:, 0], axes[:, 2]
    # Values that must be positive, with their derivatives by the elements of the tensor. For a
    # plate the second one is zero up to rounding, hence the noise.
    wanted = (
        ("all positive", moments[0] - noise, np.outer(smallest, smallest)),
        (
            "none larger than the sum of the other two",
            moments[0] + moments[1] - moments[2] + noise,
            np.eye(3) - 2.0 * np.outer(largest, largest),
        ),
    )
    warning = ""
    for expected, value, derivatives in wanted:
        if value > 0.0:
            continue
        allowed = float(np.sum(rounding * np.abs(derivatives)))
        if -value > allowed + 2.0 * noise:
            raise RobotDescriptionError(
                f"{where} has {shown}, expected {expected}; they miss that by {-value:.2g}, and "
                f"rounding explains {allowed:.2g} at most"
            )
        warning = warning or (
            f"{where} has {shown}, expected {expected}; rounding to the digits given explains it"
        )
    return warning
