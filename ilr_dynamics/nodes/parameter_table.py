# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Parameters of a node as a table: declared with descriptors, read as a mapping."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.exceptions import (
    InvalidParameterTypeException,
    InvalidParameterValueException,
    ParameterUninitializedException,
)
from rclpy.node import Node
from rclpy.parameter import Parameter

from ilr_dynamics.exceptions import InvalidParameterError

__all__ = ["ParameterRow", "changed", "check_choices", "declare", "read"]

Value = Any


@dataclass(frozen=True)
class ParameterRow:
    """One parameter.

    Attributes
    ----------
    name : str
    default : object
        Gives the type as well. A ``Parameter.Type`` instead says that there is no default and
        the parameter file has to name a value.
    description : str
    unit : str
        Empty for what has none.
    low, high : float, optional
        Inclusive range of a number.
    choices : tuple of str
        What a string may be; empty for anything.
    read_only : bool
        Whether the value is fixed once the node has started.
    """

    name: str
    default: Value
    description: str
    unit: str = ""
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    read_only: bool = False

    @property
    def has_default(self) -> bool:
        """Whether a parameter file may leave it out."""
        return not isinstance(self.default, Parameter.Type)

    @property
    def type(self) -> Parameter.Type:
        """What its values are."""
        if self.has_default:
            return Parameter.Type.from_parameter_value(self.default)
        return self.default

    def descriptor(self) -> ParameterDescriptor:
        """Return the row as ROS tools show it."""
        text = f"{self.description} [{self.unit}]" if self.unit else self.description
        descriptor = ParameterDescriptor(
            description=text,
            read_only=self.read_only,
            additional_constraints=f"one of {', '.join(self.choices)}" if self.choices else "",
        )
        if self.low is None or self.high is None:
            return descriptor
        if isinstance(self.default, int):
            descriptor.integer_range = [
                IntegerRange(from_value=int(self.low), to_value=int(self.high), step=1)
            ]
        else:
            descriptor.floating_point_range = [
                FloatingPointRange(from_value=float(self.low), to_value=float(self.high), step=0.0)
            ]
        return descriptor


def declare(node: Node, table: Sequence[ParameterRow]) -> None:
    """Declare the parameters of a table; the parameter file's values go before its defaults.

    Raises
    ------
    InvalidParameterError
        If a value of the parameter file is of another type or out of range.
    """
    for row in table:
        try:
            node.declare_parameter(row.name, row.default, row.descriptor())
        except (InvalidParameterTypeException, InvalidParameterValueException) as error:
            raise InvalidParameterError(f"parameter {row.name}: {error}") from error


def read(node: Node, table: Sequence[ParameterRow]) -> dict[str, Value]:
    """Return the values of all parameters of a table.

    Raises
    ------
    InvalidParameterError
        If a parameter without a default has no value.
    """
    values = {}
    for row in table:
        try:
            values[row.name] = node.get_parameter(row.name).value
        except ParameterUninitializedException as error:
            raise InvalidParameterError(
                f"parameter {row.name} is not set: expected {row.description}"
                + (f" in {row.unit}" if row.unit else "")
            ) from error
    return values


def check_choices(values: Mapping[str, Value], table: Sequence[ParameterRow]) -> None:
    """Check the strings that have to be one of a few.

    Raises
    ------
    InvalidParameterError
        Names the parameter, its value and the choices.
    """
    for row in table:
        if row.choices and values[row.name] not in row.choices:
            raise InvalidParameterError(
                f"parameter {row.name} is '{values[row.name]}': "
                f"expected one of {', '.join(row.choices)}"
            )


def changed(values: Mapping[str, Value], parameters: Sequence[Parameter[Any]]) -> dict[str, Value]:
    """Return ``values`` with the new values of ``parameters`` in them."""
    return {**values, **{parameter.name: parameter.value for parameter in parameters}}
