# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Knowledge of an arm's dynamics: sums over samples, and the posterior of the parameters.

The dynamics are linear in their parameters (`DynamicsRegressor`), so Bayesian linear regression
gives the posterior (`parameter_posterior`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
import pinocchio
from numpy.typing import ArrayLike

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.blas_threads import one_blas_thread
from ilr_dynamics.exceptions import InvalidDataError
from ilr_dynamics.robot.description import RobotDescription
from ilr_dynamics.robot.dynamics_regressor import (
    DynamicsRegressor,
    n_columns,
    n_parameters,
)
from ilr_dynamics.robot.earlier_knowledge import EarlierKnowledge
from ilr_dynamics.robot.identified_arrays import (
    CORRELATION,
    DESCRIPTION_ERROR,
    EARLIER,
    KEPT,
    NOISE,
    PARTS,
    POSTERIOR,
    SAMPLES,
    STATE,
    check_arrays,
    with_later_arrays,
)
from ilr_dynamics.robot.parameter_doubt import HeldOut, parameter_doubt
from ilr_dynamics.robot.parameter_posterior import ParameterPosterior, parameter_posterior
from ilr_dynamics.robot.parameter_prior import n_scales, parameter_prior
from ilr_dynamics.robot.pinocchio_model import pinocchio_model
from ilr_dynamics.robot.representative_samples import RepresentativeSamples
from ilr_dynamics.robot.residual_correlation import ResidualCorrelation
from ilr_dynamics.robot.torque_noise import TorqueNoise, slipping_share

__all__ = ["DynamicsKnowledge", "blocks"]

# Rows whose columns are in memory at a time.
BLOCK_ROWS = 1000


@dataclass(frozen=True, eq=False)
class DynamicsKnowledge:
    """
    What samples say of an arm's dynamics over inputs [q, qd, qdd], and the posterior.

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
    tool : ndarray of shape (3,)
        Tool point in the frame of the last joint, m.
    frequencies : ndarray of shape (m, n)
        Of the unknown potential, 1/rad; none before torques tell that there is one.
    gram, pull, energy, weight : ndarray of shape (n, C, C), (n, C), (n,) and (n,)
        Sums over all samples of phi phi', phi tau, tau^2 and 1 for each joint, weighted with the
        number of independent samples that each is worth, and almost zero where the joint sticks.
    noise : TorqueNoise
        Noise of the torques about the mean.
    description_error : TorqueNoise
        The same about what the description makes of them.
    representatives : RepresentativeSamples
        Samples that stand for all, and what each counts.
    correlation : ResidualCorrelation
        Correlation of what no term describes.
    prior_scales : ndarray of shape (G,)
        Factors on the prior deviations of the parameters, as the torques tell them.
    earlier : EarlierKnowledge
        What samples from before a change of the arm still say; they are in no sum any more.
    """

    placements: FloatArray
    axes: FloatArray
    gravity: FloatArray
    inertial_prior: FloatArray
    motors: FloatArray
    tool: FloatArray
    frequencies: FloatArray
    gram: FloatArray
    pull: FloatArray
    energy: FloatArray
    weight: FloatArray
    noise: TorqueNoise
    description_error: TorqueNoise
    representatives: RepresentativeSamples
    correlation: ResidualCorrelation
    prior_scales: FloatArray
    earlier: EarlierKnowledge

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
            tool=_tool_point(model, description.tool_frame),
            frequencies=np.zeros((0, n)),
            gram=np.zeros((n, size, size)),
            pull=np.zeros((n, size)),
            energy=np.zeros(n),
            weight=np.zeros(n),
            noise=TorqueNoise.none(n),
            description_error=TorqueNoise.none(n),
            representatives=RepresentativeSamples.none(n),
            correlation=ResidualCorrelation(),
            prior_scales=np.ones(n_scales(n)),
            earlier=EarlierKnowledge.none(n_parameters(n)),
        )

    @property
    def n_joints(self) -> int:
        """Number n of joints."""
        return len(self.axes)

    @cached_property
    def regressor(self) -> DynamicsRegressor:
        """Regressor whose columns the parameters multiply."""
        return DynamicsRegressor(
            self.placements,
            self.axes,
            self.gravity,
            self.motors,
            self.inertial_prior,
            self.frequencies,
        )

    def informative_share(self, X: FloatArray) -> FloatArray:
        """Weight of each joint's torque (n_samples, n): almost zero while the joint sticks."""
        return slipping_share(X[:, self.n_joints : 2 * self.n_joints])

    @property
    def parameters(self) -> FloatArray:
        """Expected parameters (P,), in the order of `DynamicsRegressor`."""
        return self._posterior.mean

    @property
    def parameter_std(self) -> FloatArray:
        """Standard deviations (P,) of the parameters."""
        std = np.empty_like(self.parameters)
        for own, covariance in zip(
            self.regressor.indices, self._posterior.covariance, strict=True
        ):
            std[own] = np.sqrt(np.diagonal(covariance))
        return std

    @property
    def prior_parameter_std(self) -> FloatArray:
        """Standard deviations (P,) of the parameters before any sample, as torques scale them."""
        return np.asarray(1.0 / np.sqrt(self._prior[1]))

    @property
    def joint_parameters(self) -> FloatArray:
        """Expected parameters (n, C) of each joint's columns."""
        return self._posterior.of_joints

    @property
    def joint_covariances(self) -> FloatArray:
        """Covariances (n, C, C) of the parameters of each joint's columns."""
        return self._posterior.covariance

    @property
    def parameter_precision(self) -> FloatArray:
        """
        Precision (P, P) of the parameters by prior and samples.

        What held-out regions make of the uncertainty is not in it.
        """
        return np.diag(self._prior[1]) + self._information().precision

    def arrays(self) -> dict[str, FloatArray]:
        """
        Return kinematics, prior, statistics and posterior.

        The posterior follows from the others, but solving for it takes longer than a control
        cycle, and a control loop exchanges models between two cycles.
        """
        return {
            **{name: np.asarray(getattr(self, name), dtype=float) for name in STATE},
            **{POSTERIOR + name: getattr(self._posterior, name) for name in PARTS},
            NOISE: self.noise.sums,
            DESCRIPTION_ERROR: self.description_error.sums,
            **{KEPT + name: getattr(self.representatives, name) for name in SAMPLES},
            CORRELATION: np.array(astuple(self.correlation)),
            EARLIER + "precision": self.earlier.precision,
            EARLIER + "pull": self.earlier.pull,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, FloatArray]) -> Self:
        """Make dynamics from `arrays`; ValueError if shapes or values are not valid."""
        arrays = with_later_arrays(arrays)
        check_arrays(arrays)
        parts = {name: np.asarray(arrays[name]) for name in STATE}
        dynamics = cls(
            **parts,
            noise=TorqueNoise(np.asarray(arrays[NOISE])),
            description_error=TorqueNoise(np.asarray(arrays[DESCRIPTION_ERROR])),
            representatives=RepresentativeSamples(
                *(np.asarray(arrays[KEPT + name]) for name in SAMPLES)
            ),
            correlation=ResidualCorrelation(*map(float, arrays[CORRELATION])),
            earlier=EarlierKnowledge(
                np.asarray(arrays[EARLIER + "precision"]), np.asarray(arrays[EARLIER + "pull"])
            ),
        )
        # Sets the cached property `_posterior`.
        dynamics.__dict__["_posterior"] = ParameterPosterior(
            *(np.asarray(arrays[POSTERIOR + name]) for name in PARTS)
        )
        return dynamics

    def with_samples(self, X: FloatArray, Y: FloatArray, weights: FloatArray) -> Self:
        """
        Return these dynamics with further samples in the sums.

        Parameters
        ----------
        X, Y, weights : ndarray of shape (n_samples, 3 n), (n_samples, n) and (n_samples,)
            Inputs, torques, and the number of independent samples that each is worth.
        """
        n = self.n_joints
        gram, pull = self.gram.copy(), self.pull.copy()
        of_joints = weights[:, None] * slipping_share(X[:, n : 2 * n])
        # An overflow is reported when the parameters are solved for.
        with np.errstate(over="ignore", invalid="ignore"):
            for rows in blocks(len(X)):
                columns = self.regressor(X[rows])
                weighted = columns * of_joints[rows, :, None]
                for joint in range(n):
                    gram[joint] += weighted[:, joint].T @ columns[:, joint]
                    pull[joint] += weighted[:, joint].T @ Y[rows, joint]
        return replace(
            self,
            gram=gram,
            pull=pull,
            energy=self.energy + np.sum(of_joints * Y**2, axis=0),
            weight=self.weight + np.sum(of_joints, axis=0),
        )

    def _scaled(self, factor: float) -> Self:
        """Return these dynamics with sums multiplied by `factor`."""
        return replace(
            self,
            gram=factor * self.gram,
            pull=factor * self.pull,
            energy=factor * self.energy,
            weight=factor * self.weight,
            earlier=self.earlier.discounted(factor),
        )

    @cached_property
    @one_blas_thread
    def _posterior(self) -> ParameterPosterior:
        """Posterior of the parameters, as uncertain as held-out regions show it to be."""
        posterior, kept = self._parameters, self.representatives
        columns = self.regressor(kept.X)
        n = self.n_joints
        velocity = kept.X[:, n : 2 * n]
        samples = HeldOut(
            columns=columns,
            positions=kept.X[:, :n],
            torques=kept.Y,
            weights=(kept.mass * kept.worth)[:, None] * slipping_share(velocity),
            noise=self.noise.variance(velocity),
        )
        doubt = parameter_doubt(samples, self.posterior_of)
        return replace(posterior, covariance=doubt**2 * posterior.covariance)

    def posterior_of(
        self, columns: FloatArray, torques: FloatArray, weights: FloatArray
    ) -> ParameterPosterior:
        """Posterior from the columns (m, n, C) of some samples alone, weighted (m, n)."""
        by_joint = columns.transpose(1, 0, 2)
        weighted = (columns * weights[:, :, None]).transpose(1, 2, 0)
        return self._solved(
            weighted @ by_joint,
            (weighted @ torques.T[:, :, None])[:, :, 0],
            np.sum(weights * torques**2, axis=0),
            np.sum(weights, axis=0),
        )

    @cached_property
    @one_blas_thread
    def _parameters(self) -> ParameterPosterior:
        """Posterior of the parameters given the sums alone; its noise is that of slipping."""
        return self._solved(self.gram, self.pull, self.energy, self.weight, self.earlier)

    def _solved(
        self,
        gram: FloatArray,
        pull: FloatArray,
        energy: FloatArray,
        weight: FloatArray,
        earlier: EarlierKnowledge | None = None,
    ) -> ParameterPosterior:
        """Posterior from sums as `gram`, `pull`, `energy` and `weight` are."""
        indices = self.regressor.indices
        return parameter_posterior(*self._prior, indices, gram, pull, energy, weight, earlier)

    def _information(self) -> EarlierKnowledge:
        """What all samples so far say of the parameters."""
        noise = self._parameters.noise
        return self.earlier.joined(
            self.regressor.indices,
            self.gram / noise[:, None, None],
            self.pull / noise[:, None],
        )

    @property
    def _prior(self) -> tuple[FloatArray, FloatArray]:
        """Prior mean and precision (P,) of the parameters."""
        return parameter_prior(self.inertial_prior, self.prior_scales, self.frequencies)


def blocks(n_rows: int) -> list[slice]:
    """Slices of so many rows, `BLOCK_ROWS` each."""
    return [slice(start, start + BLOCK_ROWS) for start in range(0, max(n_rows, 1), BLOCK_ROWS)]


def _tool_point(model: pinocchio.Model, name: str) -> FloatArray:
    """Tool point (3,) in the frame of the last joint, m; its origin if no link has this name."""
    if not model.existFrame(name, pinocchio.FrameType.BODY):
        return np.zeros(3)
    frame = model.frames[model.getFrameId(name, pinocchio.FrameType.BODY)]
    return np.array(frame.placement.translation)


def _axis(model: pinocchio.Model, joint: int) -> FloatArray:
    """Axis of a revolute joint in its own frame."""
    data = model.joints[joint].createData()
    model.joints[joint].calc(data, np.zeros(1))
    return np.array(data.S).ravel()[3:]
