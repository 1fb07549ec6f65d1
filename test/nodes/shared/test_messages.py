# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
from array import array

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from ilr_dynamics.exceptions import InvalidDataError
from ilr_dynamics.nodes.shared.messages import (
    JointStateReader,
    diagnostic_status,
    seconds,
    sender,
    torque_command,
)

JOINTS = ("j1", "j2")


def state(names, position, velocity):
    message = JointState(name=names, position=array("d", position), velocity=array("d", velocity))
    message.header.stamp = Time(sec=3, nanosec=500_000_000)
    return message


def test_stamp_in_seconds():
    assert seconds(Time(sec=3, nanosec=250_000_000)) == 3.25


def test_sender_is_known_where_the_middleware_tells():
    info = {"publisher_gid": {"implementation_identifier": "rmw", "data": b"abc"}}
    assert sender(info) == b"abc"
    assert sender({"publisher_gid": None}) is sender({}) is None


def test_states_are_read_by_name_whatever_their_order():
    reader = JointStateReader(JOINTS)
    for names in (["j1", "j2"], ["j2", "j1"], ["x", "j2", "y", "j1"], ["j1", "j2"]):
        values = [{"j1": 1.0, "j2": 2.0}.get(name, np.nan) for name in names]
        time, position, velocity, _ = reader.read(state(names, values, [10 * v for v in values]))
        assert time == 3.5
        assert position.tolist() == [1.0, 2.0]
        assert velocity.tolist() == [10.0, 20.0]


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (state(["j1", "x"], [0.0, 0.0], [0.0, 0.0]), "unknown joints x and missing joints j2"),
        (state(["j1", "j2"], [0.0, 0.0], [0.0]), "2 positions and 1 velocities: expected 2 of"),
        (state(["j1", "j2"], [], [0.0, 0.0]), "0 positions and 2 velocities: expected 2 of each"),
        (state(["j1", "j2"], [], []), "0 positions and 0 velocities: expected 2 of each"),
        (state([], [], []), "missing joints j1, j2"),
        (state(["j1", "j2", "j2"], [0.0] * 3, [0.0] * 3), "joints named twice: j2; expected each"),
    ],
)
def test_incomplete_state_is_refused(message, text):
    with pytest.raises(InvalidDataError, match=text):
        JointStateReader(JOINTS).read(message)


@pytest.mark.parametrize("velocity", [[], [np.nan, np.nan, 1.0]])
def test_velocity_that_is_not_measured_is_none(velocity):
    reader = JointStateReader(JOINTS)
    message = state(["j2", "j1", "finger"], [2.0, 1.0, np.nan], velocity)
    _, position, found, _ = reader.read(message)
    assert position.tolist() == [1.0, 2.0]
    assert found is None


@pytest.mark.parametrize(
    ("effort", "found"),
    [([], None), ([np.nan] * 3, None), ([5.0, 4.0], None), ([5.0, 4.0, 9.0], [4.0, 5.0])],
)
def test_effort_is_read_where_it_is_measured(effort, found):
    message = state(["j2", "j1", "finger"], [2.0, 1.0, 0.0], [])
    message.effort = array("d", effort)
    read = JointStateReader(JOINTS).read(message)[3]
    assert (None if read is None else read.tolist()) == found


def test_reader_recovers_from_an_incomplete_state():
    reader = JointStateReader(JOINTS)
    for _ in range(2):
        with pytest.raises(InvalidDataError):
            reader.read(state(["j1"], [0.0], [0.0]))
    assert reader.read(state(["j2", "j1"], [2.0, 1.0], [0.0, 0.0]))[1].tolist() == [1.0, 2.0]


def test_torque_goes_out_as_joint_state():
    command = torque_command("joint_state", JOINTS)
    for value in (1.0, 2.0):
        command.fill(Time(sec=int(value)), np.array([value, -value]))
        assert isinstance(command.message, JointState)
        assert list(command.message.name) == ["j1", "j2"]
        assert list(command.message.effort) == [value, -value]
        assert command.message.header.stamp.sec == int(value)


def test_torque_goes_out_as_plain_array():
    command = torque_command("float64_multi_array", JOINTS)
    command.fill(Time(), np.array([1.0, -2.0]))
    assert isinstance(command.message, Float64MultiArray)
    assert list(command.message.data) == [1.0, -2.0]


def test_status_carries_name_level_and_values():
    found = (DiagnosticStatus.WARN, "text")
    status = diagnostic_status("/left/node", "loop", "wam4", found, {"a": "1"})
    assert (status.name, status.hardware_id) == ("left/node: loop", "wam4")
    assert status.message == "text"
    assert status.level == DiagnosticStatus.WARN
    assert [(item.key, item.value) for item in status.values] == [("a", "1")]
