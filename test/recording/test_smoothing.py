# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import savgol_filter

from ilr_dynamics.exceptions import InvalidParameterError
from ilr_dynamics.recording.smoothing import smooth


@given(
    half_width=st.integers(3, 40),
    order=st.integers(2, 5),
    jitter=st.floats(0.0, 0.45),
    seed=st.integers(0, 2**32 - 1),
)
def test_polynomials_up_to_the_order_pass_unchanged_at_any_spacing(
    half_width, order, jitter, seed
):
    rng = np.random.default_rng(seed)
    step = 0.002
    time = 10.0 + step * (np.arange(100) + rng.uniform(-jitter, jitter, 100))
    polynomial = np.polynomial.Polynomial(rng.normal(size=order + 1), [10.0, 10.2], [-1, 1])
    value, first, second = smooth(time, polynomial(time)[:, np.newaxis], half_width, order)
    inner = time[half_width:-half_width]
    assert len(value) == 100 - 2 * half_width
    np.testing.assert_allclose(value[:, 0], polynomial(inner), atol=1e-8)
    np.testing.assert_allclose(first[:, 0], polynomial.deriv(1)(inner), atol=1e-5)
    np.testing.assert_allclose(second[:, 0], polynomial.deriv(2)(inner), atol=1e-2)


@pytest.mark.parametrize("half_width, order", [(2, 2), (25, 3), (50, 4)])
def test_even_spacing_gives_the_savitzky_golay_filter(half_width, order):
    rng = np.random.default_rng(0)
    signals = rng.normal(size=(5000, 3))
    time = 0.002 * np.arange(5000)
    for derivative, result in enumerate(smooth(time, signals, half_width, order)):
        expected = savgol_filter(
            signals, 2 * half_width + 1, order, deriv=derivative, delta=0.002, axis=0
        )[half_width:-half_width]
        np.testing.assert_allclose(result, expected, atol=1e-9 * np.abs(expected).max())


def test_symmetric_signal_stays_symmetric():
    time = np.linspace(-1.0, 1.0, 1001)
    signal = np.exp(-((time / 0.1) ** 2))[:, np.newaxis]
    value, first, second = smooth(time, signal, 30, 4)
    np.testing.assert_allclose(value, value[::-1], atol=1e-12)
    np.testing.assert_allclose(first, -first[::-1], atol=1e-10)
    np.testing.assert_allclose(second, second[::-1], atol=1e-7)


def test_signal_shorter_than_the_window_gives_nothing():
    assert smooth(np.arange(10.0), np.zeros((10, 2)), 5, 3)[0].shape == (0, 2)


@pytest.mark.parametrize("order", [1, 5])
def test_order_that_does_not_fit_is_refused(order):
    with pytest.raises(InvalidParameterError, match="expected 2 to 4 for a window of 5"):
        smooth(np.arange(10.0), np.zeros((10, 1)), 2, order)
