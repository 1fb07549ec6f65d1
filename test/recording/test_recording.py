# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from rosbags.rosbag2 import Writer
from rosbags.typesys import Stores, get_typestore

from ilr_dynamics.exceptions import RecordingError
from ilr_dynamics.recording import (
    SampleSettings,
    encode_joint_state,
    read_recording,
    training_samples,
)
from ilr_dynamics.recording.writer import STORAGES

# Fixtures hold no state that one example could leave to the next.
few = settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.parametrize("storage", STORAGES)
def test_states_and_torques_come_back(motion, write_bag, storage):
    path = write_bag(motion.states() + motion.commands(), storage)
    recording = read_recording(path, motion.joints)
    time = motion.seconds(motion.stamps)
    assert recording.commanded
    assert recording.period == 0.002
    np.testing.assert_array_equal(recording.stamp, motion.stamps)
    np.testing.assert_allclose(recording.time, time[:, 0], atol=1e-12)
    np.testing.assert_array_equal(recording.position, motion.position(time))
    np.testing.assert_array_equal(recording.velocity, motion.velocity(time).astype(np.float32))
    np.testing.assert_array_equal(recording.torque, motion.torque(time).astype(np.float32))
    assert recording.rejected == {}


def test_joints_come_in_the_order_asked_for(motion, write_bag):
    path = write_bag(motion.states() + motion.commands())
    straight, reverse = (read_recording(path, joints) for joints in (["j1", "j2"], ["j2", "j1"]))
    np.testing.assert_array_equal(straight.position, reverse.position[:, ::-1])
    np.testing.assert_array_equal(straight.torque, reverse.torque[:, ::-1])


def test_effort_of_the_states_serves_without_commands(motion, write_bag):
    path = write_bag(motion.states(effort=True))
    recording = read_recording(path, motion.joints)
    assert not recording.commanded
    np.testing.assert_array_equal(
        recording.torque, motion.torque(motion.seconds(motion.stamps)).astype(np.float32)
    )


def test_commands_can_be_ignored_in_favour_of_effort(motion, write_bag):
    path = write_bag(motion.states(effort=True) + motion.commands(motion.stamps[:50]))
    assert read_recording(path, motion.joints).rejected == {"no_torque": 550}
    assert read_recording(path, motion.joints, command_topic=None).rejected == {}


def test_recording_without_any_torque_is_refused(motion, write_bag):
    with pytest.raises(RecordingError, match=r"0 usable states of 600 .* 600 missing_field"):
        read_recording(write_bag(motion.states()), motion.joints)


@few
@given(data=st.data())
def test_messages_overtaken_on_the_way_are_put_in_order(motion, write_bag, data):
    messages = motion.states()[:40] + motion.commands()[:40]
    path = write_bag(data.draw(st.permutations(messages)))
    recording = read_recording(path, motion.joints)
    np.testing.assert_array_equal(recording.stamp, motion.stamps[:40])
    np.testing.assert_array_equal(
        recording.torque, motion.torque(motion.seconds(motion.stamps[:40])).astype(np.float32)
    )


@few
@given(repeats=st.lists(st.integers(0, 39), max_size=20))
# Most of these are near those that a steady clock would give.
@example(repeats=[0, 18, 12, 12, 24, 0, 0, 23, 35, 24, 23, 24, 21])
def test_repeated_stamps_are_rejected_and_the_first_counts(motion, write_bag, repeats):
    late = [
        ("/joint_states", encode_joint_state(motion.stamps[k], motion.joints, [9.0, 9.0]))
        for k in repeats
    ]
    path = write_bag(motion.states()[:40] + late + motion.commands()[:40])
    recording = read_recording(path, motion.joints)
    np.testing.assert_array_equal(recording.stamp, motion.stamps[:40])
    assert recording.position.max() < 1.0
    assert recording.rejected["repeated_stamp"] == len(repeats)


@pytest.mark.parametrize("receipt_too", [False, True])
@pytest.mark.parametrize("back", [0.05, 0.1, 0.4, 2.0, -4e8])
def test_what_follows_a_clock_that_is_set_does_not_go_on_from_what_was_before(
    motion, write_received, back, receipt_too
):
    """States and commands as they come; the motion is that of a steady clock."""
    true = motion.start + motion.period * np.arange(1200)
    time = motion.seconds(true)
    set_back = np.where(np.arange(1200) < 700, 0, round(1e9 * back))
    path = write_received(
        (true - set_back if receipt_too else true),
        true - set_back,
        motion.joints,
        motion.position(time),
        motion.torque(time),
    )
    recording = read_recording(path, motion.joints)
    assert recording.rejected == {} and recording.breaks == (700,)
    assert (np.diff(recording.stamp) > 0).all()
    np.testing.assert_array_equal(recording.position, motion.position(time))
    np.testing.assert_array_equal(recording.torque, motion.torque(time).astype(np.float32))
    samples = training_samples(recording, SampleSettings())
    assert samples.rejected["filter_edge"] > 2 * samples.rejected["filter_edge"] // 3
    q, _, qdd = np.split(samples.X, 3, axis=1)
    np.testing.assert_allclose(qdd, -(motion.rate**2) * q, atol=0.1)


