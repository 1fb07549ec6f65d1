# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The learning controllers of the tracking experiments, each behind two methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from _simulated_motion import Arm

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.control import (
    FeedForward,
    FeedForwardTorque,
    Reference,
    RigidBodyFeedForward,
)
from ilr_dynamics.control.feedforward import Predictor
from ilr_dynamics.learning import LearningSettings, learn
from ilr_dynamics.learning.prior import INFERENCE, PRIOR_ALONE, with_settings
from ilr_dynamics.learning.recording_weights import recording_weights
from ilr_dynamics.nodes.parameter_file import read_complete_parameters
from ilr_dynamics.nodes.parameters import INVERSE_DYNAMICS
from ilr_dynamics.nodes.settings import ControlSettings, learning_settings
from ilr_dynamics.recording import Samples
from ilr_dynamics.regression import HILR, TwoLevelPrior
from ilr_dynamics.regression.mixture_regressor import MixtureRegressor
from ilr_dynamics.robot.dynamics_regressor import (
    N_INERTIAL,
    N_OF_JOINT,
    N_PLAIN,
    n_columns,
    n_parameters,
    parameter_indices,
)
from ilr_dynamics.robot.identified_dynamics import IdentifiedDynamics
from ilr_dynamics.robot.parameter_posterior import parameter_posterior

__all__ = [
    "LEARNERS",
    "LearnedTorque",
    "Learner",
    "LocalModels",
    "make_learner",
    "node_learning_settings",
    "node_settings",
    "product_feedforward",
]

REPOSITORY = Path(__file__).resolve().parents[1]

# Lower components share the width of their upper one, which more samples know better: they reach
# less far beside the recorded path, where the desired one is. With the concentrations of a model
# without hierarchy the lower ones without samples, one of each upper component, speak there, and
# these have a slope but no offset: torques are Nm off, and joint 4 goes faster than it may. With
# next to no share for those, the unseen component speaks: the mean torque.
FEW_VACANT = {"concentration": 1e-6, "upper_concentration": 1e-3}


class Learner(Protocol):
    """A model that learns in batches."""

    def learn(self, X: FloatArray, Y: FloatArray, **changes: Any) -> None:
        """Add samples [q, qd, qdd] (n, 3 n_joints) and torques (n, n_joints)."""

    def predict_one(self, x: FloatArray) -> FloatArray:
        """Torque (n_joints,) at one input."""


class LearnedTorque:
    """A torque at the desired state as feed-forward, whatever the model's confidence."""

    def __init__(self, predict: Callable[[FloatArray], FloatArray]) -> None:
        self._predict = predict

    def __call__(self, reference: Reference) -> FeedForwardTorque:
        """Torque for the desired position, velocity and acceleration."""
        x = np.concatenate([reference.position, reference.velocity, reference.acceleration])
        torque = self._predict(x)
        return FeedForwardTorque(torque, np.zeros_like(torque))


class LocalModels:
    """What the node's learner makes of recordings, with or without identified dynamics."""

    def __init__(self, settings: LearningSettings) -> None:
        self._settings = settings
        self.model: MixtureRegressor | None = None

    def learn(self, X: FloatArray, Y: FloatArray, **changes: Any) -> None:
        """Learn as the service does; changes are parameters of the model for this call."""
        joints = self._settings.joint_names
        samples = Samples(np.arange(len(X)) * 0.01, X, Y, joints, False, {})
        settings = replace(self._settings, model={**self._settings.model, **changes})
        self.model, _ = learn(samples, settings, self.model)
        self._predictor = self.model.predictor()

    def predict_one(self, x: FloatArray) -> FloatArray:
        """Expected torque."""
        return self._predictor(x)[0]


class Hierarchy:
    """Upper and lower local models, with the prior that the node gives those that stand alone."""

    def __init__(self, settings: LearningSettings) -> None:
        prior = TwoLevelPrior(**{**PRIOR_ALONE.get_params(), **FEW_VACANT})
        self._model = with_settings(HILR(prior=prior, inference=INFERENCE), settings.model)

    def learn(self, X: FloatArray, Y: FloatArray, **changes: Any) -> None:
        """Learn; changes are parameters of the model for this call."""
        kept = {name: self._model.get_params()[name] for name in changes}
        self._model.set_params(**changes).partial_fit(X, Y, recording_weights(X, self._model))
        self._model.set_params(**kept)
        self._predictor = self._model.predictor()

    def predict_one(self, x: FloatArray) -> FloatArray:
        """Expected torque."""
        return self._predictor(x)[0]


