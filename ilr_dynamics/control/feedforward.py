# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Feed-forward torque at the desired state: none, from rigid-body mechanics, or learned."""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.control.confidence import ConfidenceGate
from ilr_dynamics.control.joint_path import Reference

__all__ = [
    "FeedForward",
    "FeedForwardTorque",
    "LearnedFeedForward",
    "NoFeedForward",
    "RigidBodyFeedForward",
]


# A named tuple, because one is made in every cycle: a frozen dataclass takes three times as long.
class FeedForwardTorque(NamedTuple):
    """
    Feed-forward torque with its predictive uncertainty.

    Parameters
    ----------
    torque : ndarray of shape (n_joints,)
        Feed-forward torque, Nm.
    std : ndarray of shape (n_joints,)
        Predictive standard deviation, Nm; zero where nothing was learned.
    component : int
        Index of the local model with the largest weight; -1 for the unseen component or none.
    unseen_weight : float
        Weight of the unseen component, which has no data.
    gate : float
        Share of a learned torque in ``torque``, in [0, 1]: that of the joint that has the least.
    common_doubt : ndarray of shape (n_joints,), optional
        Part of ``std`` that may be one error of all torques, as of the parameters of a global
        model, Nm; None of a model that does not tell it from the rest.
    """

    torque: FloatArray
    std: FloatArray
    component: int = -1
    unseen_weight: float = 0.0
    gate: float = 0.0
    common_doubt: FloatArray | None = None


class FeedForward(Protocol):
    """Map from a desired state to a torque."""

    def __call__(self, reference: Reference) -> FeedForwardTorque:
        """Return the torque for ``reference``."""
        ...


class InverseDynamics(Protocol):
    """Interface of a rigid-body model that the feed-forward needs."""

    def inverse_dynamics(
        self, position: FloatArray, velocity: FloatArray, acceleration: FloatArray
    ) -> FloatArray:
        """Return the torque (n_joints,), Nm, gravity included."""
        ...

    def gravity(self, position: FloatArray) -> FloatArray:
        """Return the torque (n_joints,), Nm, that holds the arm against gravity."""
        ...


class Prediction(Protocol):
    """Prediction of a learned model for one input."""

    @property
    def mean(self) -> FloatArray:
        """Predicted torque (n_joints,), Nm."""
        ...

    @property
    def std(self) -> FloatArray:
        """Predictive standard deviation (n_joints,), Nm."""
        ...

    @property
    def doubt(self) -> FloatArray:
        """Standard deviation (n_joints,) of the expected torque, without the noise, Nm."""
        ...

    @property
    def component(self) -> int:
        """Index of the local model with the largest weight; -1 for the unseen component."""
        ...

    @property
    def unseen_weight(self) -> float:
        """Weight of the unseen component, which has no data."""
        ...


class Predictor(Protocol):
    """Interface of a learned model that the feed-forward needs."""

    @property
    def has_global_model(self) -> bool:
        """Whether a global model predicts where no local model has data."""
        ...

    @property
    def prior_std(self) -> FloatArray | None:
        """Error (n_joints,) of the described arm's torques on what was learned, Nm, if known."""
        ...

    def query(self, x: FloatArray) -> Prediction:
        """Predict at x = [q, qd, qdd], (3 * n_joints,)."""
        ...

    def predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return torques and deviations (n, n_joints), Nm, at rows of X (n, 3 * n_joints)."""
        ...


class NoFeedForward:
    """Zero torque: the PD works alone."""

    def __init__(self, n_joints: int) -> None:
        zero = np.zeros(n_joints)
        zero.setflags(write=False)
        self._nothing = FeedForwardTorque(torque=zero, std=zero)

    def __call__(self, reference: Reference) -> FeedForwardTorque:
        """Return zero torque."""
        return self._nothing


class RigidBodyFeedForward:
    """
    Inverse dynamics of a rigid-body model.

    Parameters
    ----------
    model : InverseDynamics
        Such as ``robot.RigidBodyModel``.
    driver_compensates_gravity : bool
        The driver adds the gravity torque itself, so it is left out here.
    """

    def __init__(
        self, model: InverseDynamics, *, driver_compensates_gravity: bool = False
    ) -> None:
        self._model = model
        self._driver_compensates_gravity = driver_compensates_gravity

    def __call__(self, reference: Reference) -> FeedForwardTorque:
        """Return M(q) qdd + C(q, qd) qd + g(q), the last unless the driver adds it."""
        torque = self._model.inverse_dynamics(
            reference.position, reference.velocity, reference.acceleration
        )
        if self._driver_compensates_gravity:
            torque = torque - self._model.gravity(reference.position)
        return FeedForwardTorque(torque=torque, std=np.zeros_like(torque))


class LearnedFeedForward:
    """
    Torque of a learned model, blended with a fallback where the model is uncertain.

    Parameters
    ----------
    predictor : Predictor
        Learned model over inputs [q, qd, qdd], such as ``regression.Predictor``.
    gate : ConfidenceGate
        Decides the share g of the learned torque.
    fallback : FeedForward
        Supplies the remaining share 1 - g.
    fallback_error : ndarray of shape (n_joints,), optional
        Root mean square error of the fallback on what the model has learned from, Nm.
    """

    def __init__(
        self,
        predictor: Predictor,
        gate: ConfidenceGate,
        fallback: FeedForward,
        fallback_error: FloatArray | None = None,
    ) -> None:
        self._predictor = predictor
        self._gate = gate
        self._fallback = fallback
        self._fallback_error = fallback_error

    def __call__(self, reference: Reference) -> FeedForwardTorque:
        """Return g * mean + (1 - g) * fallback, with a share g of each joint."""
        prediction = self._predictor.query(
            np.concatenate((reference.position, reference.velocity, reference.acceleration))
        )
        # A global model, such as identified dynamics, predicts without any local model too.
        unknown = 0.0 if self._predictor.has_global_model else prediction.unseen_weight
        shares = self._gate.shares(unknown, prediction.std, prediction.doubt, self._fallback_error)
        torque, least = prediction.mean, float(shares.min())
        if least < 1.0:
            torque = shares * torque + (1.0 - shares) * self._fallback(reference).torque
        return FeedForwardTorque(
            torque,
            prediction.std,
            prediction.component,
            prediction.unseen_weight,
            least,
            # What local models doubt is an error of states near theirs alone.
            math.sqrt(prediction.unseen_weight) * prediction.doubt,
        )
