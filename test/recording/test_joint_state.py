# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ilr_dynamics.recording.joint_state import JointStateDecoder, encode_joint_state
from ilr_dynamics.recording.rejection import Rejection, count_rejections

JOINTS = ["j1", "j2", "j3"]
finite = st.floats(-1e6, 1e6)


def decode(messages):
    return JointStateDecoder(JOINTS).decode(messages)


def reasons(messages, required=("position",)):
    return [Rejection(reason) for reason in decode(messages).rejection(required)]


@given(
    st.permutations([*JOINTS, "gripper", "wam/YawJoint"]),
    arrays(float, (3, 5), elements=finite),
    st.integers(0, 2**31 * 10**9 - 1),
)
def test_values_are_mapped_by_name_whatever_the_order(names, values, stamp):
    q, qd, tau = values
    block = decode([encode_joint_state(stamp, names, q, qd, tau)])
    place = [names.index(joint) for joint in JOINTS]
    assert block.stamp[0] == stamp
    np.testing.assert_array_equal(block.fields["position"][0], q[place])
    np.testing.assert_array_equal(block.fields["velocity"][0], qd[place].astype(np.float32))
    np.testing.assert_array_equal(block.fields["effort"][0], tau[place].astype(np.float32))


def test_order_may_change_between_messages():
    messages = [
        encode_joint_state(0, JOINTS, [1.0, 2.0, 3.0]),
        encode_joint_state(1, JOINTS[::-1], [1.0, 2.0, 3.0]),
        encode_joint_state(2, JOINTS, [1.0, 2.0, 3.0]),
    ]
    position = decode(messages).fields["position"]
    np.testing.assert_array_equal(position, [[1, 2, 3], [3, 2, 1], [1, 2, 3]])


def test_optional_fields_may_be_empty():
    block = decode([encode_joint_state(0, JOINTS, np.ones(3))])
    assert block.rejection(["position"])[0] == Rejection.NONE
    assert np.isnan(block.fields["velocity"]).all() and np.isnan(block.fields["effort"]).all()


@pytest.mark.parametrize(
    "message, reason",
    [
        (encode_joint_state(0, JOINTS, np.ones(3)), Rejection.NONE),
        (encode_joint_state(0, JOINTS), Rejection.MISSING_FIELD),
        (encode_joint_state(0, JOINTS, np.ones(2)), Rejection.WRONG_SIZE),
        (encode_joint_state(0, JOINTS, np.ones(4)), Rejection.WRONG_SIZE),
        (encode_joint_state(0, JOINTS, [1.0, np.nan, 1.0]), Rejection.NOT_FINITE),
        (encode_joint_state(0, JOINTS, [1.0, -np.inf, 1.0]), Rejection.NOT_FINITE),
        (encode_joint_state(0, JOINTS[:2], np.ones(2)), Rejection.OTHER_JOINTS),
        (encode_joint_state(0, [], []), Rejection.OTHER_JOINTS),
        (b"", Rejection.UNREADABLE),
        (encode_joint_state(0, JOINTS, np.ones(3))[:-5], Rejection.UNREADABLE),
        (b"\x00\x01\x00\x00" + b"\xff" * 40, Rejection.UNREADABLE),
    ],
)
def test_each_flaw_has_its_reason(message, reason):
    assert reasons([message]) == [reason]


def test_nan_matters_only_in_required_fields():
    message = encode_joint_state(0, JOINTS, np.ones(3), np.full(3, np.nan))
    assert reasons([message]) == [Rejection.NONE]
    assert reasons([message], ["position", "velocity"]) == [Rejection.NOT_FINITE]


@given(st.binary(max_size=80), st.booleans())
def test_any_bytes_are_decoded_or_rejected(data, with_header):
    assert reasons([b"\x00\x01\x00\x00" * with_header + data]) != [Rejection.NONE]


def test_counts_name_only_what_occurred():
    reason = np.array([0, Rejection.THINNED, Rejection.NOT_FINITE, Rejection.THINNED], np.uint8)
    assert count_rejections(reason) == {"not_finite": 1, "thinned": 2}


def test_torques_that_do_not_fit_are_not_finite():
    message = encode_joint_state(0, JOINTS, np.ones(3), effort=[1.0, 1e300, 1.0])
    assert reasons([message]) == [Rejection.NONE]
    assert reasons([message], ["position", "effort"]) == [Rejection.NOT_FINITE]
