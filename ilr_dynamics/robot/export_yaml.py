# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""YAML of an identified arm: all its parameters, how well each is known, and the law they obey."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import yaml
from numpy.typing import ArrayLike

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.robot.arm_export import ArmExport
from ilr_dynamics.robot.dynamics_terms import (
    FRICTION_SPEEDS,
    N_PLAIN,
    N_SPEEDS,
    N_WAVES,
    SIGN_SPEED,
)

__all__ = ["exported_yaml"]

FORMAT = "identified arm, version 2"
_INERTIA = ("xx", "xy", "yy", "xz", "yz", "zz")
_POSITION_TERMS = ("constant", "linear", "quadratic", "sine", "cosine")


def exported_yaml(arm: ArmExport, note: str, errors: Mapping[str, FloatArray]) -> str:
    """
    Return an identified arm as YAML; docs/export.md says what its entries mean.

    Parameters
    ----------
    arm : ArmExport
        Identified arm.
    note : str
        Text of a comment at the beginning, one line.
    errors : mapping of str to ndarray of shape (n,)
        Errors of torques to state, Nm.

    Returns
    -------
    str
        YAML.
    """
    content = {
        "format": FORMAT,
        "robot": arm.description.name,
        "joints": list(arm.description.joint_names),
        "gravity": _plain(arm.dynamics.gravity),
        "bodies": _bodies(arm),
        "motors": _motors(arm),
        "rotor_inertia": _plain(arm.rotor_inertia),
        "friction_speeds": list(FRICTION_SPEEDS),
        "sign_speed": SIGN_SPEED,
        "joint_effects": _joints(arm),
        "potential": _potential(arm),
        "torque_errors": {name: _plain(error) for name, error in errors.items()},
    }
    text = yaml.safe_dump(content, sort_keys=False, default_flow_style=None, width=100)
    return f"# {note}\n{text}"


def _plain(values: ArrayLike) -> Any:
    return np.asarray(values, dtype=float).tolist()


def _bodies(arm: ArmExport) -> dict[str, Any]:
    found, std = arm.bodies(arm.parameters), arm.bodies(arm.std)
    described = arm.dynamics.inertial_prior
    return {
        joint: {
            "value": _inertial(found[index]),
            "deviation": _inertial(std[index]),
            "described": _inertial(described[index]),
        }
        for index, joint in enumerate(arm.description.joint_names)
    }


def _inertial(parameters: FloatArray) -> dict[str, Any]:
    """Inertial parameters (10,) by name; inertia about the origin of the joint's frame."""
    return {
        "mass": float(parameters[0]),
        "first_moment": _plain(parameters[1:4]),
        "inertia": dict(zip(_INERTIA, _plain(parameters[4:]), strict=True)),
    }


def _motors(arm: ArmExport) -> list[dict[str, Any]]:
    found, std = arm.motors(arm.parameters), arm.motors(arm.std)
    return [
        {
            "direction": _plain(direction),
            "value": _motor(found[:, index]),
            "deviation": _motor(std[:, index]),
        }
        for index, direction in enumerate(arm.dynamics.motors)
    ]


def _motor(parameters: FloatArray) -> dict[str, Any]:
    rotor, viscous, *dry = _plain(parameters)
    return {"rotor_inertia": rotor, "viscous": viscous, "dry": dry}


def _joints(arm: ArmExport) -> dict[str, Any]:
    found, std = arm.joints(arm.parameters), arm.joints(arm.std)
    return {
        joint: {"value": _joint(found[index]), "deviation": _joint(std[index])}
        for index, joint in enumerate(arm.description.joint_names)
    }


def _potential(arm: ArmExport) -> dict[str, Any]:
    """Frequencies (m, n), 1/rad, and weights of cosines and sines, Nm; none without one."""
    found, std = arm.potential(arm.parameters), arm.potential(arm.std)
    return {
        "frequencies": _plain(arm.dynamics.frequencies),
        **{
            key: {"cosines": _plain(values[0]), "sines": _plain(values[1])}
            for key, values in (("value", found), ("deviation", std))
        },
    }


def _joint(parameters: FloatArray) -> dict[str, Any]:
    dry, position, load, waves = np.split(parameters, [N_SPEEDS, N_PLAIN, N_PLAIN + 1])
    sines, cosines = np.split(waves, [N_WAVES])
    return {
        "dry": _plain(dry),
        "position": dict(zip(_POSITION_TERMS, _plain(position), strict=True)),
        "dry_by_load": float(load[0]),
        "dry_by_sines": _plain(sines),
        "dry_by_cosines": _plain(cosines),
    }
