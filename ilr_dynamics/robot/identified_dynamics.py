# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Inverse dynamics of an arm, identified from data.

The dynamics are linear in their parameters (`DynamicsRegressor`), so Bayesian linear regression
gives the posterior (`parameter_posterior`). A joint that sticks balances any torque up to its
static friction, whatever the parameters: such samples have a small weight.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
import pinocchio
from numpy.typing import ArrayLike

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.blas_threads import one_blas_thread
from ilr_dynamics.exceptions import InvalidDataError
from ilr_dynamics.regression import GlobalModel, GlobalPrediction
from ilr_dynamics.robot.description import RobotDescription
from ilr_dynamics.robot.dynamics_regressor import (
    SLOWEST,
    DynamicsRegressor,
    n_columns,
    parameter_indices,
)
from ilr_dynamics.robot.identified_arrays import PARTS, POSTERIOR, STATE, check_arrays
from ilr_dynamics.robot.parameter_posterior import ParameterPosterior, parameter_posterior
from ilr_dynamics.robot.parameter_prior import parameter_prior
from ilr_dynamics.robot.pinocchio_model import pinocchio_model

__all__ = ["IdentifiedDynamics"]

# Weight of the torque of a joint that sticks: it shows the load only up to static friction.
STUCK_WEIGHT = 0.01
# Bounds of the Student-t's degrees of freedom: finite kurtosis, and nearly a normal distribution.
LOWEST_DOF, HIGHEST_DOF = 4.5, 200.0
SMALLEST_NOISE = 1e-6
BLOCK_ROWS = 1000


