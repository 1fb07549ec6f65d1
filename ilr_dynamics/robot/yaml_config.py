# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Construction of frozen dataclasses from YAML files."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import yaml

from ilr_dynamics.exceptions import RobotDescriptionError

__all__ = ["build", "read_yaml"]

T = TypeVar("T")


def read_yaml(path: Path) -> dict[str, Any]:
    """
    Read a YAML file that holds a mapping.

    Parameters
    ----------
    path : Path
        Path of the file.

    Returns
    -------
    dict

    Raises
    ------
    RobotDescriptionError
        If the file is missing, is not YAML or is not a mapping.
    """
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise RobotDescriptionError(f"{path}: cannot be read: {error}") from error
    if not isinstance(content, dict):
        raise RobotDescriptionError(f"{path}: holds {type(content).__name__}, expected a mapping")
    return content


def build(cls: type[T], values: object, where: str) -> T:
    """
    Build a dataclass from a mapping with exactly its fields.

    Parameters
    ----------
    cls : type
        Dataclass to build.
    values : object
        Mapping from the names of fields; those with a default may be left out.
    where : str
        Name of what the mapping describes, for error messages.

    Returns
    -------
    object
        An instance of cls.

    Raises
    ------
    RobotDescriptionError
        If ``values`` is not a mapping, or if a field is unknown, missing or malformed.
    """
    if not isinstance(values, Mapping):
        raise RobotDescriptionError(f"{where}: {values!r} given, expected a mapping")
    fields = {field.name: field for field in dataclasses.fields(cls)}  # type: ignore[arg-type]
    required = {name for name, field in fields.items() if not _has_default(field)}
    unknown, missing = set(values) - set(fields), required - set(values)
    if unknown or missing:
        raise RobotDescriptionError(
            f"{where}: unknown keys {sorted(map(str, unknown))} and missing keys "
            f"{sorted(missing)}, expected {sorted(fields)}"
        )
    try:
        return cls(**values)
    except (TypeError, ValueError) as error:
        raise RobotDescriptionError(f"{where}: {error}") from error
    except RobotDescriptionError as error:
        raise RobotDescriptionError(f"{where}: {error}") from error


def _has_default(field: dataclasses.Field[Any]) -> bool:
    return (
        field.default is not dataclasses.MISSING
        or field.default_factory is not dataclasses.MISSING
    )
