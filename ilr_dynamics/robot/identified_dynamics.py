# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Inverse dynamics of an arm, identified from data.

A joint that sticks balances any torque up to its static friction, whatever the parameters: such
samples have a small weight. Samples at neighbouring states share what no term describes: together
they count as the few independent ones that they are (`representative_samples`). How far the
description may be off is what the torques tell (`torque_evidence`), and so is what has changed
about the arm (`change_evidence`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Self

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.blas_threads import one_blas_thread
from ilr_dynamics.exceptions import InvalidDataError
from ilr_dynamics.regression import GlobalModel, GlobalPrediction
from ilr_dynamics.regression.shared.change import Change
from ilr_dynamics.robot.arm_hypotheses import (
    most_probable_arm,
    noise_with_potential,
    without_potential,
)
from ilr_dynamics.robot.change_evidence import (
    LOG_ODDS_OF_NONE,
    ArmChange,
    NewTorques,
    most_probable_change,
)
from ilr_dynamics.robot.change_groups import change_groups, whole_arm
from ilr_dynamics.robot.dynamics_knowledge import DynamicsKnowledge, blocks
from ilr_dynamics.robot.representative_samples import N_KEPT, RepresentativeSamples
from ilr_dynamics.robot.torque_doubts import torque_doubts

__all__ = ["IdentifiedDynamics"]


class IdentifiedDynamics(DynamicsKnowledge, GlobalModel):
    """
    Identified inverse dynamics over inputs [q, qd, qdd]; `from_description` makes one.

    Parameters are those of `DynamicsKnowledge`.
    """

    name = "identified_dynamics"

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
            Sample weights, at least 0.

        Raises
        ------
        InvalidDataError
            If inputs or outputs do not fit the number of joints, or are too large to add up.
        """
        X, Y, weights = self._informing(X, Y, weights)
        if not len(X):
            return self
        batch, owner = RepresentativeSamples.of_batch(X, Y, weights)
        earlier, worth = self._counted(batch)
        return earlier._learned(X, Y, weights, worth[owner])

    def adapted(self, X: FloatArray, Y: FloatArray, weights: FloatArray) -> tuple[Self, Change]:
        """
        Update these dynamics, deciding what of them still holds (`most_probable_change`).

        What has changed is forgotten by as much as it may have changed, in the directions that it
        has changed in; all else stays as it was known.

        Parameters and errors are those of `updated`.
        """
        X, Y, weights = self._informing(X, Y, weights)
        if not len(X) or not np.all(self.weight > 0.0):
            return self.updated(X, Y, weights), Change(-LOG_ODDS_OF_NONE)
        batch, owner = RepresentativeSamples.of_batch(X, Y, weights)
        prior_std = 1.0 / np.sqrt(self._prior[1])
        found = most_probable_change(
            self._new_torques(batch),
            change_groups(self.motors, self.tool, self.parameters, prior_std),
            whole_arm(prior_std, self.n_joints),
        )
        if not found.groups:
            return self.updated(X, Y, weights), Change(found.log_odds)
        changed = self._after_change(found)
        counted, worth = changed._counted_apart(batch)
        unit, before = self._prior[1], self._information()
        forgotten = {
            group.name: 1.0
            - changed.earlier.about(group.parameters, unit) / before.about(group.parameters, unit)
            for group in found.groups
        }
        joints = np.flatnonzero(np.any([group.joints for group in found.groups], axis=0))
        change = Change(found.log_odds, forgotten, tuple(joints.tolist()))
        return counted._learned(X, Y, weights, worth[owner]), change

    def _informing(
        self, X: FloatArray, Y: FloatArray, weights: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Samples that weigh something; InvalidDataError if they do not fit the arm."""
        if X.shape[1] != 3 * self.n_joints or Y.shape[1] != self.n_joints:
            raise InvalidDataError(
                f"identified dynamics of {self.n_joints} joints expect {3 * self.n_joints} inputs "
                f"[q, qd, qdd] and {self.n_joints} torques, got {X.shape[1]} and {Y.shape[1]}"
            )
        informing = weights > 0.0
        return X[informing], Y[informing], weights[informing]

    def _learned(
        self, X: FloatArray, Y: FloatArray, weights: FloatArray, worth: FloatArray
    ) -> Self:
        """Return these dynamics with samples that are worth so much, and their noise."""
        learned = self.with_samples(X, Y, weights * worth)
        of_description = self._prior[0][self.regressor.indices]
        expected, described = np.empty_like(Y), np.empty_like(Y)
        for rows in blocks(len(X)):
            columns = self.regressor(X[rows])
            expected[rows] = learned._parameters.expected(columns)
            described[rows] = np.einsum("njc,jc->nj", columns, of_description)
        velocity = X[:, self.n_joints : 2 * self.n_joints]
        updated = replace(
            learned,
            noise=self.noise.updated(Y - expected, velocity, weights),
            description_error=self.description_error.updated(Y - described, velocity, weights),
        )
        # Sets the cached property: neither kind of noise changes the parameters.
        updated.__dict__["_parameters"] = learned._parameters
        return updated

    def _new_torques(self, batch: RepresentativeSamples) -> NewTorques:
        """What a batch says beside what was known."""
        known = self._parameters
        batch = batch.distinct().weighed(self.correlation)
        columns = self.regressor(batch.X)
        # Parameters may be less sure than they seem, as held-out regions show.
        doubt = float(self._posterior.covariance[0, 0, 0] / known.covariance[0, 0, 0])
        covariance = np.asarray(np.linalg.inv(self.parameter_precision), dtype=float)
        return NewTorques.of_errors(
            columns,
            batch.Y - known.expected(columns),
            (batch.mass * batch.worth)[:, None] * self.informative_share(batch.X),
            known.noise,
            indices=self.regressor.indices,
            covariance=max(1.0, doubt) * covariance,
            known=self.weight,
        )

    def _after_change(self, change: ArmChange) -> Self:
        """Return these dynamics of an arm that has changed, none of whose samples are known."""
        posterior, kept = self._parameters, self.representatives
        shift = change.expected[self.regressor.indices]
        columns = self.regressor(kept.X)
        return replace(
            self,
            earlier=self._information().after_change(change.factor),
            gram=np.zeros_like(self.gram),
            pull=np.zeros_like(self.pull),
            # Noise is what it was.
            energy=posterior.noise * self.weight,
            # What the torques would have been, had the arm been as it is now.
            representatives=replace(kept, Y=kept.Y + np.einsum("njc,jc->nj", columns, shift)),
        )

    def _counted(self, batch: RepresentativeSamples) -> tuple[Self, FloatArray]:
        """These dynamics as a batch leaves them, and what each of its samples counts (m,)."""
        known = self.representatives
        both = known.with_others(batch).weighed(self.correlation)
        arm = most_probable_arm(self, both.distinct())
        counted = known.reweighed(batch, self.correlation, arm.correlation)
        of_known, of_batch = np.split(counted.worth, [len(known.mass)])
        # What was summed up before counts less where the batch repeats it.
        before = float(known.mass @ known.worth)
        left = float(known.mass @ of_known) / before if before > 0.0 else 1.0
        arm = arm._scaled(left)
        if len(arm.frequencies) > len(self.frequencies):
            arm = replace(arm, noise=noise_with_potential(arm))
        kept = counted.distinct().thinned(N_KEPT)
        return replace(arm, representatives=kept), of_batch

    def _counted_apart(self, batch: RepresentativeSamples) -> tuple[Self, FloatArray]:
        """Return the same of a batch that repeats nothing, as the arm is another one now."""
        known = self.representatives
        both = known.with_others(batch.weighed(self.correlation))
        arm = most_probable_arm(self, both.distinct())
        batch = batch.weighed(arm.correlation)
        kept = known.with_others(batch).distinct().thinned(N_KEPT)
        return replace(arm, representatives=kept), batch.worth

    def discounted(self, factor: float) -> Self:
        """Return these dynamics with the weights of all samples multiplied by `factor`."""
        # Without samples nobody knows whether something pulls at the arm,
        # nor how far the description may be off.
        known = self if factor > 0.0 else without_potential(self)
        return replace(
            known._scaled(factor),
            noise=self.noise.discounted(factor),
            description_error=self.description_error.discounted(factor),
            representatives=self.representatives.discounted(factor),
            prior_scales=known.prior_scales if factor > 0.0 else np.ones_like(known.prior_scales),
        )

    def doubts(self, X: FloatArray, Y: FloatArray) -> list[str]:
        """Tell why samples do not look like those of the described arm (`torque_doubts`)."""
        if X.shape[1] != 3 * self.n_joints or Y.shape[1] != self.n_joints:
            return []  # `updated` refuses them.
        described = self.discounted(0.0)

        def rigid_torque(X: FloatArray, gravity: FloatArray) -> FloatArray:
            as_described = gravity is self.gravity
            arm = described if as_described else replace(described, gravity=gravity)
            return arm.expected(X)

        return torque_doubts(rigid_torque, self.gravity, X, Y)

    def predict(self, X: FloatArray) -> GlobalPrediction:
        """Predict torques at [q, qd, qdd] X (n_samples, 3 n)."""
        posterior = self._posterior
        expected, doubt = self.regressor.predict(X, posterior.of_joints, posterior.covariance)
        return GlobalPrediction(expected, np.ones(len(X)), doubt, self.unlearnable(X))

    @property
    def residual_lengths(self) -> FloatArray:
        """Lengths (3 n,) over which residuals stay alike, rad and rad/s; infinite for qdd."""
        # Accelerations are most of the model's own.
        n = self.n_joints
        return np.append(self.correlation.lengths(2 * n), np.full(n, np.inf))

    def unlearnable(self, X: FloatArray) -> FloatArray:
        """Variance (n_samples, n) of the torques of joints that stick, Nm^2, beyond the noise."""
        return self.noise.of_sticking(X[:, self.n_joints : 2 * self.n_joints])

    def expected(self, X: FloatArray) -> FloatArray:
        """Expected torques (n_samples, n) at [q, qd, qdd] X (n_samples, 3 n)."""
        return self.regressor.expected(X, self._posterior.of_joints)

    @property
    def prior_std(self) -> FloatArray | None:
        """Deviation (n,) of torques of slipping joints from those of the description, Nm."""
        if not np.any(self.description_error.sums):
            return None
        return np.sqrt(self.description_error.of_slipping)

    @property
    def noise_shape(self) -> FloatArray:
        """Scale matrix (n, n) of the Student-t of the torques, Nm^2; joints are independent."""
        # Its variance, larger than the scale by dof / (dof - 2), shall be that of the residuals.
        return np.diag(self.noise.of_slipping * (self.dof - 2.0) / self.dof)

    @property
    def dof(self) -> float:
        """Degrees of freedom of the Student-t."""
        return self.noise.dof
