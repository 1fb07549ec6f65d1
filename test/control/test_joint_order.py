# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ilr_dynamics.control import joint_order
from ilr_dynamics.exceptions import InvalidDataError

JOINTS = ("j1", "j2", "j3", "j4")


@given(st.permutations(JOINTS))
def test_order_undoes_a_permutation(names):
    assert tuple(np.array(names)[joint_order(names, JOINTS)]) == JOINTS


def test_extra_joints_are_passed_over_if_allowed():
    names = ["finger", "j2", "j1"]
    assert joint_order(names, ("j1", "j2"), allow_extra=True).tolist() == [2, 1]


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["j1", "j2"], "missing joints j3, j4: expected j1, j2, j3, j4"),
        (["j1", "j2", "j3", "j4", "j5"], "unknown joints j5: expected"),
        (["a", "j2", "j3", "j4"], "unknown joints a and missing joints j1: expected"),
        (["j1", "j2", "j2", "j3", "j4"], "joints named twice: j2; expected each name once"),
        ([], "missing joints j1, j2, j3, j4"),
    ],
)
def test_other_joints_are_refused_by_name(names, text):
    with pytest.raises(InvalidDataError, match=text):
        joint_order(names, JOINTS)