@pytest.mark.parametrize("flaw", ["lost before", "lost after", "wrong before", "wrong after"])
@pytest.mark.parametrize("back", [0.05, 0.4, 2.0])
def test_a_clock_set_back_is_seen_beside_flaws(motion, write_received, back, flaw):
    """Some messages are lost, or one has a wrong stamp, close to where the clock is set."""
    true = motion.start + motion.period * np.arange(1200)
    set_back = np.where(np.arange(1200) < 700, 0, round(1e9 * back))
    kept = np.ones(1200, dtype=bool)
    near = 696 if flaw.endswith("before") else 703
    kept[near - 2 : near + 2] = not flaw.startswith("lost")
    stamp = true - set_back
    if flaw.startswith("wrong"):
        stamp[near] += 3_600_000_000_000
    true, stamp = true[kept], stamp[kept]
    time = motion.seconds(true)
    q, torque = motion.position(time), motion.torque(time)
    path = write_received(true, stamp, motion.joints, q, torque)
    recording = read_recording(path, motion.joints)
    assert len(recording.breaks) == 1
    assert len(recording.stamp) >= len(stamp) - 1
    # Each is a state of the motion, with the torque of its own moment.
    row = np.array([np.argmin(np.abs(q - here).sum(axis=1)) for here in recording.position])
    np.testing.assert_array_equal(recording.position, q[row])
    np.testing.assert_array_equal(recording.torque, torque[row].astype(np.float32))


def test_a_command_is_that_of_its_own_moment_where_a_state_is_of_no_use(motion, write_received):
    """Two commands have a state's stamp, as the clock was set back, and one state is unusable."""
    true = motion.start + motion.period * np.arange(1200)
    stamp = true - np.where(np.arange(1200) < 700, 0, 400_000_000)
    time = motion.seconds(true)
    q, torque = motion.position(time), motion.torque(time)
    q[600] = np.nan
    recording = read_recording(
        write_received(true, stamp, motion.joints, q, torque), motion.joints
    )
    kept = np.delete(np.arange(1200), 600)
    np.testing.assert_array_equal(recording.torque, torque[kept].astype(np.float32))


def test_a_joint_named_twice_says_nothing(motion, write_bag):
    twice = [
        ("/joint_states", encode_joint_state(int(stamp), ["j1", "j2", "j2"], [0.1, 0.2, 0.0]))
        for stamp in motion.stamps
    ]
    with pytest.raises(RecordingError, match="joints j1, j2, j2 on /joint_states; expected j1"):
        read_recording(write_bag([*twice, *motion.commands()]), motion.joints)


@pytest.mark.parametrize("row", [0, 1, 300, 598, 599])
@pytest.mark.parametrize("ahead", [-1.7e9, -1.0, 1.0, 3600.0, 1e8, "receipt"])
def test_one_wrong_stamp_costs_one_state(motion, write_received, row, ahead):
    time = motion.seconds(motion.stamps)
    stamps, received = motion.stamps.copy(), motion.stamps.copy()
    if ahead == "receipt":
        received[row] = 17
    else:
        stamps[row] += round(1e9 * ahead)
    path = write_received(
        received, stamps, motion.joints, motion.position(time), motion.torque(time)
    )
    recording = read_recording(path, motion.joints)
    right = np.arange(600) != (-1 if ahead == "receipt" else row)
    assert recording.breaks == ()
    kept = np.isin(recording.stamp, motion.stamps)
    # At the ends nothing says that a stamp is not of a state before or after a second's gap.
    assert np.count_nonzero(~kept) <= (row in (0, 1, 598, 599))
    np.testing.assert_array_equal(recording.stamp[kept], motion.stamps[right])
    np.testing.assert_array_equal(recording.position[kept], motion.position(time)[right])
    samples = training_samples(recording, SampleSettings())
    assert samples.n_used >= 600 - 40


@few
@given(
    flaws=st.dictionaries(
        st.integers(0, 99),
        st.sampled_from(["unreadable", "other_joints", "wrong_size", "not_finite", "no_torque"]),
        max_size=40,
    )
)
def test_every_flawed_state_is_counted_by_its_reason(motion, write_bag, flaws):
    states, commands = motion.states()[:100], motion.commands()[:100]
    for k, flaw in flaws.items():
        stamp = int(motion.stamps[k])
        states[k] = (
            "/joint_states",
            {
                "unreadable": b"\x00\x01",
                "other_joints": encode_joint_state(stamp, ["gripper"], [1.0]),
                "wrong_size": encode_joint_state(stamp, motion.joints, [1.0]),
                "not_finite": encode_joint_state(stamp, motion.joints, [np.nan, 1.0]),
                "no_torque": states[k][1],
            }[flaw],
        )
    answered = [command for k, command in enumerate(commands) if flaws.get(k) != "no_torque"]
    recording = read_recording(write_bag(states + answered), motion.joints)
    found = list(flaws.values())
    assert recording.rejected == {flaw: found.count(flaw) for flaw in found}
    assert len(recording.stamp) == 100 - len(flaws)
    kept = [k for k in range(100) if k not in flaws]
    np.testing.assert_array_equal(recording.stamp, motion.stamps[kept])


