# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Prior of a learning step: that of an arm's dynamics, or the posterior so far."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from ilr_dynamics.exceptions import LearnerError
from ilr_dynamics.learning.settings import LearningSettings
from ilr_dynamics.regression import ILR, BatchInference, Prior
from ilr_dynamics.regression.mixture_regressor import MixtureRegressor
from ilr_dynamics.regression.shared.full_names import FULL_NAMES
from ilr_dynamics.robot.identified_dynamics import IdentifiedDynamics

__all__ = [
    "INFERENCE",
    "PRIOR_ALONE",
    "PRIOR_WITH_DYNAMICS",
    "RESIDUAL_SHARE",
    "model_to_update",
    "with_settings",
]

M = TypeVar("M", bound=MixtureRegressor)

# Parameters that an update may change: those of inference, not the prior and the scales that the
# statistics so far are based on.
CALL_PARAMETERS = (
    "n_components",
    "max_iterations",
    "tolerance",
    "forgetting_factor",
    "random_state",
)

# The feed-forward is queried at the desired state, but the recorded states are some distance away,
# because the arm sags. Without a global model the components must be wide enough for that. With
# scales fitted to the data they follow the recorded path more closely. On the simulated arm they
# then had no weight at the desired states (input_spread) or extrapolated wildly (steep slopes).
PRIOR_ALONE = Prior(concentration=1.0, input_spread=0.5)
# With identified dynamics as a global model many narrow components, under a strong prior on their
# width, leave all that is not close to them to the dynamics. They learn the residual torque, which
# is extrapolated better on a motion between two recorded ones.
PRIOR_WITH_DYNAMICS = Prior(concentration=100.0, input_spread=0.1, input_strength=50.0)
INFERENCE = BatchInference(fit_scales=False)
# Expected size of the residual torque, as a share of the torque.
RESIDUAL_SHARE = 0.1


def model_to_update(model: MixtureRegressor | None, settings: LearningSettings) -> ILR:
    """
    Return the model that the next recording updates.

    Parameters
    ----------
    model : MixtureRegressor or None
        Model so far, which is not changed; None for a new one with the prior of this module.
    settings : LearningSettings
        Settings of the arm, and parameters of the model.

    Returns
    -------
    ILR

    Raises
    ------
    InvalidParameterError
        If a parameter of the model is unknown.
    LearnerError
        If the model is of another kind, or the robot has another number of joints.
    RobotDescriptionError
        If the robot is unknown.
    """
    if model is None:
        if settings.robot is None:
            return with_settings(ILR(prior=PRIOR_ALONE, inference=INFERENCE), settings.model)
        model = ILR(
            prior=PRIOR_WITH_DYNAMICS,
            inference=INFERENCE,
            global_model=_identified_dynamics(settings),
            learn_residual=True,
        )
        scale = settings.model.get("output_scale")
        if scale is None or not settings.model.get("learn_residual", True):
            return with_settings(model, settings.model)
        of_residual = RESIDUAL_SHARE * np.asarray(scale)
        return with_settings(model, {**settings.model, "output_scale": of_residual})
    if not isinstance(model, ILR):
        raise LearnerError(f"the model is a {type(model).__name__}; expected an ILR")
    # A shallow copy is enough, as fitting replaces a model's arrays and never writes into them.
    new_model = copy.copy(model)
    changes = {name: settings.model[name] for name in CALL_PARAMETERS if name in settings.model}
    # A forgetting factor applies to one update only.
    return with_settings(new_model, {"forgetting_factor": 1.0, **changes})


def with_settings(model: M, settings: Mapping[str, Any]) -> M:
    """Set the parameters of a model that settings name, without the names of their groups."""
    return model.set_params(**{FULL_NAMES.get(k, k): value for k, value in settings.items()})


def _identified_dynamics(settings: LearningSettings) -> IdentifiedDynamics:
    """Prior of the described arm's dynamics."""
    description = settings.arm()
    if description.n_joints != len(settings.joint_names):
        raise LearnerError(
            f"the robot {settings.robot} has {description.n_joints} joints, expected "
            f"{len(settings.joint_names)} as joint_names has"
        )
    if settings.driver_compensates_gravity:
        return IdentifiedDynamics.from_description(description, gravity=np.zeros(3))
    return IdentifiedDynamics.from_description(description)
