# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Models of the arm that a controller works with, each with what the tool carries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ilr_dynamics.control import FeedForward, RigidBodyFeedForward
from ilr_dynamics.control.external_torque import PredictedTorque
from ilr_dynamics.control.feedforward import Predictor
from ilr_dynamics.control.guiding import Guidance
from ilr_dynamics.nodes.settings import ControlSettings
from ilr_dynamics.robot.description import RobotDescription
from ilr_dynamics.robot.rigid_body import RigidBodyModel

__all__ = ["ArmModels"]


class ArmModels:
    """
    Rigid-body model, learned model and payload, and what follows from them for the controller.

    Parameters
    ----------
    settings : ControlSettings
        Which of them is at work.
    values : mapping of str to object
        Values of all parameters.
    description : RobotDescription
        Description of the arm.

    Attributes
    ----------
    rigid_body : RigidBodyModel
        Of the description.
    physics : RigidBodyFeedForward
        Its feed-forward.
    payload : CarriedPayload
        What the tool carries.
    predictor : Predictor or None
        The learned model, once there is one.
    """

    def __init__(
        self,
        settings: ControlSettings,
        values: Mapping[str, Any],
        description: RobotDescription,
    ) -> None:
        self._settings = settings
        self.rigid_body = RigidBodyModel(description)
        self.physics = RigidBodyFeedForward(
            self.rigid_body,
            driver_compensates_gravity=values["driver_compensates_gravity"],
        )
        self.payload = settings.carried_payload(description, values["rate"])
        self.predictor: Predictor | None = None

    @property
    def lacks_learned(self) -> bool:
        """Whether the controller is to use a learned model, and there is none."""
        return self._settings.controller == "ilr" and self.predictor is None

    def apply(self, settings: ControlSettings) -> None:
        """Apply changed parameters."""
        self._settings = settings
        self.payload.set_limits(settings.max_payload, settings.limits.torque)

    def feedforward(self) -> FeedForward:
        """Model at work, with what it carries; a payload is observed by it from now on."""
        arm = self._settings.feedforward(self.physics, self.predictor)
        return self.payload.feedforward(arm, is_model=self._settings.controller != "pd")

    def guidance(self) -> Guidance:
        """What carries the arm and its payload while it is guided."""
        guidance = self._settings.guidance(self.physics, self.predictor)
        guidance.feedforward = self.payload.carrying(guidance.feedforward)
        return guidance

    def expected(self) -> FeedForward | None:
        """Learned model with what the arm carries, whatever its confidence; None without one."""
        if self.predictor is None:
            return None
        return self.payload.carrying(PredictedTorque(self.predictor))
