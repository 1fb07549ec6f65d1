# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
Inverse dynamics of an arm identified from data: rigid bodies, rotors, friction in the motors.

Linear in its parameters, so that Bayesian linear regression gives their posterior:

.. math::
    \tau = R(q, \dot q, \ddot q)\,\pi + \sum_k g_k \big( J_k\, g_k^\top \ddot q
    + b_k\, g_k^\top \dot q + \sum_s c_{ks} \tanh(g_k^\top \dot q / v_s) \big)
    + \sum_s C_s \tanh(\dot q / v_s) + P(q)\,w + \epsilon

with Pinocchio's regressor R of the ten inertial parameters of each body, the rows g_k of the
joint-to-motor matrix, scaled to length one, and a few functions P of each joint's own position for
cables and imperfect gravity. Friction acts where the motors turn as well as in the joints: in a
differential two motors share two joints, and friction described joint by joint misses how they
pull at each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
import pinocchio
from numpy.typing import ArrayLike
from scipy.linalg import cho_factor, cho_solve

from ilr_dynamics.exceptions import InvalidDataError
from ilr_dynamics.regression import Fallback, FallbackPrediction
from ilr_dynamics.robot.arrays import FloatArray
from ilr_dynamics.robot.description import RobotDescription

__all__ = ["IdentifiedDynamics"]

