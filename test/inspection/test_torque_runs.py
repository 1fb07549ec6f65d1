# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Runs of equal torques are those that a plain loop finds, in any number of blocks."""

from __future__ import annotations

from collections import Counter
from itertools import groupby

import numpy as np
import pytest

from ilr_dynamics.inspection.torque_runs import torque_runs, torque_steps
from ilr_dynamics.recording import Recording
from ilr_dynamics.recording.topic_series import BLOCK


def recording(torque, speed=0.5):
    stamp = 10**18 + 2_000_000 * np.arange(len(torque))
    position = 0.002 * speed * np.arange(len(torque))[:, np.newaxis]
    columns = position, position, np.asarray(torque, dtype=np.float32)[:, np.newaxis]
    return Recording(("j1",), stamp, *columns, True, False, Counter())


@pytest.mark.parametrize("n", [3, 400, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 7])
@pytest.mark.parametrize("levels", [1, 2, 10**6])
def test_runs_are_those_of_a_plain_loop(n, levels):
    torque = np.random.default_rng(n).integers(levels, size=n)
    torque[n // 2 : n // 2 + n // 5] = -1
    expected, at = [], 0
    for _, group in groupby(torque.tolist()):
        length = len(list(group))
        if length > 1:
            expected.append((at, at + length - 1))
        at += length
    runs = torque_runs(recording(torque), 0)
    assert list(zip(runs.first.tolist(), runs.last.tolist(), strict=True)) == expected
    assert (runs.n_moving <= runs.last - runs.first + 1).all()


@pytest.mark.parametrize("held", [1, 7, 50])
def test_values_usually_stay_for_as_long_as_they_are_held(held):
    torque = np.repeat(np.random.default_rng(0).normal(size=400), held)
    torque[100:160] = 3.0
    runs = torque_runs(recording(torque), 0)
    assert runs.usual == held
    assert torque_runs(recording(torque, speed=0.0), 0).all_moving == 0


def test_steps_of_a_torque_are_found_wherever_they_are():
    torque = np.zeros(2 * BLOCK)
    assert torque_steps(recording(torque), 0) == (0.0, 0.0)
    torque[BLOCK - 1 :] = 0.25
    step, size = torque_steps(recording(torque), 0)
    assert step == 0.25 and size == pytest.approx(0.125, rel=0.01)
