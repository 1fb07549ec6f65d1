# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
from array import array

import numpy as np
import pytest
from builtin_interfaces.msg import Duration, Time
from rclpy.serialization import serialize_message
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from ilr_dynamics.exceptions import TrajectoryError
from ilr_dynamics.nodes.controller.trajectory_reader import read_trajectory

JOINTS = ("j1", "j2")


def trajectory(names=JOINTS, n_points=3, fields=("positions", "velocities", "accelerations")):
    message = JointTrajectory(joint_names=list(names))
    for k in range(n_points):
        point = JointTrajectoryPoint(time_from_start=Duration(sec=k, nanosec=250_000_000))
        for scale, name in enumerate(fields, start=1):
            setattr(point, name, array("d", [scale * k + 0.1 * i for i in range(len(names))]))
        message.points.append(point)
    return message


def read(message, joints=JOINTS, max_points=100, **options):
    return read_trajectory(serialize_message(message), joints, max_points=max_points, **options)


def test_start_time_is_now_for_a_zero_stamp():
    message = trajectory()
    assert read(message)[1] is None
    message.header.stamp = Time(sec=7, nanosec=500_000_000)
    assert read(message)[1] == 7.5


@pytest.mark.parametrize(
    ("fields", "degree"),
    [
        (("positions", "velocities"), 3),
        (("positions", "velocities", "accelerations"), 5),
    ],
)
def test_degree_follows_the_fields(fields, degree):
    path = read(trajectory(fields=fields))[0]
    assert path.degree == degree
    assert path.times.tolist() == [0.25, 1.25, 2.25]


def test_trajectory_is_read_by_name():
    path = read(trajectory(names=("j2", "j1")))[0]
    np.testing.assert_allclose(path.positions[0], [0.1, 0.0])
    np.testing.assert_allclose(path.fields[2][2], [6.1, 6.0])


def test_positions_alone_are_followed_only_if_allowed():
    message = trajectory(fields=("positions",))
    assert read(message, allow_linear=True)[0].degree == 1
    with pytest.raises(TrajectoryError, match=r"positions alone.*trajectory\.allow_linear"):
        read(message)


def broken(change):
    message = trajectory()
    change(message.points)
    return message


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (trajectory(n_points=0), "the trajectory is empty.* to stop the arm call ~/stop"),
        (trajectory(names=("j1", "k")), "has unknown joints k and missing joints j2"),
        (trajectory(names=("j1",)), "has missing joints j2"),
        (
            trajectory(names=("j1", "j2", "j1")),
            "the trajectory has joints named twice: j1; expected",
        ),
        (trajectory(fields=()), "has no positions"),
        (
            broken(lambda points: setattr(points[1], "velocities", array("d"))),
            "point 1 has 0 velocities: expected 2, as the first point has",
        ),
        (
            broken(lambda points: [p.positions.append(0.0) for p in points]),
            "point 0 has 3 positions: expected 2, one per joint",
        ),
        (broken(lambda points: points.reverse()), "point 1 is at 1.25 s after point 0"),
        (
            broken(lambda points: points[2].positions.__setitem__(0, np.nan)),
            "positions of point 2, joint 0, are not finite",
        ),
    ],
)
def test_malformed_trajectory_is_refused(message, text):
    with pytest.raises(TrajectoryError, match=text):
        read(message)


@pytest.mark.parametrize("n_joints", [1, 2, 3])
@pytest.mark.parametrize("frame", ["", "a", "base", "links"])
@pytest.mark.parametrize("n_points", [1, 2, 9])
@pytest.mark.parametrize("effort", [0, 1, 2])
def test_every_alignment_is_read_as_it_was_written(n_joints, frame, n_points, effort):
    names = [f"joint{'x' * k}" for k in range(n_joints)]
    message = trajectory(names, n_points)
    message.header.frame_id = frame
    for point in message.points:
        point.effort = array("d", [3.0] * effort)
    path, _ = read(message, names)
    assert path.times.tolist() == [k + 0.25 for k in range(n_points)]
    for name, field in zip(("positions", "velocities", "accelerations"), path.fields, strict=True):
        assert field.tolist() == [list(getattr(point, name)) for point in message.points]


def test_number_of_points_and_sizes_are_bounded():
    with pytest.raises(TrajectoryError, match="has 101 points: expected at most 100"):
        read(trajectory(n_points=101))
    with pytest.raises(TrajectoryError, match="has 101 joint names: expected at most 100"):
        read(trajectory(names=[f"j{k}" for k in range(101)]))
    with pytest.raises(TrajectoryError, match="has 1001 bytes in a name: expected at most 256"):
        read(trajectory(names=("j1", "j" * 1000)))


def test_any_part_of_a_message_is_refused():
    # The buffer has some bytes to spare.
    data = serialize_message(trajectory())[:287]
    for size in range(len(data) + 1):
        with pytest.raises(TrajectoryError, match=r"bytes: expected|is encoded as"):
            read_trajectory(data[:size], JOINTS, max_points=100)


def test_damaged_message_is_read_or_refused():
    data = bytearray(serialize_message(trajectory()))
    rng = np.random.default_rng(0)
    for _ in range(2000):
        damaged = bytearray(data)
        for place in rng.integers(len(data), size=3):
            damaged[place] = rng.integers(256)
        try:
            path, _ = read_trajectory(bytes(damaged), JOINTS, max_points=100)
        except TrajectoryError:
            continue
        assert path.n_joints == 2 and len(path.times) <= 100
