# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Stretches in which a person guided the arm are left out, whatever else is in the recording."""

from __future__ import annotations

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from hypothesis import given
from hypothesis import strategies as st
from rclpy.serialization import serialize_message
from std_msgs.msg import Header

from ilr_dynamics.exceptions import RecordingError
from ilr_dynamics.nodes.recorder import controller_state_definition
from ilr_dynamics.recording import RecordingWriter, read_recording, training_samples
from ilr_dynamics.recording.guided_states import (
    CONTROLLER_STATE,
    GUIDING,
    HAND_S,
    ControllerModes,
    guided_states,
)
from ilr_dynamics.recording.joint_state import JOINT_STATE
from ilr_dynamics_msgs.msg import ControllerState

TOPIC = "/inverse_dynamics/controller_state"
SECOND = 1_000_000_000


def report(stamp: int, mode: int, frame: str = "base") -> bytes:
    """A controller state as the node sends it."""
    header = Header(stamp=Time(sec=stamp // SECOND, nanosec=stamp % SECOND), frame_id=frame)
    return bytes(serialize_message(ControllerState(header=header, mode=mode)))


@pytest.fixture
def long_motion(motion):
    """Ten seconds."""
    return type(motion)(5000)


@pytest.fixture
def write_guided(tmp_path, long_motion):
    """Write a recording in which the arm is guided from one second to another, or never."""

    def write(first=None, last=None, kind=CONTROLLER_STATE):
        path = tmp_path / "bag"
        with RecordingWriter(path) as writer:
            definition = controller_state_definition() if kind == CONTROLLER_STATE else ""
            writer.add_topic(TOPIC, kind, definition)
            for at, (topic, data) in enumerate(long_motion.states() + long_motion.commands()):
                writer.write(topic, at, data)
            for at, stamp in enumerate(long_motion.stamps[::10]):
                since = (stamp - long_motion.start) / SECOND
                guided = first is not None and first <= since <= last
                mode = ControllerState.GUIDING if guided else ControllerState.TRACKING
                data = report(int(stamp), mode)
                writer.write(TOPIC, at, data if kind == CONTROLLER_STATE else b"\0\1\0\0")
        return path

    return write


def read(path, motion, topic=TOPIC):
    return read_recording(path, motion.joints, controller_state_topic=topic)


def test_mode_is_that_of_the_message():
    assert GUIDING == ControllerState.GUIDING


@given(
    frame=st.text(max_size=40).filter(lambda text: "\0" not in text),
    stamp=st.integers(0, 2**31 * SECOND - 1),
    mode=st.integers(0, 255),
)
def test_stamp_and_mode_of_any_report_are_read(frame, stamp, mode):
    modes = ControllerModes()
    whole = report(stamp, mode, frame)
    cut = [whole[:n] for n in (0, 3, 12, 16, len(frame.encode()) + 17)]
    modes.take([whole, *cut], [0] * (len(cut) + 1))
    stamps, found = modes.finish()
    assert (stamps.tolist(), found.tolist()) == ([stamp], [mode])


def test_guided_states_and_those_near_them_are_left_out(write_guided, long_motion):
    recording = read(write_guided(4.0, 6.0), long_motion)
    time = (recording.stamp - long_motion.start) / SECOND
    # The reports before and after the stretch are 20 ms away.
    first, last = 4.0 - 0.02 - HAND_S, 6.0 + 0.02 + HAND_S
    assert not ((time >= first) & (time <= last)).any()
    assert time[time < first].max() == pytest.approx(first, abs=0.004)
    assert time[time > last].min() == pytest.approx(last, abs=0.004)
    (stretch,) = recording.guided
    np.testing.assert_allclose(
        (np.array(stretch) - long_motion.start) / SECOND, [first, last], atol=0.004
    )
    assert recording.rejected == {"guided": len(long_motion.stamps) - len(time)}
    assert recording.position.shape == recording.velocity.shape == (len(time), 2)
    expected = long_motion.torque(long_motion.seconds(recording.stamp))
    np.testing.assert_array_equal(recording.torque, expected.astype(np.float32))


def test_samples_are_smoothed_on_either_side_and_not_across(write_guided, long_motion):
    samples = training_samples(read(write_guided(4.0, 6.0), long_motion))
    assert not ((samples.time > 2.96) & (samples.time < 7.04)).any()
    q, _, qdd = np.split(samples.X, 3, axis=1)
    np.testing.assert_allclose(qdd, -(long_motion.rate**2) * q, atol=0.1)


@pytest.mark.parametrize("topic", [TOPIC, None, "/other/controller_state"])
def test_a_recording_that_was_not_guided_is_read_as_ever(write_guided, long_motion, topic):
    recording = read(write_guided(), long_motion, topic)
    assert len(recording.stamp) == len(long_motion.stamps)
    assert recording.guided == () and recording.rejected == {}


def test_reports_under_another_name_are_named(write_guided, long_motion):
    path = write_guided(4.0, 6.0)
    assert read(path, long_motion).unread_reports == ()
    assert read(path, long_motion, None).unread_reports == ()
    other = read(path, long_motion, "left/controller_state")
    assert other.unread_reports == (TOPIC,) and other.guided == ()


def test_nobody_asks_for_what_is_not_named(write_guided, long_motion):
    assert read(write_guided(4.0, 6.0), long_motion, None).rejected == {}


def test_a_recording_made_by_hand_alone_is_refused(write_guided, long_motion):
    with pytest.raises(RecordingError, match="5000 of 5000 states .* a person guided the arm"):
        read(write_guided(0.5, 9.5), long_motion)


def test_reports_of_another_type_are_refused(write_guided, long_motion):
    text = f"{JOINT_STATE} on {TOPIC}; expected {CONTROLLER_STATE}"
    with pytest.raises(RecordingError, match=text):
        read(write_guided(kind=JOINT_STATE), long_motion)


@given(
    modes=st.lists(st.sampled_from([ControllerState.TRACKING, GUIDING]), min_size=1, max_size=30),
    steps=st.lists(st.integers(1, 3 * SECOND), min_size=30, max_size=30),
    set_back=st.integers(0, 10**9 * SECOND),
)
def test_every_state_is_left_out_that_may_have_been_guided(modes, steps, set_back):
    """As the definition says it, report by report; the clock is set in the middle."""
    reported = np.cumsum(steps[: len(modes)]) + SECOND * np.int64(1_700_000_000)
    reported[len(modes) // 2 :] -= set_back
    states = np.unique(np.concatenate([reported, reported + 7, reported + 900_000_000]))
    expected = np.zeros(len(states), dtype=bool)
    for k, mode in enumerate(modes):
        if mode != GUIDING:
            continue
        near = [
            reported[other]
            for other in (k - 1, k, k + 1)
            if 0 <= other < len(modes) and abs(reported[other] - reported[k]) <= 60 * SECOND
        ]
        margin = HAND_S * SECOND
        expected |= (states >= min(near) - margin) & (states <= max(near) + margin)
    np.testing.assert_array_equal(guided_states(states, reported, np.array(modes)), expected)