def test_flaw_of_a_command_rejects_the_state_it_answers(motion, write_bag):
    commands = motion.commands()
    commands[7] = (
        "/joint_torque_command",
        encode_joint_state(motion.stamps[7], motion.joints, effort=[np.nan, 0.0]),
    )
    recording = read_recording(write_bag(motion.states() + commands), motion.joints)
    assert recording.rejected == {"not_finite": 1}
    assert motion.stamps[7] not in recording.stamp


def test_values_that_are_no_numbers_are_named_by_field_and_joint(motion, write_bag):
    def states(position, effort, velocity=(np.nan, 1.0)):
        return [
            ("/joint_states", encode_joint_state(stamp, motion.joints, position, velocity, effort))
            for stamp in motion.stamps[:10]
        ]

    commands = motion.commands()[:20]
    commands[15] = (
        "/joint_torque_command",
        encode_joint_state(motion.stamps[15], motion.joints, effort=[1.0, np.inf]),
    )
    bag = write_bag(states([np.nan, 0.0], ()) + motion.states()[10:20] + commands)
    # Velocities are not needed, nor efforts where there are commands.
    expected = {"position of j1": 10, "commanded effort of j2": 1}
    assert read_recording(bag, motion.joints).not_finite == expected
    with pytest.raises(RecordingError, match=r"10 not_finite\): .*10 times the effort of j2; let"):
        read_recording(write_bag(states([0.1, 0.2], [1.0, np.nan])), motion.joints)


def test_stamps_that_are_not_set_are_named(motion, write_bag):
    zero = [("/joint_states", encode_joint_state(0, motion.joints, [k, 0.0])) for k in range(9)]
    with pytest.raises(RecordingError, match="8 repeated_stamp.*all stamps are zero: the driver"):
        read_recording(write_bag(zero + motion.commands()), motion.joints)


def test_commands_with_stamps_of_their_own_are_named(motion, write_bag):
    late = motion.commands(motion.stamps + 700_000)
    words = "600 no_torque.*stamp must be that of the state it answers; learning.command_topic: ''"
    with pytest.raises(RecordingError, match=words):
        read_recording(write_bag(motion.states() + late), motion.joints)


@pytest.mark.parametrize("behind", [0.1, 0.4, 0.9])
def test_states_of_another_sender_that_nobody_answers_are_told(motion, write_bag, behind):
    # Out of order by less than a period: whose clock is which nobody knows.
    theirs = motion.stamps[5::3] - round(behind * motion.period)
    strangers = [
        ("/joint_states", encode_joint_state(int(stamp), motion.joints, [1.0, 1.0]))
        for stamp in theirs
    ]
    messages = list(motion.states())
    for k, stranger in enumerate(strangers):
        messages.insert(6 + 4 * k, stranger)
    found = read_recording(write_bag([*messages, *motion.commands()]), motion.joints)
    np.testing.assert_array_equal(found.stamp, motion.stamps)
    assert found.rejected == {"position_jump": len(theirs)}


def test_bag_without_the_topic_names_those_it_has(motion, write_bag):
    path = write_bag(motion.commands())
    with pytest.raises(RecordingError, match="has /joint_torque_command; expected the topic /arm"):
        read_recording(path, motion.joints, state_topic="arm/joint_states")


def test_topic_of_another_type_is_refused(motion, tmp_path):
    store = get_typestore(Stores.ROS2_JAZZY)
    text = store.types["std_msgs/msg/String"](data="joints")
    with Writer(tmp_path / "bag", version=9) as writer:
        topic = writer.add_connection("/joint_states", "std_msgs/msg/String", typestore=store)
        writer.write(topic, 0, store.serialize_cdr(text, "std_msgs/msg/String"))
    with pytest.raises(RecordingError, match="has std_msgs/msg/String on /joint_states"):
        read_recording(tmp_path / "bag", motion.joints)


def test_bag_of_other_joints_names_both(motion, write_bag):
    path = write_bag(motion.states() + motion.commands())
    with pytest.raises(RecordingError, match="joints j1, j2 on /joint_states; expected wam_j1"):
        read_recording(path, ["wam_j1"])


def test_other_gravity_setting_is_refused(motion, write_bag):
    annotations = {"driver_compensates_gravity": "true"}
    path = write_bag(motion.states() + motion.commands(), annotations=annotations)
    assert read_recording(
        path, motion.joints, driver_compensates_gravity=True
    ).driver_compensates_gravity
    with pytest.raises(RecordingError, match="driver_compensates_gravity = true; expected false"):
        read_recording(path, motion.joints)


def test_total_effort_is_no_command_where_the_driver_adds_gravity(motion, write_bag):
    path = write_bag(motion.states(effort=True))
    with pytest.raises(RecordingError, match="gravity torque that the driver adds; expected"):
        read_recording(path, motion.joints, driver_compensates_gravity=True)
