# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Parameters described once each: how ROS declares, shows and checks them follows from that."""

from __future__ import annotations

import array
import contextlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import yaml
from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    SetParametersResult,
)
from rclpy.exceptions import InvalidParameterTypeException, InvalidParameterValueException
from rclpy.node import Node
from rclpy.parameter import Parameter

from ilr_dynamics.exceptions import InvalidParameterError

__all__ = ["ParameterRow", "changed", "check", "declare", "per_joint", "read"]

Value = Any

_EXPECTED = {
    Parameter.Type.BOOL: "true or false",
    Parameter.Type.INTEGER: "an integer",
    Parameter.Type.DOUBLE: "a float",
    Parameter.Type.STRING: "a string",
    Parameter.Type.STRING_ARRAY: 'strings, [""] for none',
    Parameter.Type.DOUBLE_ARRAY: "floats, one per joint, each",
}
_FLOATS = (Parameter.Type.DOUBLE, Parameter.Type.DOUBLE_ARRAY)
_LISTS = (list, tuple, array.array)


@dataclass(frozen=True)
class ParameterRow:
    """One parameter.

    Attributes
    ----------
    name : str
    default : bool, int, float, str, list of str, list of float or None
        Gives the type as well. None: floats, one per joint, which the parameter file has to name.
    description : str
    unit : str
        Empty for what has none.
    within : tuple of float, optional
        Smallest and largest number.
    choices : tuple of str
        What a string may be; empty for anything.
    read_only : bool
        Whether the value is fixed once the node has started.
    """

    name: str
    default: Value
    description: str
    unit: str = ""
    within: tuple[float, float] | None = None
    choices: tuple[str, ...] = ()
    read_only: bool = False

    @property
    def type(self) -> Parameter.Type:
        """What its values are."""
        if self.default is None:
            return Parameter.Type.DOUBLE_ARRAY
        return Parameter.Type.from_parameter_value(self.default)

    @property
    def expected(self) -> str:
        """What its values are, for error messages."""
        if self.choices:
            return f"one of {', '.join(choice or repr(choice) for choice in self.choices)}"
        text = _EXPECTED[self.type]
        if self.type is Parameter.Type.DOUBLE_ARRAY and self.default is not None:
            text = f"{len(self.default)} floats, each"
        if self.within is not None:
            low, high = self.within
            text += f" from {low:.10g}" + (f" to {high:.10g}" if math.isfinite(high) else "")
        return f"{text} {self.unit}".rstrip()

    def descriptor(self) -> ParameterDescriptor:
        """Return the row as ROS tools show it."""
        text = f"{self.description} [{self.unit}]" if self.unit else self.description
        descriptor = ParameterDescriptor(description=text, read_only=self.read_only)
        if self.choices:
            descriptor.additional_constraints = self.expected
        if self.within is None:
            return descriptor
        low, high = self.within
        if self.type is Parameter.Type.INTEGER:
            descriptor.integer_range = [IntegerRange(from_value=low, to_value=high, step=1)]
        else:
            # For each number of a list: ROS shows it, and leaves it to the node to check that.
            descriptor.floating_point_range = [FloatingPointRange(from_value=low, to_value=high)]
        return descriptor

    def check(self, value: Value, where: str = "") -> None:
        """Check a value.

        Parameters
        ----------
        value : object
        where : str
            Where it stands, for the error message.

        Raises
        ------
        InvalidParameterError
            If it is of another type, out of range or none of the choices.
        """
        if self._allows(value):
            return
        shown = list(value) if isinstance(value, _LISTS) else value
        text = f"parameter {self.name}{where} is {shown!r}; expected {self.expected}"
        integers = [str(entry) for entry in _entries(value) if type(entry) is int]
        if self.type in _FLOATS and integers:
            text += f": write {integers[0]}.0, not {integers[0]}"
        raise InvalidParameterError(text)

    def _allows(self, value: Value) -> bool:
        if _type_of(value) is not self.type:
            return False
        if self.choices:
            return value in self.choices
        if self.within is None:
            return True
        if isinstance(self.default, list) and len(value) != len(self.default):
            return False
        low, high = self.within
        return all(low <= entry <= high and math.isfinite(entry) for entry in _entries(value))


