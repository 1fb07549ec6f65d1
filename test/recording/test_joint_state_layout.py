# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Messages read many at once are those read one by one by rosbags."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ilr_dynamics.recording import joint_state
from ilr_dynamics.recording.joint_state import JointStateDecoder, encode_joint_state

numbers = st.floats(allow_nan=True, allow_infinity=True)
stamps = st.integers(-(2**31), 2**31 - 1).map(lambda s: s * 10**9 + 123)


@st.composite
def message(draw):
    names = draw(
        st.sampled_from([("a", "b"), ("b", "a"), ("a", "b", "grip"), ("x",), (), ("é", "a")])
    )
    arrays = [
        draw(st.lists(numbers, min_size=n, max_size=n))
        for n in draw(st.lists(st.sampled_from([0, 1, len(names)]), min_size=3, max_size=3))
    ]
    data = encode_joint_state(draw(stamps), names, *arrays)
    damage = draw(st.sampled_from(["none"] * 8 + ["cut", "byte", "longer", "big endian"]))
    if damage == "cut":
        return data[: draw(st.integers(0, len(data)))]
    if damage == "byte":
        at = draw(st.integers(0, len(data) - 1))
        return data[:at] + bytes([draw(st.integers(0, 255))]) + data[at + 1 :]
    if damage == "longer":
        return data + b"\x00" * 4
    return b"\x00\x00" + data[2:] if damage == "big endian" else data


def _alone(data, joints):
    block = joint_state.JointStateBlock(1, len(joints))
    with np.errstate(over="ignore"):
        JointStateDecoder(joints)._decode_one(data, 0, block)
    return block


@settings(max_examples=150)
@given(messages=st.lists(message(), min_size=1, max_size=12), data=st.data())
def test_many_at_once_are_as_one_by_one(messages, data):
    required = data.draw(st.sampled_from([("position",), ("position", "effort"), ("effort",)]))
    block = JointStateDecoder(["a", "b"]).decode(messages)
    rejection = block.rejection(required)
    for row, text in enumerate(messages):
        alone = _alone(text, ["a", "b"])
        reason = alone.rejection(required)[0]
        assert rejection[row] == reason
        if reason == joint_state.Rejection.UNREADABLE:
            continue
        assert block.stamp[row] == alone.stamp[0]
        for field in joint_state.FIELDS:
            np.testing.assert_array_equal(block.fields[field][row], alone.fields[field][0])
