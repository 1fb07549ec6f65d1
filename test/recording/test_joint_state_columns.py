# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import numpy as np
import pytest

from ilr_dynamics.exceptions import RecordingError
from ilr_dynamics.recording import BagLimits, joint_state, read_recording
from ilr_dynamics.recording.joint_state import encode_joint_state
from ilr_dynamics.recording.joint_state_columns import JointStateColumns
from ilr_dynamics.recording.rejection import Rejection

JOINTS = ["a", "b"]
STATE, ALL = ("position",), ("position", "effort")


def columns():
    return JointStateColumns(JOINTS, ALL, [STATE, ALL])


def state(stamp, effort=()):
    return encode_joint_state(stamp, JOINTS, [0.1 * stamp, 1.0], effort=effort)


def test_it_may_be_asked_later_what_is_required():
    messages = [state(0, [1.0, 2.0]), state(1), b"", state(2, [np.nan, 0.0])]
    for required, reasons in (
        (STATE, [0, 0, Rejection.UNREADABLE, 0]),
        (ALL, [0, Rejection.MISSING_FIELD, Rejection.UNREADABLE, Rejection.NOT_FINITE]),
    ):
        taken = columns()
        for received, message in enumerate(messages):
            taken.take([message], [received])
        series = taken.finish(required)
        assert series.rejection.tolist() == reasons
        np.testing.assert_array_equal(series.stamp, [0, 1, 0, 2])
        np.testing.assert_array_equal(series.fields["position"][[0, 1, 3], 0], [0.0, 0.1, 0.2])
        np.testing.assert_array_equal(series.fields["effort"][0], [1.0, 2.0])


def test_what_is_forgotten_takes_no_memory():
    taken, reference = columns(), JointStateColumns(JOINTS, STATE, [STATE])
    taken.drop("effort")
    for each in (taken, reference):
        each.take([state(0)] * 5000, list(range(5000)))
    assert taken.nbytes == reference.nbytes
    assert taken.message_nbytes == 8 + 16


@pytest.mark.parametrize("n_back, written", [(1, True), (50, False)])
def test_the_order_of_writing_counts_unless_many_stamps_go_back_in_it(n_back, written):
    stamps = np.arange(200)
    stamps[: 2 * n_back] = stamps[: 2 * n_back].reshape(-1, 2)[:, ::-1].ravel()
    taken = columns()
    taken.take([state(stamp) for stamp in stamps], stamps.tolist())
    series = taken.finish(STATE)
    np.testing.assert_array_equal(series.stamp, stamps if written else np.arange(200))
    assert (series.written is None) == written


def test_layouts_of_many_sizes_are_not_kept(monkeypatch):
    monkeypatch.setattr(joint_state, "MAX_SIZES", 3)
    taken = columns()
    names = [[*JOINTS, "x" * length] for length in range(1, 60, 4)]
    for stamp, joints in enumerate(names):
        taken.take([encode_joint_state(stamp, joints, [stamp, 1.0, 2.0])], [stamp])
        assert len(taken._decoder._layouts) <= 3
    np.testing.assert_array_equal(taken.finish(STATE).fields["position"][:, 0], range(len(names)))


def test_messages_that_are_dear_to_decode_come_to_an_end(monkeypatch, motion, write_bag):
    monkeypatch.setattr(joint_state, "MAX_ALONE", 100)
    damaged = [(topic, data[:-3]) for topic, data in motion.states()[:200]]
    path = write_bag(motion.states() + damaged)
    with pytest.raises(RecordingError, match="more than 100 joint states are unreadable"):
        read_recording(path, motion.joints)


def test_memory_is_that_of_the_numbers(motion, write_bag):
    path = write_bag(motion.states() + motion.commands())
    progress = []
    recording = read_recording(path, motion.joints, progress=progress.append)
    assert len(recording.stamp) == 600
    assert progress == sorted(progress) and 0.8 < progress[-1] <= 1.0
    with pytest.raises(RecordingError, match=r"take \d+ bytes of memory; expected at most 20000"):
        read_recording(path, motion.joints, limits=BagLimits(max_memory=20_000))