def per_joint(name: str, description: str, unit: str, low: float = 0.0) -> ParameterRow:
    """Describe a parameter with a number for each joint, none below ``low``."""
    return ParameterRow(name, None, description, unit, (low, math.inf))


def _entries(value: Value) -> Sequence[Value]:
    return value if isinstance(value, _LISTS) else [value]


def _type_of(value: Value) -> Parameter.Type | None:
    """Return the type of a value; None for what is no parameter, as numbers of two types are."""
    try:
        return Parameter.Type.from_parameter_value(value)
    except TypeError:
        return None


def declare(node: Node, table: Sequence[ParameterRow]) -> None:
    """Declare the parameters of a table, and check whatever they are set to.

    The parameter file takes precedence over the defaults. Later on, integers may be set where
    floats are expected.

    Raises
    ------
    InvalidParameterError
        If a value of the parameter file is of another type, out of range or none of the choices.
    """
    for row in table:
        default = row.type if row.default is None else row.default
        try:
            value = node.declare_parameter(row.name, default, row.descriptor()).value
        except (InvalidParameterTypeException, InvalidParameterValueException) as error:
            row.check(_given(node, row.name))
            raise InvalidParameterError(f"parameter {row.name}: {error}") from error
        if value is not None:
            row.check(value)
    rows = {row.name: row for row in table}
    node.add_pre_set_parameters_callback(
        lambda parameters: [_with_floats(one, rows.get(one.name)) for one in parameters]
    )
    node.add_on_set_parameters_callback(partial(_check_set, rows))


def _given(node: Node, name: str) -> Value:
    """Return what the parameter file says, of whatever type."""
    return node.declare_parameter(name, None, ParameterDescriptor(dynamic_typing=True)).value


def _with_floats(parameter: Parameter[Any], row: ParameterRow | None) -> Parameter[Any]:
    """Return a parameter with floats instead of integers where its row has floats."""
    value = parameter.value
    if row is None or row.type not in _FLOATS:
        return parameter
    if isinstance(value, str):
        # "ros2 param set" sends a list of integers and floats as a string.
        with contextlib.suppress(yaml.YAMLError, ValueError):
            value = yaml.safe_load(value)
    if not all(type(entry) in (int, float) for entry in _entries(value)):
        return parameter
    floats = [float(entry) for entry in _entries(value)]
    return Parameter(parameter.name, value=floats if isinstance(value, _LISTS) else floats[0])


def _check_set(
    rows: Mapping[str, ParameterRow], parameters: Sequence[Parameter[Any]]
) -> SetParametersResult:
    try:
        for parameter in parameters:
            if parameter.name in rows:
                rows[parameter.name].check(parameter.value)
    except InvalidParameterError as error:
        return SetParametersResult(successful=False, reason=str(error))
    return SetParametersResult(successful=True)


def read(node: Node, table: Sequence[ParameterRow]) -> dict[str, Value]:
    """Return the values of all parameters of a table.

    Raises
    ------
    InvalidParameterError
        If a parameter without a default has no value.
    """
    values = {row.name: node.get_parameter_or(row.name).value for row in table}
    for row in table:
        if values[row.name] is None:
            unit = f" in {row.unit}" if row.unit else ""
            raise InvalidParameterError(
                f"parameter {row.name} is not set; expected {row.description}{unit}"
            )
    return values


def changed(values: Mapping[str, Value], parameters: Sequence[Parameter[Any]]) -> dict[str, Value]:
    """Return ``values`` with the new values of ``parameters`` in them."""
    return {**values, **{parameter.name: parameter.value for parameter in parameters}}


def check(values: Mapping[str, Value], table: Sequence[ParameterRow]) -> None:
    """Check values, and that those per joint are as many as the ``joints``.

    Parameters
    ----------
    values : mapping
        By name; None for what is not known of the arm.
    table : sequence of ParameterRow

    Raises
    ------
    InvalidParameterError
        Names the first parameter that is wrong, its value and what is expected.
    """
    for row in table:
        value = values[row.name]
        if value is None and row.default is None:
            continue
        row.check(value)
        n_joints = len(values["joints"])
        if row.default is None and len(value) != n_joints:
            raise InvalidParameterError(
                f"parameter {row.name} holds {len(value)} values; expected {n_joints}, "
                "one per joint"
            )
