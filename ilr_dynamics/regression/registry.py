# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Classes by name: a snapshot holds names and float arrays, never code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.exceptions import SnapshotError

__all__ = ["Registry"]


class Registry:
    """
    Classes of one kind that can be kept in files.

    Parameters
    ----------
    kind
        What they are, for messages.
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._classes: dict[str, type] = {}

    def add(self, cls: type) -> None:
        """Make a class known by its own attribute `name`, if it has one."""
        if "name" in cls.__dict__:
            self._classes[cls.__dict__["name"]] = cls

    def name_of(self, instance: object) -> str:
        """Name that leads back to the class of this; SnapshotError if none does."""
        name = getattr(instance, "name", None)
        if name is None or self._classes.get(name) is not type(instance):
            raise SnapshotError(
                f"{type(instance).__name__} cannot be saved: it has no `name` of its own"
            )
        return str(name)

    def make(self, name: str, arrays: Mapping[str, FloatArray]) -> Any:
        """Make what was saved under that name; SnapshotError if no class has it."""
        if name not in self._classes:
            raise SnapshotError(
                f"no {self._kind} {name!r} is known here, only {sorted(self._classes)}: import "
                "the module that defines it first"
            )
        return self._classes[name].from_arrays(arrays)  # type: ignore[attr-defined]
