# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from ilr_dynamics.control.crossfade import Crossfade


def test_torque_passes_unchanged_without_an_exchange():
    fade = Crossfade(1, 0.1)
    assert fade(np.array([3.0]), 0.0) == 3.0


def test_output_moves_smoothly_from_old_to_new_source():
    fade = Crossfade(1, 0.1)
    fade(np.array([3.0]), 0.0)
    fade.begin()
    times = 0.002 + np.linspace(0.0, 0.12, 61)
    outputs = np.array([fade(np.array([-1.0]), time)[0] for time in times])
    assert outputs[0] == 3.0
    assert outputs[25] == pytest.approx(1.0)
    assert (outputs[50:] == -1.0).all()
    # A smoothstep is at most 1.5 times as steep as a ramp.
    assert np.abs(np.diff(outputs)).max() <= 1.5 * 4.0 * 0.002 / 0.1 + 1e-12


def test_exchange_during_an_exchange_does_not_jump():
    fade = Crossfade(1, 0.1)
    fade.begin()
    for time in np.arange(0.0, 0.05, 0.002):
        before = fade(np.array([10.0]), time)
    fade.begin()
    assert fade(np.array([-10.0]), 0.05) == pytest.approx(before)
