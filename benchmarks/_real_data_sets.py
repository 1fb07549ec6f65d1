# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Motions of real and simulated arms: what to learn from and what to be tested on.

Interpolation holds out a fifth of the rows, neighbours in time of the others; extrapolation whole
motions: those that the file says are new, or else the last fifth of the recording.
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
from ilr_dynamics.robot.description import RobotDescription, load_description

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
    Motions, each in the order of time.

    Parameters
    ----------
    X : (n, 3 n_joints)
        Positions, velocities and accelerations, rad, rad/s and rad/s^2.
    Y : (n, n_joints)
        Torques, Nm.
    is_test : (n,)
        The rows that interpolation is tested on.
    is_new_motion : (n,)
        The rows that extrapolation is tested on.
    """

    X: FloatArray
    Y: FloatArray
    is_test: BoolArray
    is_new_motion: BoolArray

    @classmethod
    def of_file(cls, path: Path) -> Recording:
        """Read a file of the data folder."""
        with np.load(path, allow_pickle=False) as data:
            X = np.concatenate([data["q"], data["qd"], data["qdd"]], axis=1)
            if "is_new_motion" in data:
                is_new_motion = data["is_new_motion"].astype(bool)
            else:
                is_new_motion = np.arange(len(X)) >= round(0.8 * len(X))
            return cls(X, data["tau"], data["is_test"].astype(bool), is_new_motion)

    def splits(self) -> dict[str, Split]:
        """Return both protocols."""
        return {
            "interpolation": self._held_out(self.is_test),
            "extrapolation": self._held_out(self.is_new_motion),
        }

    def never_tested_on(self) -> tuple[FloatArray, FloatArray]:
        """Inputs and torques of the rows that both protocols learn from."""
        rows = ~self.is_test & ~self.is_new_motion
        return self.X[rows], self.Y[rows]

    def _held_out(self, test: BoolArray) -> Split:
        return Split(self.X[~test], self.Y[~test], self.X[test], self.Y[test])


@dataclass(frozen=True)
class DataSet:
    """
    Samples of an arm.

    Parameters
    ----------
    robot
        Name of the arm's description in the package, or of its URDF in the data folder; None if
        there is none.
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

    def missing(self, data_dir: Path) -> list[str]:
        """Names of the files that the data folder lacks."""
        names = [self.file, self.robot if self._has_own_urdf else None]
        return [name for name in names if name is not None and not (data_dir / name).is_file()]

    def description(self, data_dir: Path) -> RobotDescription | None:
        """Description of the arm, None if there is none."""
        if self.robot is None:
            return None
        return load_description(data_dir / self.robot if self._has_own_urdf else self.robot)

    @property
    def _has_own_urdf(self) -> bool:
        return self.robot is not None and self.robot.endswith(".urdf")


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
    # Its masses are guesses.
    "real_baxter7": DataSet("baxter_arm.urdf", _recording, "real_baxter7.npz"),
    "real_sarcos_small": DataSet(None, _recording, "real_sarcos_small.npz"),
}


def add_data_option(parser: argparse.ArgumentParser) -> None:
    """Let the user say where the recordings are."""
    parser.add_argument(
        "--data-dir",
        type=Path,
        default=Path(os.environ.get("ILR_DYNAMICS_DATA", REPOSITORY.parent / "shared" / "data")),
        help="folder of the recordings",
    )
