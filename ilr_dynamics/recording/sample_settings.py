# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Settings by which recorded states become training samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ilr_dynamics.exceptions import InvalidParameterError

__all__ = ["DEFAULT_SETTINGS", "SampleSettings", "check_settings", "half_window"]


@dataclass(frozen=True)
class SampleSettings:
    """
    Settings of smoothing, selection and thinning of recorded states.

    Parameters
    ----------
    filter_window : float
        Length of the zero-phase filter on position and torque, s. A window is widened to at
        least two samples more than the degree of the polynomials.
    filter_order : int
        Degree of the filter's polynomials.
    max_gap : float
        Longest time between states that is not a gap, in nominal periods. The filter never
        includes states across a gap.
    command_delay : float
        Time from a state to the middle of the interval in which its command acts, in nominal
        periods: one of transport, and half of the period for which the driver holds it.
    effort_delay : float
        The same for the effort that a state reports, which acts from that state on.
    sample_rate : float or None
        Rate to which samples are thinned, Hz; None: not at all.
    torque_limit : sequence of float or None
        Torque limits, Nm. Samples at a limit are rejected, as the torque applied by the driver
        may be smaller than the recorded one.
    minimum_speed : float or None
        Samples are rejected if every joint is slower, rad/s: in a recording of efforts the brakes
        may be carrying the arm.
    velocity_limit : sequence of float or None
        Velocity limits, rad/s. States that would need more than twice that are rejected: they are
        from other senders or have bit errors. None: a limit for any arm.
    continuous_joints : sequence of str
        Names of the continuous joints, whose positions are unwrapped.
    minimum_samples : int
        Smallest number of samples of an accepted recording.
    minimum_range : float
        Smallest motion of at least one joint in an accepted recording, rad: with less it shows
        the weight in one posture at best, or brakes.
    """

    # Measured on the simulated arm (500 Hz, 4096 counts a motor turn, gears 18 to 42, motions
    # below 3 Hz, dry friction). Error of the acceleration, rms in rad/s^2, with windows of 0.03,
    # 0.05, 0.06, 0.08, 0.1 and 0.2 s: 0.36, 0.25, 0.26, 0.30, 0.34 and 0.54 at order 4, where
    # long windows smear the jumps of friction. Error of the torque against the arm's own inverse
    # dynamics, away from standstill, rms in Nm: 0.27, 0.10, 0.06, 0.04, 0.04 and 0.16, where
    # short ones pass the encoder's steps. Orders 2 and 3 are best at 0.03 to 0.05 s, no better.
    filter_window: float = 0.06
    filter_order: int = 4
    max_gap: float = 3.5
    # Derived, not fitted; the same torque error is smallest at 1.25 +- 0.25 and at 0.1 +- 0.25.
    command_delay: float = 1.5
    effort_delay: float = 0.5
    sample_rate: float | None = None
    torque_limit: Sequence[float] | None = None
    minimum_speed: float | None = None
    velocity_limit: Sequence[float] | None = None
    continuous_joints: Sequence[str] = ()
    minimum_samples: int = 100
    minimum_range: float = 0.01


DEFAULT_SETTINGS = SampleSettings()


def half_window(settings: SampleSettings, period: float) -> int:
    """Return half of the filter's window in states, for states with this period in s."""
    return max(round(0.5 * settings.filter_window / period), settings.filter_order // 2 + 1)


def check_settings(settings: SampleSettings, n_joints: int) -> None:
    """Raise InvalidParameterError if a setting is out of range, or not one for each joint."""
    for name in ("filter_window", "max_gap", "sample_rate", "minimum_samples"):
        value = getattr(settings, name)
        if value is not None and not value > 0:
            raise InvalidParameterError(f"{name} is {value}; expected a positive number")
    for name in ("torque_limit", "velocity_limit"):
        values = getattr(settings, name)
        if values is not None and len(values) != n_joints:
            raise InvalidParameterError(
                f"{name} has {len(values)} values; expected one for each of the {n_joints} joints"
            )
