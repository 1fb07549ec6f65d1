# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Zero-phase Savitzky-Golay smoothing and differentiation of unevenly spaced samples."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.exceptions import InvalidParameterError

__all__ = ["smooth"]

BLOCK = 2048
"""Number of windows fitted at a time: it bounds the memory to some 10 MB."""


def smooth(
    time: FloatArray,
    signals: FloatArray,
    half_width: int,
    order: int,
    centres: IndexArray | None = None,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    r"""
    Fit a polynomial around every sample; its value and derivatives are the filter's output.

    This is the filter of Savitzky and Golay (1964) at the actual times of the samples: with even
    spacing it equals `scipy.signal.savgol_filter`; with jitter or a lost sample it is still exact
    for polynomials up to the order. The window is centred, so there is no phase lag. There is no
    output at the edges, where no full window fits.

    Parameters
    ----------
    time : ndarray of shape (n,)
        Strictly increasing, s.
    signals : ndarray of shape (n, m)
        Signals to smooth, in any unit.
    half_width : int
        Number of samples on each side of the centre; the window has 2 half_width + 1.
    order : int
        Degree of the polynomial, at least 2 and less than the window.
    centres : ndarray of shape (c,), int, optional
        Samples at which to evaluate, each with a full window around it; by default all such.

    Returns
    -------
    value, first, second : ndarray of shape (c, m)
        Smoothed signals and their derivatives with respect to time.

    Raises
    ------
    InvalidParameterError
        If the order does not fit the window.
    """
    width = 2 * half_width + 1
    if not 2 <= order < width:
        raise InvalidParameterError(
            f"the order of the filter is {order}; expected 2 to {width - 1} for a window of "
            f"{width} samples"
        )
    if centres is None:
        centres = np.arange(half_width, len(time) - half_width)
    result = np.empty((3, len(centres), signals.shape[1]))
    if not len(centres):
        return result[0], result[1], result[2]
    times = sliding_window_view(time, width)
    windows = sliding_window_view(signals, width, axis=0)  # (n - 2 half_width, m, width)
    for start in range(0, len(centres), BLOCK):
        block = slice(start, start + BLOCK)
        rows = centres[block] - half_width
        result[:, block] = _fit(times[rows], windows[rows], order)
    return result[0], result[1], result[2]


def _fit(times: FloatArray, windows: FloatArray, order: int) -> FloatArray:
    """Value, first and second derivative (3, b, m) at the centres of windows (b, m, width)."""
    offset = times - times[:, times.shape[1] // 2, np.newaxis]
    # Times scaled to about +-1 keep the normal equations well conditioned.
    scale = 0.5 * (times[:, -1] - times[:, 0])[:, np.newaxis]
    x = offset / scale
    powers = np.empty((len(x), order + 1, x.shape[1]))
    powers[:, 0] = 1.0
    # Repeated multiplication, as the power operator on floats takes ten times as long.
    for k in range(order):
        np.multiply(powers[:, k], x, out=powers[:, k + 1])
    gram = powers @ np.swapaxes(powers, 1, 2)
    coefficients = np.linalg.solve(gram, powers @ np.swapaxes(windows, 1, 2))
    return np.stack(
        [coefficients[:, 0], coefficients[:, 1] / scale, 2.0 * coefficients[:, 2] / scale**2]
    )
