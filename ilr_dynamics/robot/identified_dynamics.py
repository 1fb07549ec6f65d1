# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Inverse dynamics of an arm identified from data.

Linear in its parameters (`DynamicsRegressor`), so that Bayesian linear regression gives their
posterior (`parameter_posterior`). A joint that sticks carries any torque up to its friction,
whatever its parameters are: such samples hardly count.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
import pinocchio
from numpy.typing import ArrayLike

from ilr_dynamics.exceptions import InvalidDataError
from ilr_dynamics.regression import Fallback, FallbackPrediction
from ilr_dynamics.robot.arrays import FloatArray
from ilr_dynamics.robot.description import RobotDescription
from ilr_dynamics.robot.dynamics_regressor import (
    N_INERTIAL,
    N_OF_JOINT,
    N_OF_MOTOR,
    N_PLAIN,
    N_POSITION_TERMS,
    SLOWEST,
    DynamicsRegressor,
    n_columns,
    n_parameters,
    parameter_indices,
)
from ilr_dynamics.robot.parameter_posterior import parameter_posterior

__all__ = ["IdentifiedDynamics"]

# How far the inertial parameters may be from the description's, in units of themselves, and at
# least this much of the largest of their kind (mass, first moment, moment of inertia) on the arm.
INERTIAL_DOUBT = 1.0
INERTIAL_FLOOR = 0.1
# Nor less than this, kg, kg m and kg m^2: a description may lack inertial parameters.
INERTIAL_LEAST = np.array([0.1, 0.03, 0.01])
# Everything else starts from nothing, give or take this: Nm and multiples with rad, s.
OTHER_DOUBT = 10.0
# Terms in the position alone are nearly the same over a small range: with more doubt they cancel
# there and part beyond it.
POSITION_DOUBT = 3.0
# Of friction by load, Nm for each Nm, and by position, Nm: parts of friction.
PART_DOUBT = 0.1
# What the torque of a joint that sticks is worth: it tells the load to within the friction.
STUCK_WEIGHT = 0.01
# Student-t degrees of freedom: finite variance and kurtosis, up to what a normal looks like.
LOWEST_DOF, HIGHEST_DOF = 4.5, 200.0
SMALLEST_NOISE = 1e-6
BLOCK_ROWS = 1000


