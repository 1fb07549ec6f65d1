# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Recordings of motions that cover the box of the test paths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from _closed_loop import TEST_PATHS, given_feedforward
from _covering_law import Box, box_around, covering_path
from _simulated_motion import Arm, recorded_samples

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.control import JointPath
from ilr_dynamics.robot.tool_paths import resting_posture, tool_path

__all__ = ["BATCH", "EVERY", "N_BATCHES", "Recorded", "box_of_tests", "drawn_path"]

N_BATCHES, BATCH = 15, 10_000
# 500 Hz, every fifth cycle: 100 Hz, as the node takes samples by default.
EVERY, DURATION = 5, 101.0


@dataclass(frozen=True)
class Recorded:
    """
    Samples of all recordings of an arm.

    Attributes
    ----------
    X, Y : (n, 3 n_joints), (n, n_joints)
        States and torques.
    times : (n,)
        When they were recorded, s.
    """

    X: FloatArray
    Y: FloatArray
    times: FloatArray

    spacing: ClassVar[float] = 2.0 * DURATION
    """From the start of one recording to that of the next, s."""

    def recordings(self) -> list[slice]:
        """Rows of each recording."""
        starts = np.flatnonzero(np.diff(self.times // self.spacing, prepend=-1.0))
        return [slice(*ends) for ends in zip(starts, [*starts[1:], len(self.times)], strict=True)]

    @classmethod
    def along(cls, arm: Arm, paths: Sequence[JointPath]) -> Recorded:
        """Record motions along these paths, at most `BATCH` samples of each."""
        feedforward = given_feedforward("analytic_pd", arm)
        parts = [recorded_samples(arm, arm.controller(feedforward), path) for path in paths]
        apart = cls.spacing * np.arange(len(parts))
        return cls(
            np.concatenate([part.X[::EVERY][:BATCH] for part in parts]),
            np.concatenate([part.Y[::EVERY][:BATCH] for part in parts]),
            np.concatenate(
                [t + part.time[::EVERY][:BATCH] for t, part in zip(apart, parts, strict=True)]
            ),
        )

    @classmethod
    def kept(cls, file: Path, arm: Arm, seed: int) -> Recorded:
        """Read what an earlier run kept, or record motions that are drawn from the law."""
        if not file.exists():
            new = cls.along(arm, [drawn_path(arm, seed, k) for k in range(N_BATCHES)])
            np.savez(file.with_suffix(".part.npz"), X=new.X, Y=new.Y, times=new.times)
            file.with_suffix(".part.npz").replace(file)
        with np.load(file, allow_pickle=False) as arrays:
            return cls(arrays["X"], arrays["Y"], arrays["times"])


def box_of_tests(arm: Arm) -> Box:
    """Return the box of the states of the test paths."""
    return box_around([arm.joint_path(tool_path(name)) for name in TEST_PATHS])


def drawn_path(arm: Arm, seed: int, index: int) -> JointPath:
    """Draw the motion of one recording."""
    home = resting_posture(arm.description.n_joints)
    random = np.random.default_rng([seed, index])
    return covering_path(box_of_tests(arm), home, DURATION, random)