class Physics:
    """What `physics_ilr_pd` falls back on, alone and with all samples alike."""

    def __init__(self, arm: Arm) -> None:
        self._dynamics = IdentifiedDynamics.from_description(arm.description)

    def learn(
        self, X: FloatArray, Y: FloatArray, *, forgetting_factor: float = 1.0, **_: Any
    ) -> None:
        """Learn; the only parameter that means something here is how much is forgotten."""
        known = self._dynamics.discounted(forgetting_factor)
        self._dynamics = known.updated(X, Y, np.ones(len(X)))

    def predict_one(self, x: FloatArray) -> FloatArray:
        """Expected torque."""
        return self._dynamics.expected(x[None])[0]


class Identified:
    """
    Rigid bodies and friction by least squares, each joint with a noise of its own.

    The honest competitor: inertial parameters, rotors, viscous and dry friction of motors and
    joints and position terms, with a little weight on the description's inertial parameters for
    what the motions do not excite. Friction by load and position is no part of it, and samples in
    which a joint sticks count as all others do.
    """

    def __init__(self, arm: Arm) -> None:
        start = IdentifiedDynamics.from_description(arm.description)
        n = start.n_joints
        self._regressor = start.regressor
        self._indices = parameter_indices(n)[:, : n_columns(n) - N_OF_JOINT + N_PLAIN]
        n_plain = self._indices.shape[1]
        self._guess = np.zeros(n_parameters(n))
        self._guess[: N_INERTIAL * n] = start.inertial_prior.ravel()
        self._sums = (
            np.zeros((n, n_plain, n_plain)),
            np.zeros((n, n_plain)),
            np.zeros(n),
            np.zeros(n),
        )

    def learn(
        self, X: FloatArray, Y: FloatArray, *, forgetting_factor: float = 1.0, **_: Any
    ) -> None:
        """Add to the normal equations, and solve them."""
        columns = self._columns(X).transpose(1, 0, 2)
        new = (
            columns.transpose(0, 2, 1) @ columns,
            np.einsum("jtc,tj->jc", columns, Y),
            np.sum(Y**2, axis=0),
            np.full(Y.shape[1], float(len(Y))),
        )
        self._sums = tuple(forgetting_factor * a + b for a, b in zip(self._sums, new, strict=True))
        weak = np.full(len(self._guess), 1e-2)
        parameters = parameter_posterior(self._guess, weak, self._indices, *self._sums).mean
        self._of_joints = parameters[self._indices]

    def predict_one(self, x: FloatArray) -> FloatArray:
        """Torque of the parameters found."""
        return np.sum(self._columns(x[None])[0] * self._of_joints, axis=1)

    def _columns(self, X: FloatArray) -> FloatArray:
        return self._regressor(X)[:, :, : self._indices.shape[1]]


def _parameters(arm: Arm) -> dict[str, Any]:
    """Return the values of all parameters that the node has by the arm's file."""
    file = REPOSITORY / "config" / f"{arm.description.name}.yaml"
    return read_complete_parameters([file], "/inverse_dynamics", INVERSE_DYNAMICS)


def node_learning_settings(arm: Arm, **model: Any) -> LearningSettings:
    """Return the node's settings of learning for an arm; model changes those of the model."""
    return _settings(arm, model)


def _settings(arm: Arm, model: Mapping[str, Any], **others: Any) -> LearningSettings:
    """Return the node's settings for an arm, with these changes."""
    settings = learning_settings(_parameters(arm))
    return replace(settings, model={**settings.model, **model}, **others)


def product_feedforward(arm: Arm, predictor: Predictor) -> FeedForward:
    """Return what the node makes of a model: gate and fallback as the arm's file has them."""
    settings = node_settings(arm, "ilr")
    return settings.feedforward(RigidBodyFeedForward(arm.model), predictor)


def node_settings(arm: Arm, controller: str) -> ControlSettings:
    """Return the settings that the node has by the arm's file, with one of its controllers."""
    values = {**_parameters(arm), "controller": controller}
    return ControlSettings.from_values(values, arm.description)


def make_learner(name: str, arm: Arm, **model: Any) -> Learner:
    """Return the learner of a controller (one of `LEARNERS`); model changes its parameters."""
    if name == "identified_pd":
        return Identified(arm)
    if name == "physics_pd":
        return Physics(arm)
    if name == "physics_ilr_pd":
        return LocalModels(_settings(arm, model))
    alone = _settings(arm, model, robot=None)
    return LocalModels(alone) if name == "ilr_pd" else Hierarchy(alone)


LEARNERS = ("identified_pd", "physics_pd", "ilr_pd", "hilr_pd", "physics_ilr_pd")