@dataclass(frozen=True, eq=False)
class IdentifiedDynamics(Fallback):
    """
    Identified inverse dynamics over inputs [q, qd, qdd]; `from_description` makes one.

    Parameters
    ----------
    placements : (n, 4, 4)
        Pose of each joint in the frame of the one before, at angle zero.
    axes : (n, 3)
        Axis of each joint in its own frame.
    gravity : (3,)
        In the base frame, m/s^2.
    inertial_prior : (n, 10)
        Inertial parameters of the description, in Pinocchio's order.
    motors : (n, n)
        Rows of the joint-to-motor matrix, of length one.
    gram : (n, C, C), pull : (n, C), energy : (n,), weight : (n,)
        For each joint the weighted sums of phi phi', phi tau, tau^2 and 1 over all samples, those
        in which it sticks with `STUCK_WEIGHT` of theirs.
    seen
        Sum of the sample weights.
    moments : (3, n)
        Weighted sums over all samples, sticking joints included, of squared residuals, of their
        fourth powers, and of squares but for `informative_share`.
    """

    placements: FloatArray
    axes: FloatArray
    gravity: FloatArray
    inertial_prior: FloatArray
    motors: FloatArray
    gram: FloatArray
    pull: FloatArray
    energy: FloatArray
    weight: FloatArray
    seen: float
    moments: FloatArray

    name = "identified_dynamics"

    @classmethod
    def from_description(
        cls, description: RobotDescription, *, gravity: ArrayLike = (0.0, 0.0, -9.81)
    ) -> Self:
        """
        Start from an arm's description: its URDF's inertial parameters, no friction.

        Parameters
        ----------
        description
            The arm. Without a joint-to-motor matrix each joint has a motor of its own.
        gravity : (3,)
            In the base frame, m/s^2: (0, 0, 9.81) for an arm that hangs from the ceiling; zero if
            the driver adds the torque that carries the arm's weight itself.

        Raises
        ------
        InvalidDataError
            If gravity is not three finite numbers.
        """
        gravity = np.asarray(gravity, dtype=float)
        if gravity.shape != (3,) or not np.all(np.isfinite(gravity)):
            raise InvalidDataError(f"gravity must be three finite numbers, got {gravity.tolist()}")
        model = pinocchio.buildModelFromUrdf(str(description.urdf_path))
        n = description.n_joints
        gears = np.eye(n) if description.gear_matrix is None else description.gear_matrix
        joints = range(1, n + 1)
        size = n_columns(n)
        return cls(
            placements=np.array([model.jointPlacements[j].homogeneous for j in joints]),
            axes=np.array([_axis(model, j) for j in joints]),
            gravity=gravity,
            inertial_prior=np.array([model.inertias[j].toDynamicParameters() for j in joints]),
            motors=gears / np.linalg.norm(gears, axis=1, keepdims=True),
            gram=np.zeros((n, size, size)),
            pull=np.zeros((n, size)),
            energy=np.zeros(n),
            weight=np.zeros(n),
            seen=0.0,
            moments=np.zeros((3, n)),
        )

    @property
    def n_joints(self) -> int:
        """Number n of joints."""
        return len(self.axes)

    @cached_property
    def _regressor(self) -> DynamicsRegressor:
        return DynamicsRegressor(
            self.placements, self.axes, self.gravity, self.motors, self.inertial_prior
        )

    def updated(self, X: FloatArray, Y: FloatArray, weights: FloatArray) -> Self:
        """
        Learn from further samples.

        Parameters
        ----------
        X : (n_samples, 3 n)
            [q, qd, qdd], rad, rad/s, rad/s^2.
        Y : (n_samples, n)
            Torques, Nm.
        weights : (n_samples,)
            Sample weights.

        Raises
        ------
        InvalidDataError
            If inputs or outputs do not fit the number of joints, or are too large to add up.
        """
        if X.shape[1] != 3 * self.n_joints or Y.shape[1] != self.n_joints:
            raise InvalidDataError(
                f"identified dynamics of {self.n_joints} joints expect {3 * self.n_joints} inputs "
                f"[q, qd, qdd] and {self.n_joints} torques, got {X.shape[1]} and {Y.shape[1]}"
            )
        n = self.n_joints
        gram, pull = self.gram.copy(), self.pull.copy()
        of_joints = weights[:, None] * _slipping(X[:, n : 2 * n])
        # What overflows is told when the parameters are solved for.
        with np.errstate(over="ignore", invalid="ignore"):
            for rows in _blocks(len(X)):
                columns = self._regressor(X[rows])
                weighted = columns * of_joints[rows, :, None]
                for joint in range(n):
                    gram[joint] += weighted[:, joint].T @ columns[:, joint]
                    pull[joint] += weighted[:, joint].T @ Y[rows, joint]
        learned = replace(
            self,
            gram=gram,
            pull=pull,
            energy=self.energy + np.sum(of_joints * Y**2, axis=0),
            weight=self.weight + np.sum(of_joints, axis=0),
            seen=self.seen + float(np.sum(weights)),
        )
        squares = (Y - learned.predict(X).mean) ** 2
        stuck = 1.0 - _slipping(X[:, n : 2 * n]) ** 2
        sums = [weights @ squares, weights @ squares**2, weights @ (stuck * squares)]
        return replace(learned, moments=self.moments + np.stack(sums))

    def discounted(self, factor: float) -> Self:
        """Return what is left if earlier samples weigh `factor` as much."""
        return replace(
            self,
            gram=factor * self.gram,
            pull=factor * self.pull,
            energy=factor * self.energy,
            weight=factor * self.weight,
            seen=factor * self.seen,
            moments=factor * self.moments,
        )

    def predict(self, X: FloatArray) -> FallbackPrediction:
        """Predict torques at [q, qd, qdd] X (n_samples, 3 n)."""
        parts = [self._predict(X[rows]) for rows in _blocks(len(X))]
        if len(parts) == 1:
            return parts[0]
        return FallbackPrediction(
            np.concatenate([part.mean for part in parts]),
            np.concatenate([part.factor for part in parts]),
        )

    def _predict(self, X: FloatArray) -> FallbackPrediction:
        """As `predict`, for a block of samples; in few calls, as one sample costs what they do."""
        columns = self._regressor(X)
        of_joints = columns.transpose(1, 0, 2)
        common, own = self._doubt
        pulls = np.empty_like(columns)
        np.matmul(columns[:, :, : len(common)], common, out=pulls[:, :, : len(common)])
        np.matmul(of_joints, own, out=pulls.transpose(1, 0, 2)[:, :, len(common) :])
        doubt = (columns[:, :, None] @ pulls[:, :, :, None])[:, :, 0, 0]
        doubt /= self._noise
        # One factor for all joints, as the mixture has it: the largest, to be safe.
        return FallbackPrediction(self._mean(of_joints), 1.0 + np.maximum.reduce(doubt, axis=1))

    def _mean(self, columns: FloatArray) -> FloatArray:
        """Expected torques (n_samples, n) from the columns (n, n_samples, C) of each joint."""
        return (columns @ self._of_joints)[:, :, 0].T

    def expected(self, X: FloatArray) -> FloatArray:
        """Expected torques (n_samples, n) at [q, qd, qdd] X (n_samples, 3 n)."""
        # Without the covariances, whose size is most of what a query reads.
        parts = [
            self._mean(self._regressor(X[rows]).transpose(1, 0, 2)) for rows in _blocks(len(X))
        ]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def informative_share(self, X: FloatArray) -> FloatArray:
        """What is left of a joint's torque while it sticks, (n_samples, n): nearly nothing."""
        return _slipping(X[:, self.n_joints : 2 * self.n_joints])

    @property
    def uninformative_variance(self) -> FloatArray:
        """Variance (n,) of the torques about their expectation that is of sticking joints."""
        return np.asarray(self.moments[2] / self.seen if self.seen > 0.0 else self.moments[2])

    @property
    def noise_shape(self) -> FloatArray:
        """Shape (n, n) of the Student-t of the torques, Nm^2; joints are taken as independent."""
        # With the variance that was found: a Student-t is wider than its shape.
        return np.diag(self._noise * (self.dof - 2.0) / self.dof)

    @cached_property
    def _noise(self) -> FloatArray:
        """Variance (n,) of the torques about their expectation, whether joints stick or slip."""
        if not self.seen > 0.0:
            return np.ones(self.n_joints)
        return np.asarray(np.maximum(self.moments[0] / self.seen, SMALLEST_NOISE))

    @cached_property
    def dof(self) -> float:
        """Degrees of freedom of that Student-t, from the kurtosis of the residuals."""
        squares, fourths, _ = self.moments
        if not self.seen > 0.0 or not np.all(squares > 0.0):
            return HIGHEST_DOF
        excess = float(np.mean(self.seen * fourths / squares**2)) - 3.0
        return float(np.clip(4.0 + 6.0 / max(excess, 1e-6), LOWEST_DOF, HIGHEST_DOF))

    @property
    def parameters(self) -> FloatArray:
        """Expected parameters (P,), in the order of `DynamicsRegressor`."""
        return self._posterior[0]

    def arrays(self) -> dict[str, FloatArray]:
        """
        Kinematics, prior, statistics, and the posterior that follows from them.

        The posterior goes along because a control loop takes a model over between two cycles,
        and solving for it takes longer than one.
        """
        kept = {name: np.asarray(getattr(self, name), dtype=float) for name in _ARRAYS}
        return {**kept, **dict(zip(_POSTERIOR, self._posterior, strict=True))}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, FloatArray]) -> Self:
        """From `arrays`; ValueError if shapes do not fit or something is not finite."""
        if "seen" not in arrays:
            raise ValueError(
                "identified dynamics of an earlier version: learn them again from the recordings"
            )
        n = len(arrays["axes"])
        size = n_columns(n)
        shapes = {
            "placements": (n, 4, 4),
            "axes": (n, 3),
            "gravity": (3,),
            "inertial_prior": (n, N_INERTIAL),
            "motors": (n, n),
            "gram": (n, size, size),
            "pull": (n, size),
            "energy": (n,),
            "weight": (n,),
            "seen": (),
            "moments": (3, n),
            "posterior_mean": (n_parameters(n),),
            "posterior_covariance": (n, size, size),
            "posterior_noise": (n,),
        }
        for name, shape in shapes.items():
            if arrays[name].shape != shape or not np.all(np.isfinite(arrays[name])):
                raise ValueError(
                    f"{name} of identified dynamics must be finite and of shape {shape}"
                )
        parts = {name: np.asarray(arrays[name]) for name in _ARRAYS if name != "seen"}
        if not np.all(arrays["posterior_noise"] > 0.0):
            raise ValueError("posterior_noise of identified dynamics must be positive")
        dynamics = cls(**parts, seen=float(arrays["seen"]))
        # Where functools.cached_property looks for it.
        dynamics.__dict__["_posterior"] = tuple(np.asarray(arrays[name]) for name in _POSTERIOR)
        return dynamics

    @cached_property
    def _posterior(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Mean (P,) and covariances (n, C, C) of the parameters, noise variance (n,) in slip."""
        return parameter_posterior(
            *self._prior(),
            parameter_indices(self.n_joints),
            self.gram,
            self.pull,
            self.energy,
            self.weight,
        )

    @cached_property
    def _of_joints(self) -> FloatArray:
        """Expected parameters (n, C, 1) of each joint's columns."""
        return self._posterior[0][parameter_indices(self.n_joints)][:, :, None]

    @cached_property
    def _doubt(self) -> tuple[FloatArray, FloatArray]:
        """
        The covariances S of the parameters, for phi' S phi with less to read.

        What parameters common to all joints have among them, (C', C') once instead of for each
        joint; what a joint's own ones have with all, (n, C, C - C'), that with the common ones
        twice, as S is symmetric.
        """
        covariance = self._posterior[1]
        n_common = covariance.shape[1] - N_OF_JOINT
        own = covariance[:, :, n_common:].copy()
        own[:, :n_common] *= 2.0
        return covariance[0, :n_common, :n_common].copy(), own

    def _prior(self) -> tuple[FloatArray, FloatArray]:
        """Mean and precision (P,) of the parameters before any data."""
        n = self.n_joints
        kinds = np.array([0, 1, 1, 1, 2, 2, 2, 2, 2, 2])
        largest = np.array(
            [np.max(np.abs(self.inertial_prior[:, kinds == kind])) for kind in range(3)]
        )
        least = np.maximum(INERTIAL_FLOOR * largest, INERTIAL_LEAST)
        doubt = INERTIAL_DOUBT * np.maximum(np.abs(self.inertial_prior), least[kinds])
        of_joint = np.full(N_OF_JOINT, PART_DOUBT)
        of_joint[:N_PLAIN] = POSITION_DOUBT
        of_joint[: N_PLAIN - N_POSITION_TERMS] = OTHER_DOUBT
        of_others = np.append(np.full(N_OF_MOTOR * n, OTHER_DOUBT), np.tile(of_joint, n))
        mean = np.append(self.inertial_prior.ravel(), np.zeros(of_others.size))
        std = np.append(doubt.ravel(), of_others)
        return mean, 1.0 / std**2


_ARRAYS = (
    "placements",
    "axes",
    "gravity",
    "inertial_prior",
    "motors",
    "gram",
    "pull",
    "energy",
    "weight",
    "seen",
    "moments",
)

_POSTERIOR = ("posterior_mean", "posterior_covariance", "posterior_noise")


def _axis(model: pinocchio.Model, joint: int) -> FloatArray:
    """Axis of a revolute joint in its own frame."""
    data = model.joints[joint].createData()
    model.joints[joint].calc(data, np.zeros(1))
    return np.array(data.S).ravel()[3:]


def _slipping(velocity: FloatArray) -> FloatArray:
    """What samples are worth to each joint (n_samples, n): less below the slowest slip."""
    squared = velocity**2
    return STUCK_WEIGHT + (1.0 - STUCK_WEIGHT) * squared / (squared + SLOWEST**2)


def _blocks(n_rows: int) -> list[slice]:
    return [slice(start, start + BLOCK_ROWS) for start in range(0, max(n_rows, 1), BLOCK_ROWS)]
