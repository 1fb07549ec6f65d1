# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Tool paths of the tracking experiments, and the joint motions that follow them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from ilr_dynamics.arrays import FloatArray, read_only
from ilr_dynamics.exceptions import TrajectoryError
from ilr_dynamics.robot.description import DESCRIPTION_FOLDER
from ilr_dynamics.robot.joint_motion import JointMotion
from ilr_dynamics.robot.kinematics import inverse_kinematics
from ilr_dynamics.robot.rigid_body import RigidBodyModel
from ilr_dynamics.robot.yaml_config import build, read_yaml

__all__ = [
    "ToolPath",
    "figure_eight",
    "joint_path",
    "resting_posture",
    "tool_path",
    "tool_path_names",
    "training_periods",
]

# Rate of the inverse kinematics, Hz. Splines through its points are within 2e-8 rad and
# 1e-3 rad/s^2 of the fastest path.
_KINEMATICS_RATE = 50.0


@dataclass(frozen=True, eq=False)
class ToolPath:
    """
    Periodic path around a centre, with a smooth start.

    x(t) = centre + offset + s(t) (bias + amplitude sin(harmonic w t + phase)) for each axis, with
    w = 2 pi / period and s(t) = smoothstep(t / start_up).

    Attributes
    ----------
    period, duration, start_up : float
        Times [s].
    amplitude : array_like of shape (3,)
        Amplitude of each axis [m].
    harmonic : array_like of shape (3,)
        Frequency of each axis in multiples of w.
    offset, bias, phase : array_like of shape (3,)
        Offset outside and inside the start-up blend [m], and phase of each axis [rad].
    """

    period: float
    duration: float
    start_up: float
    amplitude: FloatArray
    harmonic: FloatArray
    offset: FloatArray = (0.0, 0.0, 0.0)  # type: ignore[assignment]
    bias: FloatArray = (0.0, 0.0, 0.0)  # type: ignore[assignment]
    phase: FloatArray = (0.0, 0.0, 0.0)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        """Freeze the arrays."""
        if not (self.period > 0 and self.duration > 0 and self.start_up > 0):
            raise TrajectoryError(
                f"period {self.period} s, duration {self.duration} s, start-up {self.start_up} s, "
                "expected positive times"
            )
        for key in ("amplitude", "harmonic", "offset", "bias", "phase"):
            object.__setattr__(self, key, read_only(getattr(self, key)))

    def position(self, time: ArrayLike) -> FloatArray:
        """
        Return the tool point relative to the centre.

        Parameters
        ----------
        time : array_like of shape (n,)
            Times since the start [s].

        Returns
        -------
        ndarray of shape (n, 3)
            Points [m].
        """
        time = np.asarray(time, dtype=np.float64)[:, None]
        angle = 2 * np.pi / self.period * self.harmonic * time + self.phase
        swing = self.bias + self.amplitude * np.sin(angle)
        return self.offset + self._blend(time) * swing

    def sway(self, time: ArrayLike) -> FloatArray:
        """
        Return an oscillation with the path's period and the same smooth start.

        Parameters
        ----------
        time : array_like of shape (n,)
            Times since the start [s].

        Returns
        -------
        ndarray of shape (n, 1)
            Values from -1 to 1.
        """
        time = np.asarray(time, dtype=np.float64)[:, None]
        return self._blend(time) * np.sin(2 * np.pi / self.period * time)

    def _blend(self, time: FloatArray) -> FloatArray:
        ramp = np.clip(time / self.start_up, 0, 1)
        return np.asarray(ramp**2 * (3 - 2 * ramp))


@cache
def _experiments() -> dict[str, Any]:
    return read_yaml(DESCRIPTION_FOLDER / "tracking_experiments.yaml")


def resting_posture(n_joints: int) -> FloatArray:
    """
    Return the joint angles at the centre of the paths of an arm.

    Parameters
    ----------
    n_joints : int
        Number of the arm's joints.

    Returns
    -------
    ndarray of shape (n_joints,)
        Joint angles [rad].

    Raises
    ------
    TrajectoryError
        If no posture is defined for this number of joints.
    """
    return read_only(_of_arm("resting_postures", n_joints))