@dataclass(frozen=True, eq=False)
class IdentifiedDynamics(GlobalModel):
    """
    Identified inverse dynamics over inputs [q, qd, qdd]; `from_description` makes one.

    An object holds scratch memory: use one per thread.

    Parameters
    ----------
    placements : ndarray of shape (n, 4, 4)
        Pose of each joint in the frame of the previous one, at angle zero.
    axes : ndarray of shape (n, 3)
        Axis of each joint in its own frame.
    gravity : ndarray of shape (3,)
        Gravity in the base frame, m/s^2.
    inertial_prior : ndarray of shape (n, 10)
        Inertial parameters of the description, in Pinocchio's order.
    motors : ndarray of shape (n, n)
        Rows of the joint-to-motor matrix, scaled to length one.
    gram, pull, energy, weight : ndarray of shape (n, C, C), (n, C), (n,) and (n,)
        Weighted sums over all samples of phi phi', phi tau, tau^2 and 1 for each joint. Samples
        in which the joint sticks are weighted with `STUCK_WEIGHT` too.
    seen : float
        Sum of the sample weights.
    moments : ndarray of shape (3, n)
        Weighted sums over all samples, with full weight where a joint sticks: of the squared
        residuals, of their fourth powers, and of the squares due to sticking (those times one
        minus the square of `informative_share`).
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
        cls, description: RobotDescription, *, gravity: ArrayLike | None = None
    ) -> Self:
        """
        Make the prior of an arm: the inertial parameters of its URDF, no friction.

        Parameters
        ----------
        description : RobotDescription
            Description of the arm. Without a joint-to-motor matrix each joint has its own motor.
        gravity : array_like of shape (3,), optional
            Gravity in the base frame, m/s^2: (0, 0, 9.81) for an arm that hangs from the ceiling;
            zero if the driver compensates gravity itself. By default the description's.

        Raises
        ------
        InvalidDataError
            If gravity is not three finite numbers.
        """
        gravity = np.asarray(description.gravity if gravity is None else gravity, dtype=float)
        if gravity.shape != (3,) or not np.all(np.isfinite(gravity)):
            raise InvalidDataError(f"gravity must be three finite numbers, got {gravity.tolist()}")
        model = pinocchio_model(description)
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

    @one_blas_thread
    def updated(self, X: FloatArray, Y: FloatArray, weights: FloatArray) -> Self:
        """
        Return these dynamics updated with further samples.

        Parameters
        ----------
        X : ndarray of shape (n_samples, 3 n)
            Inputs [q, qd, qdd], rad, rad/s, rad/s^2.
        Y : ndarray of shape (n_samples, n)
            Torques, Nm.
        weights : ndarray of shape (n_samples,)
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
        # An overflow is reported when the parameters are solved for.
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
        """Return these dynamics with the weights of all samples multiplied by `factor`."""
        return replace(
            self,
            gram=factor * self.gram,
            pull=factor * self.pull,
            energy=factor * self.energy,
            weight=factor * self.weight,
            seen=factor * self.seen,
            moments=factor * self.moments,
        )

    def predict(self, X: FloatArray) -> GlobalPrediction:
        """Predict torques at [q, qd, qdd] X (n_samples, 3 n)."""
        if len(X) == 1:
            # No limit on threads: BLAS uses one for so little, and setting it takes time.
            return self._predict(X)
        with one_blas_thread:
            parts = [self._predict(X[rows]) for rows in _blocks(len(X))]
        return GlobalPrediction(
            np.concatenate([part.mean for part in parts]),
            np.concatenate([part.factor for part in parts]),
        )

    def _predict(self, X: FloatArray) -> GlobalPrediction:
        """Predict as `predict` does, for one block of samples."""
        columns = self._regressor(X)
        doubt = self._posterior.variance(columns)
        doubt /= self._noise
        # One factor for all joints, as in the mixture: the largest, which is conservative.
        return GlobalPrediction(
            self._posterior.expected(columns), 1.0 + np.maximum.reduce(doubt, axis=1)
        )

    def expected(self, X: FloatArray) -> FloatArray:
        """Expected torques (n_samples, n) at [q, qd, qdd] X (n_samples, 3 n)."""
        # Does not read the covariances, which are most of the memory that a query reads.
        if len(X) == 1:
            return self._posterior.expected(self._regressor(X))
        with one_blas_thread:
            return np.concatenate(
                [self._posterior.expected(self._regressor(X[rows])) for rows in _blocks(len(X))]
            )

    def informative_share(self, X: FloatArray) -> FloatArray:
        """Weight of each joint's torque (n_samples, n): almost zero while the joint sticks."""
        return _slipping(X[:, self.n_joints : 2 * self.n_joints])

    @property
    def uninformative_variance(self) -> FloatArray:
        """Part (n,) of the variance of the torques that is due to sticking joints."""
        return np.asarray(self.moments[2] / self.seen if self.seen > 0.0 else self.moments[2])

    @property
    def noise_shape(self) -> FloatArray:
        """Scale matrix (n, n) of the Student-t of the torques, Nm^2; joints are independent."""
        # Its variance, larger than the scale by dof / (dof - 2), shall be that of the residuals.
        return np.diag(self._noise * (self.dof - 2.0) / self.dof)

    @cached_property
    def _noise(self) -> FloatArray:
        """Variance (n,) of the torques about their mean, over sticking and slipping joints."""
        if not self.seen > 0.0:
            return np.ones(self.n_joints)
        return np.asarray(np.maximum(self.moments[0] / self.seen, SMALLEST_NOISE))

    @cached_property
    def dof(self) -> float:
        """Degrees of freedom of the Student-t, from the kurtosis of the residuals."""
        squares, fourths, _ = self.moments
        if not self.seen > 0.0 or not np.all(squares > 0.0):
            return HIGHEST_DOF
        excess = float(np.mean(self.seen * fourths / squares**2)) - 3.0
        return float(np.clip(4.0 + 6.0 / max(excess, 1e-6), LOWEST_DOF, HIGHEST_DOF))

    @property
    def parameters(self) -> FloatArray:
        """Expected parameters (P,), in the order of `DynamicsRegressor`."""
        return self._posterior.mean

    def arrays(self) -> dict[str, FloatArray]:
        """
        Return kinematics, prior, statistics and posterior.

        The posterior follows from the others, but solving for it takes longer than a control
        cycle, and a control loop exchanges models between two cycles.
        """
        return {
            **{name: np.asarray(getattr(self, name), dtype=float) for name in STATE},
            **{POSTERIOR + name: getattr(self._posterior, name) for name in PARTS},
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, FloatArray]) -> Self:
        """Make dynamics from `arrays`; ValueError if shapes or values are not valid."""
        check_arrays(arrays)
        parts = {name: np.asarray(arrays[name]) for name in STATE if name != "seen"}
        dynamics = cls(**parts, seen=float(arrays["seen"]))
        # Sets the cached property `_posterior`.
        dynamics.__dict__["_posterior"] = ParameterPosterior(
            *(np.asarray(arrays[POSTERIOR + name]) for name in PARTS)
        )
        return dynamics

    @cached_property
    def _posterior(self) -> ParameterPosterior:
        """Posterior of the parameters; its noise is that of slipping joints."""
        return parameter_posterior(
            *parameter_prior(self.inertial_prior),
            parameter_indices(self.n_joints),
            self.gram,
            self.pull,
            self.energy,
            self.weight,
        )


def _axis(model: pinocchio.Model, joint: int) -> FloatArray:
    """Axis of a revolute joint in its own frame."""
    data = model.joints[joint].createData()
    model.joints[joint].calc(data, np.zeros(1))
    return np.array(data.S).ravel()[3:]


def _slipping(velocity: FloatArray) -> FloatArray:
    """Weight of samples for each joint (n_samples, n): small below the slowest friction speed."""
    squared = velocity**2
    return STUCK_WEIGHT + (1.0 - STUCK_WEIGHT) * squared / (squared + SLOWEST**2)


def _blocks(n_rows: int) -> list[slice]:
    return [slice(start, start + BLOCK_ROWS) for start in range(0, max(n_rows, 1), BLOCK_ROWS)]
