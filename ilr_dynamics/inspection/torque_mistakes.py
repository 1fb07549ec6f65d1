# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Mistakes that may be in recorded positions and torques: what people and drivers get wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations
from typing import Self

import numpy as np

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.learning.plausibility import UNITS_OF_LIMIT

__all__ = [
    "Mistake",
    "all_orders",
    "common_orders",
    "maps_of_joints",
    "moved_joints",
    "wrong_units",
]

# What drivers make of a Nm by mistake: other gears than there are, a wrong torque constant.
FACTORS = (0.1, 0.5, 2.0, 10.0)
# And of a radian, where positions are in turns or another gear is between motor and joint.
GEARS = (2.0 * np.pi, 0.5, 2.0)


@dataclass(frozen=True, eq=False)
class Mistake:
    """
    One mistake; by default there is none.

    Attributes
    ----------
    kind : str
        Of `KINDS`; empty if all is as described.
    joints : tuple of int
        What it is about, if not all.
    motion_map, torque_map : ndarray of shape (n_joints, n_joints), optional
        Right positions (with velocities and accelerations) and torques, as rows, are the recorded
        ones times this.
    position_offset : ndarray of shape (n_joints,), optional
        Right positions less the recorded ones, rad.
    torque_factor : ndarray of shape (n_joints,), optional
        Recorded torque of one Nm.
    unit : str
        That the torques or positions are in, if not in Nm or rad.
    estimated : str
        "gravity" or "load", if the torques are to tell how large it is.
    """

    kind: str = ""
    joints: tuple[int, ...] = ()
    motion_map: FloatArray | None = None
    torque_map: FloatArray | None = None
    position_offset: FloatArray | None = None
    torque_factor: FloatArray | None = None
    unit: str = ""
    estimated: str = ""

    @classmethod
    def of_zero(cls, n_joints: int, joint: int, offset: float) -> Self:
        """Make a mistake of the zero of one joint's positions, by an offset, rad."""
        shift = np.where(np.arange(n_joints) == joint, offset, 0.0)
        return cls("position_offset", (joint,), position_offset=shift)

    @classmethod
    def of_signs(cls, n_joints: int, joints: tuple[int, ...]) -> Self:
        """Make a mistake of the signs of some joints' torques."""
        return cls("wrong_sign", joints, torque_map=_flipped(n_joints, *joints))

    @property
    def is_one_of_several(self) -> bool:
        """Whether a number was chosen that says how large it is, among several or by a search."""
        return self.kind in ("effort_scale", "position_scale", "position_offset")


def wrong_units(n_joints: int, torque_limit: FloatArray | None) -> Iterator[Mistake]:
    """
    Torques, then positions in other units.

    Parameters
    ----------
    n_joints : int
        Number of joints.
    torque_limit : ndarray of shape (n_joints,) or None
        Nm.
    """
    for factor in FACTORS:
        yield Mistake(
            "effort_scale", torque_factor=np.full(n_joints, factor), unit=f"{factor:g} Nm"
        )
    if torque_limit is not None:
        for unit, share in UNITS_OF_LIMIT.items():
            name = f"{unit} of each joint's limit"
            yield Mistake("effort_scale", torque_factor=1.0 / (share * torque_limit), unit=name)
    for gear in GEARS:
        unit = "turns" if gear == GEARS[0] else f"{1.0 / gear:g} times the angle"
        yield Mistake("position_scale", motion_map=np.diag(np.full(n_joints, gear)), unit=unit)
        for joint in range(n_joints):
            scale = np.diag(np.where(np.arange(n_joints) == joint, gear, 1.0))
            yield Mistake("position_scale", (joint,), motion_map=scale, unit=unit)


def maps_of_joints(
    n_joints: int, pairs: Iterator[tuple[int, int]], orders: Iterator[IndexArray]
) -> Iterator[Mistake]:
    """
    Torques, positions or both with another sign of a joint, or in another order.

    Parameters
    ----------
    n_joints : int
        Number of joints.
    pairs : iterator of (int, int)
        Joints that may be exchanged.
    orders : iterator of ndarray of shape (n_joints,)
        Other orders of all joints.
    """
    unit = np.eye(n_joints)
    maps: list[tuple[str, tuple[int, ...], FloatArray]]
    maps = [("wrong_sign", (joint,), _flipped(n_joints, joint)) for joint in range(n_joints)]
    maps += [("permuted_joints", pair, _swapped(n_joints, *pair)) for pair in pairs]
    maps += [("permuted_joints", moved_joints(order), unit[order]) for order in orders]
    for kind, joints, change in maps:
        yield Mistake(kind, joints, torque_map=change)
        yield Mistake(kind, joints, motion_map=change)
        yield Mistake(kind, joints, motion_map=change, torque_map=change)


def all_orders(n_joints: int) -> Iterator[IndexArray]:
    """Orders that move more than two joints."""
    orders = map(np.array, permutations(range(n_joints)))
    return (order for order in orders if len(moved_joints(order)) > 2)


def common_orders(n_joints: int) -> Iterator[IndexArray]:
    """Orders that people get wrong: the other way round, from the second or the last one on."""
    order = np.arange(n_joints)
    yield order[::-1]
    yield np.roll(order, 1)
    yield np.roll(order, -1)


def moved_joints(order: IndexArray) -> tuple[int, ...]:
    """Joints that an order puts elsewhere."""
    return tuple(np.flatnonzero(order != np.arange(len(order))).tolist())


def _flipped(n_joints: int, *joints: int) -> FloatArray:
    return np.diag(np.where(np.isin(np.arange(n_joints), joints), -1.0, 1.0))


def _swapped(n_joints: int, one: int, other: int) -> FloatArray:
    change = np.eye(n_joints)
    change[[one, other]] = change[[other, one]]
    return change
