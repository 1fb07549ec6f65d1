# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Steps of the prior's scales, longer than those of EM where these are slow.

An EM step never lowers the bound, but it is short where components have hardly more samples than
regressors. With a thousand components for 3,000 samples of an arm the scales moved by a percent an
iteration for a hundred iterations, while everything else had settled. Adaptive overrelaxation
(Salakhutdinov and Roweis, 2003) takes steps that are longer each time, as long as the bound does
not fall.
"""

from __future__ import annotations

from ilr_dynamics.regression.inference.state import FitScales, InferenceState

__all__ = ["ScaleSteps"]

# By how much longer each step is than the one before: with 1.1 it takes some 10 % more iterations.
GROWTH = 1.3
# Steps are those of EM while an iteration still raises the bound by more than this, in nats for
# each unit of weight. Long steps of scales for components that are yet to find their places led to
# a bound that was lower by 0.8 (400 components on a path of 1500 samples).
SETTLING = 0.1
# No step is longer than this many EM steps: components were found with scales near the present.
LONGEST = 20.0


class ScaleSteps:
    """
    Steps of the scales in the course of one inference.

    Parameters
    ----------
    fit_scales, fit_concentration
        Those of `Inference`.
    """

    def __init__(self, fit_scales: FitScales, fit_concentration: bool) -> None:
        self._fitted = fit_scales, fit_concentration
        self._relaxation = 1.0

    def __call__(self, state: InferenceState, growth: float) -> InferenceState:
        """Return the state after a step that does not lower its bound, which last grew by this."""
        if growth > SETTLING:
            self._relaxation = 1.0
        stepped = state.with_scales_refitted(*self._fitted, self._relaxation)
        # The posterior that this evaluates is that of the next E-step.
        if self._relaxation > 1.0 and not stepped.log_evidence() >= state.log_evidence():
            self._relaxation = 1.0
            return state.with_scales_refitted(*self._fitted)
        self._relaxation = min(GROWTH * self._relaxation, LONGEST)
        return stepped