def training_periods() -> tuple[float, ...]:
    """Periods of the figure-eights that are recorded for training [s]."""
    return tuple(_experiments()["training_periods"])


def figure_eight(period: float) -> ToolPath:
    """
    Return a figure-eight of any period.

    Parameters
    ----------
    period : float
        Time for one figure-eight [s].

    Returns
    -------
    ToolPath

    Raises
    ------
    TrajectoryError
        If the period is not positive.
    """
    shape = _experiments()["figure_eight"]
    return build(ToolPath, {**shape, **_start_up(), "period": period}, "figure_eight")


def tool_path_names() -> tuple[str, ...]:
    """Names for `tool_path`: the training figure-eights and the test trajectories."""
    training = [f"train_{period:g}" for period in training_periods()]
    return (*training, *_experiments()["trajectories"])


def tool_path(name: str) -> ToolPath:
    """
    Return the path of a given name.

    Parameters
    ----------
    name : str
        One of `tool_path_names`, such as ``"train_3.8"`` or ``"T1"``.

    Returns
    -------
    ToolPath

    Raises
    ------
    TrajectoryError
        If the name is unknown.
    """
    if name not in tool_path_names():
        raise TrajectoryError(
            f"unknown trajectory '{name}', expected one of: {', '.join(tool_path_names())}"
        )
    if name.startswith("train_"):
        return figure_eight(float(name.removeprefix("train_")))
    return build(ToolPath, {**_experiments()["trajectories"][name], **_start_up()}, name)


def joint_path(path: ToolPath, model: RigidBodyModel, rate: float) -> JointMotion:
    """
    Return the joint motion whose tool point follows a path.

    Parameters
    ----------
    path : ToolPath
        Path around the tool point of the resting posture. In the null space of the tool point the
        joints stay near that posture, or oscillate about it with the path's period.
    model : RigidBodyModel
        Model of the arm.
    rate : float
        Knots per second [Hz].

    Returns
    -------
    JointMotion
        Knots from 0 to the path's duration, fit for quintic interpolation.

    Raises
    ------
    TrajectoryError
        If the rate is not positive, no resting posture is defined for this number of joints, or
        the path leaves the arm's workspace.
    """
    if not rate > 0:
        raise TrajectoryError(f"knot rate is {rate} Hz, expected a positive number")
    times = np.arange(round(path.duration * rate) + 1) / rate
    starting = times < path.start_up
    # One spline on each side of the end of the smoothstep, where its acceleration jumps.
    before = _joint_spline(path, model, 0.0, min(path.start_up, path.duration))
    motion = np.empty((3, len(times), model.n_joints))
    motion[:, starting] = [before(times[starting], order) for order in range(3)]
    if not starting.all():
        after = _joint_spline(path, model, path.start_up, max(path.duration, times[-1]))
        motion[:, ~starting] = [after(times[~starting], order) for order in range(3)]
    return JointMotion(times, *motion)


def _joint_spline(
    path: ToolPath, model: RigidBodyModel, begin: float, end: float
) -> scipy.interpolate.BSpline:
    n_samples = max(round((end - begin) * _KINEMATICS_RATE), 6) + 1
    times = np.linspace(begin, end, n_samples)
    centre = resting_posture(model.n_joints)
    targets = model.tool_position(centre) + path.position(times)
    rests = centre + path.sway(times) * _of_arm("sways", model.n_joints)
    angles = [centre]
    for target, rest in zip(targets, rests, strict=True):
        angles.append(inverse_kinematics(model, target, start=angles[-1], resting_posture=rest))
    return scipy.interpolate.make_interp_spline(times, angles[1:], k=5)


def _of_arm(kind: str, n_joints: int) -> FloatArray:
    postures = _experiments()[kind]
    if n_joints not in postures:
        known = " or ".join(map(str, postures))
        raise TrajectoryError(f"the arm has {n_joints} joints, expected {known} for tool paths")
    return np.array(postures[n_joints], dtype=np.float64)


def _start_up() -> dict[str, float]:
    return {"start_up": _experiments()["start_up"]}
