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

# What the torque of a joint that sticks is worth: it tells the load to within the friction.
STUCK_WEIGHT = 0.01
# Student-t degrees of freedom: finite variance and kurtosis, up to what a normal looks like.
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

    def predict(self, X: FloatArray) -> GlobalPrediction:
        """Predict torques at [q, qd, qdd] X (n_samples, 3 n)."""
        if len(X) == 1:
            # Too small for a second thread, and the control loop waits for it.
            return self._predict(X)
        with one_blas_thread:
            parts = [self._predict(X[rows]) for rows in _blocks(len(X))]
        return GlobalPrediction(
            np.concatenate([part.mean for part in parts]),
            np.concatenate([part.factor for part in parts]),
        )

    def _predict(self, X: FloatArray) -> GlobalPrediction:
        """As `predict`, for a block of samples."""
        columns = self._regressor(X)
        doubt = self._posterior.variance(columns)
        doubt /= self._noise
        # One factor for all joints, as the mixture has it: the largest, to be safe.
        return GlobalPrediction(
            self._posterior.expected(columns), 1.0 + np.maximum.reduce(doubt, axis=1)
        )

    def expected(self, X: FloatArray) -> FloatArray:
        """Expected torques (n_samples, n) at [q, qd, qdd] X (n_samples, 3 n)."""
        # Without the covariances, whose size is most of what a query reads.
        if len(X) == 1:
            return self._posterior.expected(self._regressor(X))
        with one_blas_thread:
            return np.concatenate(
                [self._posterior.expected(self._regressor(X[rows])) for rows in _blocks(len(X))]
            )

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
        return self._posterior.mean

    def arrays(self) -> dict[str, FloatArray]:
        """
        Kinematics, prior, statistics, and the posterior that follows from them.

        The posterior goes along because a control loop takes a model over between two cycles,
        and solving for it takes longer than one.
        """
        return {
            **{name: np.asarray(getattr(self, name), dtype=float) for name in STATE},
            **{POSTERIOR + name: getattr(self._posterior, name) for name in PARTS},
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, FloatArray]) -> Self:
        """From `arrays`; ValueError if shapes do not fit or something is not finite."""
        check_arrays(arrays)
        parts = {name: np.asarray(arrays[name]) for name in STATE if name != "seen"}
        dynamics = cls(**parts, seen=float(arrays["seen"]))
        # Where functools.cached_property looks for it.
        dynamics.__dict__["_posterior"] = ParameterPosterior(
            *(np.asarray(arrays[POSTERIOR + name]) for name in PARTS)
        )
        return dynamics

    @cached_property
    def _posterior(self) -> ParameterPosterior:
        """What is known of the parameters; its noise is that of joints that slip."""
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
    """What samples are worth to each joint (n_samples, n): less below the slowest slip."""
    squared = velocity**2
    return STUCK_WEIGHT + (1.0 - STUCK_WEIGHT) * squared / (squared + SLOWEST**2)


def _blocks(n_rows: int) -> list[slice]:
    return [slice(start, start + BLOCK_ROWS) for start in range(0, max(n_rows, 1), BLOCK_ROWS)]
