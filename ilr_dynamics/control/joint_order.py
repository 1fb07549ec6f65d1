# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Joint order: the permutation from a message's joints to the controller's, by name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ilr_dynamics.arrays import IndexArray
from ilr_dynamics.exceptions import InvalidDataError

__all__ = ["joint_order"]


def joint_order(
    names: Sequence[str], joints: Sequence[str], *, allow_extra: bool = False
) -> IndexArray:
    """
    Return the index in ``names`` of each of ``joints``.

    Parameters
    ----------
    names : sequence of str
        Joints in the order of a message.
    joints : sequence of str
        Joints in the order wanted.
    allow_extra : bool
        Ignore names that are not in ``joints``, as in joint states of a whole robot.

    Returns
    -------
    ndarray of shape (n_joints,)
        Indices such that ``values[order]`` is in the order of ``joints``.

    Raises
    ------
    InvalidDataError
        If a joint is missing, named twice, or unknown (unless ``allow_extra``).
    """
    if len(set(names)) != len(names):
        twice = sorted({name for name in names if list(names).count(name) > 1})
        raise InvalidDataError(
            f"joints named twice: {', '.join(twice)}; expected each name once, as either of its "
            "values could be meant"
        )
    missing = [joint for joint in joints if joint not in names]
    unknown = [name for name in names if name not in joints]
    if missing or (unknown and not allow_extra):
        found = []
        if unknown:
            found.append(f"unknown joints {', '.join(unknown)}")
        if missing:
            found.append(f"missing joints {', '.join(missing)}")
        raise InvalidDataError(f"{' and '.join(found)}: expected {', '.join(joints)}")
    places = {name: place for place, name in enumerate(names)}
    return np.array([places[joint] for joint in joints], dtype=np.intp)
