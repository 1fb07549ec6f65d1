# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Motions of real and simulated arms: what to learn from and what to be tested on.

Interpolation holds out every fifth row, extrapolation the last fifth of the recording.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from _simulated_motion import inverse_dynamics_samples

from ilr_dynamics.arrays import BoolArray, FloatArray

__all__ = ["REPOSITORY", "SETS", "DataSet", "Recording", "Split", "add_data_option"]

REPOSITORY = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Split:
    """Training and test rows of one protocol."""

    X: FloatArray
    Y: FloatArray
    X_test: FloatArray
    Y_test: FloatArray


@dataclass(frozen=True)
class Recording:
    """
    One motion, in the order of time.

    Parameters
    ----------
    X : (n, 3 n_joints)
        Positions, velocities and accelerations, rad, rad/s and rad/s^2.
    Y : (n, n_joints)
        Torques, Nm.
    is_test : (n,)
        The rows that interpolation is tested on.
    """

    X: FloatArray
    Y: FloatArray
    is_test: BoolArray

    @classmethod
    def of_file(cls, path: Path) -> Recording:
        """Read a file of the data folder."""
        with np.load(path, allow_pickle=False) as data:
            X = np.concatenate([data["q"], data["qd"], data["qdd"]], axis=1)
            return cls(X, data["tau"], data["is_test"].astype(bool))

    def splits(self) -> dict[str, Split]:
        """Return both protocols."""
        X, Y, is_test, n = self.X, self.Y, self.is_test, self._n_early
        return {
            "interpolation": Split(X[~is_test], Y[~is_test], X[is_test], Y[is_test]),
            "extrapolation": Split(X[:n], Y[:n], X[n:], Y[n:]),
        }

    def never_tested_on(self) -> tuple[FloatArray, FloatArray]:
        """Inputs and torques of the rows that both protocols learn from."""
        rows = np.flatnonzero(~self.is_test[: self._n_early])
        return self.X[rows], self.Y[rows]

    @property
    def _n_early(self) -> int:
        return round(0.8 * len(self.X))


@dataclass(frozen=True)
class DataSet:
    """
    Samples of an arm.

    Parameters
    ----------
    robot
        Name of the arm's description, None if there is none.
    load
        Splits by protocol, from the path of the file.
    file
        Name in the data folder, which the project does not redistribute; None: made when needed.
    gravity
        In the base frame, m/s^2.
    """

    robot: str | None
    load: Callable[[Path], dict[str, Split]]
    file: str | None = None
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)

    def splits(self, data_dir: Path) -> dict[str, Split]:
        """Splits by protocol."""
        return self.load(data_dir / (self.file or ""))


def _recording(path: Path) -> dict[str, Split]:
    return Recording.of_file(path).splits()


def _sarcos(path: Path) -> dict[str, Split]:
    with np.load(path, allow_pickle=False) as data:
        parts = [data[name] for name in ("X_train", "Y_train", "X_test", "Y_test")]
    return {"interpolation": Split(*parts)}


def _simulated_wam4(path: Path) -> dict[str, Split]:
    X, Y = inverse_dynamics_samples(30000, 0)
    order = np.random.default_rng(0).permutation(len(X))
    train, test = order[:25000], order[25000:]
    return {"interpolation": Split(X[train], Y[train], X[test], Y[test])}


# Of the base frame in which the WAM's recordings were made: in their training rows the published
# inertial parameters explain torques with gravity along +z, and make them worse along -z.
UPSIDE_DOWN = (0.0, 0.0, 9.81)
SETS = {
    "real_barrett_wam7": DataSet("wam7", _recording, "real_barrett_wam7.npz", UPSIDE_DOWN),
    "ias_sarcos": DataSet(None, _sarcos, "ias_sarcos.npz"),
    "sl_barrett_wam7_simulated": DataSet(
        "wam7", _recording, "sl_barrett_wam7_simulated.npz", UPSIDE_DOWN
    ),
    "simulated_wam4": DataSet("wam4", _simulated_wam4),
}


def add_data_option(parser: argparse.ArgumentParser) -> None:
    """Let the user say where the recordings are."""
    parser.add_argument(
        "--data-dir",
        type=Path,
        default=Path(os.environ.get("ILR_DYNAMICS_DATA", REPOSITORY.parent / "shared" / "data")),
        help="folder of the recordings",
    )
