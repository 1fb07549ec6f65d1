# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What a recording is learned on top of: the prior of an arm's dynamics, or the model so far."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from ilr_dynamics.exceptions import LearnerError
from ilr_dynamics.learning.settings import LearningSettings
from ilr_dynamics.regression import ILR, BatchInference, Prior
from ilr_dynamics.regression.former_names import FORMER_NAMES
from ilr_dynamics.regression.mixture_regressor import MixtureRegressor
from ilr_dynamics.robot.description import load_description
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

# A later call may change how it learns, not the prior and scales the statistics rest on.
CALL_PARAMETERS = (
    "n_components",
    "max_iterations",
    "tolerance",
    "forgetting_factor",
    "random_state",
)

# A feed-forward torque is asked for at the desired state, and recorded were states beside it: the
# arm sags. Components that stand alone must reach that far. Those whose scales follow the data fit
# the recorded path more closely, and on the simulated arm say nothing at all on the desired one
# (input_spread) or, with slopes as steep as single components have them, something wild.
PRIOR_ALONE = Prior(concentration=1.0, input_spread=0.5)
# With identified dynamics beside them they need not: narrow ones, firmly so, that many more
# are expected of, leave all that is not close to them to the dynamics. They learn what these leave
# of the torque: on a motion between two recorded ones they go astray less.
PRIOR_WITH_DYNAMICS = Prior(concentration=100.0, input_spread=0.1, input_strength=50.0)
INFERENCE = BatchInference(fit_scales=False)
# What the dynamics leave, as a share of the torques.
RESIDUAL_SHARE = 0.1


def model_to_update(model: MixtureRegressor | None, settings: LearningSettings) -> ILR:
    """
    Return the model that the next recording is learned on top of.

    Parameters
    ----------
    model : MixtureRegressor or None
        What is known; it is left as it is. None: nothing, so the prior is stated here.
    settings : LearningSettings
        The arm, and parameters of the model.

    Raises
    ------
    InvalidParameterError
        A parameter of the model is unknown.
    LearnerError
        The model is of another kind, or the robot has another number of joints.
    RobotDescriptionError
        There is no such robot.
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
    # Fitting replaces a model's arrays and never writes into them, so a shallow copy is enough.
    new_model = copy.copy(model)
    changes = {name: settings.model[name] for name in CALL_PARAMETERS if name in settings.model}
    # What one update was told to forget, the next one is not.
    return with_settings(new_model, {"forgetting_factor": 1.0, **changes})


def with_settings(model: M, settings: Mapping[str, Any]) -> M:
    """Set the parameters of a model that settings name, without the names of their groups."""
    return model.set_params(**{FORMER_NAMES.get(k, k): value for k, value in settings.items()})


def _identified_dynamics(settings: LearningSettings) -> IdentifiedDynamics:
    """Dynamics of the described arm, before any data."""
    assert settings.robot is not None
    description = load_description(settings.robot, settings.tool_frame)
    if description.n_joints != len(settings.joint_names):
        raise LearnerError(
            f"the robot {settings.robot} has {description.n_joints} joints, expected "
            f"{len(settings.joint_names)} as joint_names has"
        )
    if settings.driver_compensates_gravity:
        return IdentifiedDynamics.from_description(description, gravity=np.zeros(3))
    return IdentifiedDynamics.from_description(description)
