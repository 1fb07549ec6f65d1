# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Model fit: whether the arm still does what its learned model expects, and what has changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.control.residual_observer import ResidualSample
from ilr_dynamics.robot.fit_test import FitTest
from ilr_dynamics.robot.misfit_evidence import change_rows
from ilr_dynamics.robot.misfit_explanation import Change
from ilr_dynamics.robot.torque_noise import slipping_share

__all__ = ["FitReport", "ModelFit", "name_of"]

# Samples of a minute of motion, over which figures are given.
LENGTH = 600
# Share of the learned torque below which nobody relies on the model's deviation.
TRUSTED = 0.5
# Speed below which no joint tells anything, rad/s.
AT_REST = 0.02
# Deviations beyond which a residual torque counts as so many: an elbow's with some kilograms that
# nobody told of has as many. What is more is no torque but an error, as of an encoder or of a
# model far from its data, and a single one would be all that a minute says.
LARGEST = 100.0
# Of a normal distribution, in deviations.
HALF_OF_95_PERCENT = 1.96
WORDS = {"offset": "offset", "viscous": "viscous friction", "dry": "dry friction"}
UNITS = {"offset": "Nm", "viscous": "Nms/rad", "dry": "Nm", "delay": "s", "payload": "kg"}


@dataclass(frozen=True, eq=False)
class FitReport:
    """
    How well the model fits, over the last minute of motion.

    Attributes
    ----------
    fits : bool
        Whether nothing seems to have changed.
    text : str
        The same in words.
    motion : float
        Motion that this is made of, s.
    residual, bias, outside : ndarray of shape (n_joints,)
        Root mean square and mean of the residual torques in predicted deviations, and share of
        torques outside their 95 % interval.
    log_odds : ndarray of shape (n_joints,)
        Log of how much likelier the torques are with the likeliest change of each joint than
        without any.
    payload_log_odds : float
        The same of a payload that is not fed forward.
    changes : tuple of Change
        What has changed.
    """

    fits: bool
    text: str
    motion: float
    residual: FloatArray
    bias: FloatArray
    outside: FloatArray
    log_odds: FloatArray
    payload_log_odds: float
    changes: tuple[Change, ...] = ()


class ModelFit:
    """
    Watches the residual torques of a learned model.

    Parameters
    ----------
    test : FitTest
        Says what has changed.
    joints : sequence of str
        Names in the order of the arrays.
    least_std : ndarray of shape (n_joints,)
        Deviation of torques that even the best model has, Nm.
    sample_period : float
        Motion from one sample to the next, s.

    Attributes
    ----------
    report : FitReport
        Newest one; another object each time.
    """

    def __init__(
        self,
        test: FitTest,
        joints: Sequence[str],
        least_std: FloatArray,
        sample_period: float,
    ) -> None:
        self._test = test
        self._joints = tuple(joints)
        self._least_variance = least_std**2
        self._period = sample_period
        self._latest = np.empty((LENGTH, len(joints)))
        self.restart()

    def restart(self) -> None:
        """Forget all samples: of another model, or with another payload."""
        self._test.restart()
        self._n = 0
        nothing = np.zeros(len(self._joints))
        text = "not known yet: expected some seconds of motion with a learned model (ilr)"
        self.report = FitReport(True, text, 0.0, nothing, nothing, nothing, nothing, 0.0)

    def add(self, sample: ResidualSample, carried: FloatArray | None = None) -> None:
        """
        Add a sample.

        Parameters
        ----------
        sample : ResidualSample
            Of the model without a payload.
        carried : ndarray of shape (10,), optional
            Inertial parameters of the payload that is fed forward.
        """
        if sample.gate < TRUSTED or np.abs(sample.velocity).max() < AT_REST:
            return
        residual = sample.residual
        if carried is not None:
            residual = residual - sample.columns @ carried
        std = np.sqrt(sample.std**2 + self._least_variance)
        if not np.isfinite(residual + std + sample.common_doubt).all():
            return
        residual = np.clip(residual, -LARGEST * std, LARGEST * std)
        self._latest[self._n % LENGTH] = residual / std
        self._n += 1
        rows = change_rows(
            sample.columns, sample.velocity, sample.torque_rate, residual, sample.common_doubt, std
        )
        if self._test.add(sample.position, sample.velocity, rows, slipping_share(sample.velocity)):
            self.report = self._reported()

    def _reported(self) -> FitReport:
        latest = self._latest[: self._n]
        changes = tuple(self._test.changes)
        residual = np.sqrt(np.mean(latest**2, axis=0))
        motion = len(latest) * self._period
        return FitReport(
            not changes,
            self._text(changes, residual, motion),
            motion,
            residual,
            latest.mean(axis=0),
            np.mean(np.abs(latest) > HALF_OF_95_PERCENT, axis=0),
            self._test.of_joints.max(axis=1),
            float(self._test.of_arm[0]),
            changes,
        )

    def _text(self, changes: tuple[Change, ...], residual: FloatArray, motion: float) -> str:
        if changes:
            verdict = "no longer fits: " if self._test.has_fitted else "does not fit: "
            return verdict + ", ".join(self._words(change) for change in changes)
        worst = int(np.argmax(residual))
        return (
            f"fits: residual torques are at most {residual[worst]:.2f} predicted deviations "
            f"({self._joints[worst]}), over {motion:.0f} s of motion"
        )

    def _words(self, change: Change) -> str:
        kind = WORDS.get(change.kind, change.kind)
        size = f"{change.by:+.3g} +- {change.std:.2g} {UNITS[change.kind]}"
        where = name_of(change, self._joints)
        return f"{kind} {size}" if where == kind else f"{where} {kind} {size}"


def name_of(change: Change, joints: Sequence[str]) -> str:
    """Name of the joint that has changed; payload; or all."""
    if change.joint is not None:
        return joints[change.joint]
    return "payload" if change.kind == "payload" else "all"