# Speeds at which friction settles, rad/s: from the slip of a bearing to a film of grease.
FRICTION_SPEEDS = (0.01, 0.03, 0.1, 0.3)
N_POSITION_TERMS = 5
N_INERTIAL = 10
# How far the inertial parameters may be from the description's, in units of themselves, and at
# least this much of the largest of their kind (mass, first moment, moment of inertia) on the arm.
INERTIAL_DOUBT = 1.0
INERTIAL_FLOOR = 0.1
# Everything else starts from nothing, give or take this: Nm and multiples with rad, s.
OTHER_DOUBT = 10.0
# Rounds of parameters given the noise and noise given the parameters; it settles in three.
NOISE_ROUNDS = 5
SMALLEST_NOISE = 1e-6
# Student-t degrees of freedom: finite variance and kurtosis, up to what a normal looks like.
LOWEST_DOF, HIGHEST_DOF = 4.5, 200.0
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
    gram : (n, P, P), pull : (n, P), energy : (n,)
        For each joint the weighted sums of phi phi', phi tau and tau^2 over all samples.
    weight
        Sum of the weights.
    moments : (2, n)
        Weighted sums of squared and of fourth powers of residuals.
    """

    placements: FloatArray
    axes: FloatArray
    gravity: FloatArray
    inertial_prior: FloatArray
    motors: FloatArray
    gram: FloatArray
    pull: FloatArray
    energy: FloatArray
    weight: float
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
        size = _n_parameters(n)
        return cls(
            placements=np.array([model.jointPlacements[j].homogeneous for j in joints]),
            axes=np.array([_axis(model, j) for j in joints]),
            gravity=gravity,
            inertial_prior=np.array([model.inertias[j].toDynamicParameters() for j in joints]),
            motors=gears / np.linalg.norm(gears, axis=1, keepdims=True),
            gram=np.zeros((n, size, size)),
            pull=np.zeros((n, size)),
            energy=np.zeros(n),
            weight=0.0,
            moments=np.zeros((2, n)),
        )

    @property
    def n_joints(self) -> int:
        """Number n of joints."""
        return len(self.axes)

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
        gram, pull = self.gram.copy(), self.pull.copy()
        # What overflows is told when the parameters are solved for.
        with np.errstate(over="ignore", invalid="ignore"):
            for rows in _blocks(len(X)):
                columns = self._regressors(X[rows])
                weighted = columns * weights[rows, None, None]
                for joint in range(self.n_joints):
                    gram[joint] += weighted[:, joint].T @ columns[:, joint]
                    pull[joint] += weighted[:, joint].T @ Y[rows, joint]
        learned = replace(
            self,
            gram=gram,
            pull=pull,
            energy=self.energy + weights @ Y**2,
            weight=self.weight + float(np.sum(weights)),
        )
        squares = (Y - learned.predict(X).mean) ** 2
        moments = self.moments + np.stack([weights @ squares, weights @ squares**2])
        return replace(learned, moments=moments)

    def discounted(self, factor: float) -> Self:
        """Return what is left if earlier samples weigh `factor` as much."""
        return replace(
            self,
            gram=factor * self.gram,
            pull=factor * self.pull,
            energy=factor * self.energy,
            weight=factor * self.weight,
            moments=factor * self.moments,
        )

    def predict(self, X: FloatArray) -> FallbackPrediction:
        """Predict torques at [q, qd, qdd] X (n_samples, 3 n)."""
        mean = np.empty((len(X), self.n_joints))
        factor = np.empty(len(X))
        parameters, covariance, noise = self._posterior
        for rows in _blocks(len(X)):
            columns = self._regressors(X[rows])
            mean[rows] = columns @ parameters
            # Not einsum: looking for its best order takes longer than one query in a control loop.
            doubt = np.sum((columns @ covariance) * columns, axis=2)
            # One factor for all joints, as the mixture has it: the largest, to be safe.
            factor[rows] = 1.0 + np.max(doubt / noise, axis=1)
        return FallbackPrediction(mean, factor)

    @property
    def noise_shape(self) -> FloatArray:
        """Shape (n, n) of the Student-t of the torques, Nm^2; joints are taken as independent."""
        noise = self._posterior[2]
        # With the variance that was found: a Student-t is wider than its shape.
        return np.diag(noise * (self.dof - 2.0) / self.dof)

    @cached_property
    def dof(self) -> float:
        """Degrees of freedom of that Student-t, from the kurtosis of the residuals."""
        squares, fourths = self.moments
        if not self.weight > 0.0 or not np.all(squares > 0.0):
            return HIGHEST_DOF
        excess = float(np.mean(self.weight * fourths / squares**2)) - 3.0
        return float(np.clip(4.0 + 6.0 / max(excess, 1e-6), LOWEST_DOF, HIGHEST_DOF))

    @property
    def parameters(self) -> FloatArray:
        """
        Expected parameters (P,).

        Inertial ones of all bodies; for all motors rotor inertia, viscous and dry friction; for
        all joints dry friction and position terms.
        """
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
        n = len(arrays["axes"])
        size = _n_parameters(n)
        shapes = {
            "placements": (n, 4, 4),
            "axes": (n, 3),
            "gravity": (3,),
            "inertial_prior": (n, N_INERTIAL),
            "motors": (n, n),
            "gram": (n, size, size),
            "pull": (n, size),
            "energy": (n,),
            "weight": (),
            "moments": (2, n),
            "posterior_mean": (size,),
            "posterior_covariance": (size, size),
            "posterior_noise": (n,),
        }
        for name, shape in shapes.items():
            if arrays[name].shape != shape or not np.all(np.isfinite(arrays[name])):
                raise ValueError(
                    f"{name} of identified dynamics must be finite and of shape {shape}"
                )
        parts = {name: np.asarray(arrays[name]) for name in _ARRAYS if name != "weight"}
        if not np.all(arrays["posterior_noise"] > 0.0):
            raise ValueError("posterior_noise of identified dynamics must be positive")
        dynamics = cls(**parts, weight=float(arrays["weight"]))
        # Where functools.cached_property looks for it.
        dynamics.__dict__["_posterior"] = tuple(np.asarray(arrays[name]) for name in _POSTERIOR)
        return dynamics

    @cached_property
    def _model(self) -> pinocchio.Model:
        model = pinocchio.Model()
        model.gravity.linear = self.gravity
        for joint in range(self.n_joints):
            parent = model.addJoint(
                joint,
                pinocchio.JointModelRevoluteUnaligned(self.axes[joint]),
                pinocchio.SE3(self.placements[joint]),
                f"joint{joint + 1}",
            )
            model.appendBodyToJoint(parent, pinocchio.Inertia.Zero(), pinocchio.SE3.Identity())
        return model

    @cached_property
    def _data(self) -> pinocchio.Data:
        return self._model.createData()

    def _regressors(self, X: FloatArray) -> FloatArray:
        """Columns phi (n_samples, n, P) that the parameters multiply."""
        n = self.n_joints
        if X.shape[1] != 3 * n:
            raise InvalidDataError(f"inputs must be [q, qd, qdd] of {n} joints, got {X.shape}")
        q, qd, qdd = X[:, :n], X[:, n : 2 * n], X[:, 2 * n :]
        columns = np.zeros((len(X), n, _n_parameters(n)))
        for row, (position, velocity, acceleration) in enumerate(zip(q, qd, qdd, strict=True)):
            columns[row, :, : N_INERTIAL * n] = pinocchio.computeJointTorqueRegressor(
                self._model, self._data, position, velocity, acceleration
            )
        # Few calls with all terms in each: for one query in a control loop they are what it costs.
        speed = qd @ self.motors.T
        of_motors = np.empty((len(X), 2 + len(FRICTION_SPEEDS), n))
        of_motors[:, 0], of_motors[:, 1] = qdd @ self.motors.T, speed
        of_joints = np.empty((len(X), len(FRICTION_SPEEDS) + N_POSITION_TERMS, n))
        for values, velocity in (
            (of_motors[:, 2:], speed),
            (of_joints[:, :-N_POSITION_TERMS], qd),
        ):
            np.tanh(velocity[:, None, :] * _INVERSE_FRICTION_SPEEDS, out=values)
        positions = of_joints[:, -N_POSITION_TERMS:]
        positions[:, 0], positions[:, 1], positions[:, 2] = 1.0, q, q * q
        np.sin(q, out=positions[:, 3])
        np.cos(q, out=positions[:, 4])
        first = N_INERTIAL * n
        last = first + of_motors.shape[1] * n
        columns[:, :, first:last] = (of_motors[:, None] * self.motors.T[:, None]).reshape(
            len(X), n, -1
        )
        own = np.arange(n)
        # A view: each joint has terms of its own alone.
        by_joint = columns[:, :, last:].reshape(len(X), n, -1, n)
        by_joint[:, own, :, own] = of_joints.transpose(2, 0, 1)
        return columns

    @cached_property
    def _posterior(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Mean (P,) and covariance (P, P) of the parameters, noise variance (n,)."""
        prior_mean, prior_precision = self._prior()
        if not self.weight > 0.0:
            return prior_mean, np.diag(1.0 / prior_precision), np.ones(self.n_joints)
        noise = np.maximum(self.energy / self.weight, SMALLEST_NOISE)
        for _ in range(NOISE_ROUNDS):
            precision = np.diag(prior_precision) + np.einsum("jpq,j->pq", self.gram, 1.0 / noise)
            try:
                factor = cho_factor(precision)
            except (np.linalg.LinAlgError, ValueError) as error:
                raise InvalidDataError(
                    "the samples do not identify the arm's dynamics in double precision: some "
                    "positions, velocities or accelerations are far too large"
                ) from error
            pull = prior_precision * prior_mean + self.pull.T @ (1.0 / noise)
            mean = cho_solve(factor, pull)
            # In the order that files have, so that a loaded model computes the same bits.
            covariance = np.ascontiguousarray(cho_solve(factor, np.eye(len(mean))))
            # E[(tau - phi' theta)^2], the doubt about theta included.
            squared = (
                self.energy
                - 2.0 * self.pull @ mean
                + np.einsum("p,jpq,q->j", mean, self.gram, mean, optimize=True)
                + np.einsum("jpq,pq->j", self.gram, covariance)
            )
            noise = np.maximum(squared / self.weight, SMALLEST_NOISE)
        return mean, covariance, noise

    def _prior(self) -> tuple[FloatArray, FloatArray]:
        """Mean and precision (P,) of the parameters before any data."""
        n = self.n_joints
        kinds = np.array([0, 1, 1, 1, 2, 2, 2, 2, 2, 2])
        largest = np.array(
            [np.max(np.abs(self.inertial_prior[:, kinds == kind])) for kind in range(3)]
        )
        doubt = INERTIAL_DOUBT * np.maximum(
            np.abs(self.inertial_prior), INERTIAL_FLOOR * largest[kinds]
        )
        n_others = _n_parameters(n) - N_INERTIAL * n
        mean = np.append(self.inertial_prior.ravel(), np.zeros(n_others))
        std = np.append(doubt.ravel(), np.full(n_others, OTHER_DOUBT))
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
    "moments",
)

_INVERSE_FRICTION_SPEEDS = 1.0 / np.array(FRICTION_SPEEDS)[:, None]

_POSTERIOR = ("posterior_mean", "posterior_covariance", "posterior_noise")


def _n_parameters(n_joints: int) -> int:
    return n_joints * (N_INERTIAL + 2 + 2 * len(FRICTION_SPEEDS) + N_POSITION_TERMS)


def _axis(model: pinocchio.Model, joint: int) -> FloatArray:
    """Axis of a revolute joint in its own frame."""
    data = model.joints[joint].createData()
    model.joints[joint].calc(data, np.zeros(1))
    return np.array(data.S).ravel()[3:]


def _blocks(n_rows: int) -> list[slice]:
    return [slice(start, start + BLOCK_ROWS) for start in range(0, n_rows, BLOCK_ROWS)]
