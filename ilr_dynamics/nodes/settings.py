# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""From parameter values of /inverse_dynamics to the settings of its controller and learner."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.control import (
    ConfidenceGate,
    DriverWatch,
    FeedForward,
    Gains,
    JointLimits,
    LearnedFeedForward,
    NoFeedForward,
    Supervision,
)
from ilr_dynamics.control.carried_payload import CarriedPayload
from ilr_dynamics.control.external_torque import ExternalTorqueObserver
from ilr_dynamics.control.feedforward import Predictor
from ilr_dynamics.control.goal_tolerances import GoalTolerances
from ilr_dynamics.control.guiding import BRAKE, Guidance, Guide
from ilr_dynamics.control.model_fit import ModelFit
from ilr_dynamics.control.payload_observer import PayloadObserver
from ilr_dynamics.control.residual_observer import ResidualObserver
from ilr_dynamics.exceptions import InvalidParameterError
from ilr_dynamics.learning import LearnerLimits, LearningSettings
from ilr_dynamics.nodes.parameter_table import check
from ilr_dynamics.nodes.parameters import INVERSE_DYNAMICS, joints_in_messages
from ilr_dynamics.recording import SampleSettings
from ilr_dynamics.robot.description import RobotDescription
from ilr_dynamics.robot.fit_test import FitTest
from ilr_dynamics.robot.misfit_evidence import ChangePrior
from ilr_dynamics.robot.payload_dynamics import PayloadDynamics
from ilr_dynamics.robot.payload_estimator import PayloadEstimator
from ilr_dynamics.robot.payload_posterior import PayloadPrior
from ilr_dynamics.robot.pseudo_inertia_prior import PseudoInertiaPrior

__all__ = [
    "ControlSettings",
    "command_topic",
    "learner_limits",
    "learning_settings",
    "snapshot_folder",
    "state_topic",
]

# Expected payload, as a share of the largest one, before the arm has moved.
MEAN_PAYLOAD = 1.0 / 3.0
# Deviation of torques that even the best model has, as a share of the largest torque.
LEAST_STD = 0.002


@dataclass(frozen=True, eq=False)
class ControlSettings:
    """What can change while the controller runs, checked."""

    gains: Gains
    limits: JointLimits
    supervision: Supervision
    gate: ConfidenceGate
    tolerances: GoalTolerances
    controller: str
    fallback: str
    effort_error: float
    answer_timeout: float
    guide: Guide
    external_torque_decimation: int
    alarms_per_hour: float
    torque_is_measured: bool
    least_std: FloatArray
    payload_estimation: str
    max_payload: float
    payload_size: float
    fit_alarms_per_hour: float

    @classmethod
    def from_values(
        cls, values: Mapping[str, Any], description: RobotDescription
    ) -> ControlSettings:
        """Build the settings from values of all parameters.

        Raises
        ------
        InvalidParameterError
            If values do not fit each other or the arm.
        """
        joints = joints_in_messages(values)
        if len(joints) != description.n_joints or len(set(joints)) != len(joints):
            raise InvalidParameterError(
                f"parameter joints is {list(joints)}; expected {description.n_joints} different "
                f"names, as {description.name} has {', '.join(description.joint_names)}"
            )
        check(values, INVERSE_DYNAMICS)
        let_down = values["fault.action"] == "let_down"
        return cls(
            gains=Gains(values["gains.kp"], values["gains.kd"]),
            limits=_limits(values, joints, description),
            supervision=Supervision(
                start_tolerance=values["trajectory.start_tolerance"],
                tracking_error=values["supervision.tracking_error"],
                velocity=values["supervision.velocity"],
                input_timeout=values["supervision.input_timeout"],
                deceleration=values["stop.deceleration"],
                let_down_time=values["fault.let_down_time"] if let_down else None,
                blind_time=values["fault.let_down_time"],
            ),
            gate=ConfidenceGate(
                values["gate.unseen_trusted"],
                values["gate.unseen_refused"],
                values["gate.std_trusted"],
                values["gate.std_refused"],
            ),
            tolerances=GoalTolerances.of_all(
                len(joints),
                path=values["constraints.trajectory"],
                goal=values["constraints.goal"],
                stopped_velocity=values["constraints.stopped_velocity_tolerance"],
                goal_time=values["constraints.goal_time"],
            ),
            controller=values["controller"],
            fallback=values["feedforward.fallback"],
            # What the driver adds is at work beside the command.
            effort_error=(
                0.0 if values["driver_compensates_gravity"] else values["supervision.effort_error"]
            ),
            answer_timeout=values["supervision.answer_timeout"],
            guide=_guide(values),
            external_torque_decimation=values["external_torque.decimation"],
            alarms_per_hour=values["external_torque.alarms_per_hour"],
            torque_is_measured=command_topic(values) is None,
            least_std=LEAST_STD * description.torque_limit,
            payload_estimation=values["payload.estimation"],
            max_payload=values["payload.max_mass"],
            payload_size=values["payload.size"],
            fit_alarms_per_hour=values["model_fit.alarms_per_hour"],
        )

    def feedforward(self, physics: FeedForward, predictor: Predictor | None) -> FeedForward:
        """Return the feed-forward that the controller's kind stands for.

        Parameters
        ----------
        physics : FeedForward
            The rigid-body model.
        predictor : Predictor or None
            The learned model, if there is one: without it the controller ilr is its fallback.
        """
        nothing = NoFeedForward(len(self.limits.joints))
        if self.controller == "pd":
            return nothing
        if self.controller == "analytic":
            return physics
        is_analytic = self.fallback == "analytic"
        fallback = physics if is_analytic else nothing
        if predictor is None:
            return fallback
        error = predictor.prior_std if is_analytic else None
        return LearnedFeedForward(predictor, self.gate, fallback, error)

    def guidance(self, physics: FeedForward, predictor: Predictor | None) -> Guidance:
        """
        Return what carries a guided arm: the learned model where it is trusted, else physics.

        Parameters
        ----------
        physics : FeedForward
            The rigid-body model: whatever the controller is, an arm without it would fall.
        predictor : Predictor or None
            The learned model, if there is one; used by the controller ilr.
        """
        if self.controller != "ilr" or predictor is None:
            return Guidance(self.guide, physics)
        learned = LearnedFeedForward(predictor, self.gate, physics, predictor.prior_std)
        return Guidance(self.guide, learned)

    def carried_payload(self, description: RobotDescription, rate: float) -> CarriedPayload:
        """Return what estimates a payload, feeds it forward and watches the fit, without one.

        Parameters
        ----------
        description : RobotDescription
            The arm.
        rate : float
            Joint states per second, Hz.
        """
        dynamics = PayloadDynamics(description)
        body = PseudoInertiaPrior(MEAN_PAYLOAD * self.max_payload, self.payload_size)
        residuals = ResidualObserver(dynamics, self.limits.torque, 1.0 / rate)
        estimator = PayloadEstimator(PayloadPrior.of_arm(body, description.torque_limit))
        fit = None
        if self.fit_alarms_per_hour > 0.0:
            prior = ChangePrior.with_limits(body, description.torque_limit)
            test = FitTest(prior, residuals.sample_period, self.fit_alarms_per_hour)
            fit = ModelFit(test, self.limits.joints, self.least_std, residuals.sample_period)
        observer = PayloadObserver(estimator, self.least_std)
        return CarriedPayload(dynamics, residuals, observer, self.max_payload, fit)

    def external_torque_observer(self, rate: float) -> ExternalTorqueObserver | None:
        """Return what finds external torques by the kind that models learn from, or None.

        Parameters
        ----------
        rate : float
            Joint states per second, Hz.
        """
        if not self.external_torque_decimation:
            return None
        return ExternalTorqueObserver(
            self.limits.torque,
            self.least_std,
            1.0 / rate,
            self.external_torque_decimation,
            self.alarms_per_hour,
            measured=self.torque_is_measured,
        )

    def driver_watch(self) -> DriverWatch:
        """Return what watches the driver's answer, or a watch that never barks."""
        tolerance = self.effort_error * self.limits.torque if self.effort_error > 0.0 else None
        return DriverWatch(tolerance, self.answer_timeout)


def _guide(values: Mapping[str, Any]) -> Guide:
    kp, kd = (np.asarray(values[f"gains.{name}"], dtype=float) for name in ("kp", "kd"))
    return Guide(
        friction_share=values["guide.friction_share"],
        dither=values["guide.dither"],
        damping=values["guide.damping"] * kd,
        velocity=values["guide.velocity"] * np.asarray(values["limits.velocity"], dtype=float),
        brake=BRAKE * kd,
        margin=values["guide.margin"],
        stiffness=kp,
    )


def _limits(
    values: Mapping[str, Any], joints: tuple[str, ...], description: RobotDescription
) -> JointLimits:
    margin = values["limits.position_margin"]
    limits = JointLimits(
        joints=joints,
        position_lower=description.position_lower + margin,
        position_upper=description.position_upper - margin,
        velocity=values["limits.velocity"],
        torque=values["limits.torque"],
        torque_rate=values["limits.torque_rate"],
    )
    for name in ("velocity", "torque"):
        built = getattr(description, f"{name}_limit")
        if (getattr(limits, name) > built).any():
            raise InvalidParameterError(
                f"parameter limits.{name} is {getattr(limits, name).tolist()}; "
                f"expected at most {built.tolist()}, which {description.name} can bear"
            )
    return limits


def learning_settings(values: Mapping[str, Any], namespace: str = "/") -> LearningSettings:
    """Build the learner's settings from values of all parameters of /inverse_dynamics.

    Those per joint may be None where nobody knows them: scales are then estimated from the
    recording, and limits are those of any arm.

    Parameters
    ----------
    values : mapping
        By name.
    namespace : str
        That of the node.

    Raises
    ------
    InvalidParameterError
        If the node would refuse a value, or values do not fit each other.
    """
    check(values, INVERSE_DYNAMICS)
    return LearningSettings(
        joint_names=tuple(values["joints"]),
        driver_compensates_gravity=values["driver_compensates_gravity"],
        state_topic=state_topic(values),
        command_topic=command_topic(values),
        controller_state_topic=values["learning.controller_state_topic"] or None,
        namespace=namespace,
        prefix=values["prefix"],
        model={
            "n_components": values["learning.n_components"],
            "random_state": values["learning.random_state"],
            "forgetting_factor": _forgetting(values),
            "input_scale": _scales(values, "position", "velocity", "acceleration"),
            "output_scale": _scales(values, "torque"),
        },
        samples=SampleSettings(
            sample_rate=values["learning.sample_rate"] or None,
            torque_limit=_list(values["limits.torque"]),
            velocity_limit=_list(values["supervision.velocity"]),
            # ROS 2 cannot tell the type of an empty list.
            continuous_joints=tuple(filter(None, values["learning.continuous_joints"])),
        ),
        directories=(*values["files.directories"], str(snapshot_folder(values))),
        robot=values["robot"] if values["learning.identify_dynamics"] else None,
        tool_frame=values["tool_frame"],
        gravity=tuple(values["gravity"]),
        effective_samples=values["learning.effective_samples"],
    )


def _forgetting(values: Mapping[str, Any]) -> float | str:
    """Return what earlier samples weigh after an update: a number, or that it decides."""
    factor: float = values["learning.forgetting_factor"]
    return "auto" if values["learning.adapt"] and factor == 1.0 else factor


def state_topic(values: Mapping[str, Any]) -> str:
    """Return the topic of the joint states in recordings, by default that of the node."""
    return str(values["learning.state_topic"] or values["state.topic"])


def command_topic(values: Mapping[str, Any]) -> str | None:
    """Return the topic of the torques to learn from; None for the efforts of joint states."""
    if values["learning.torque"] == "measured":
        return None
    return values["learning.command_topic"] or None


def _scales(values: Mapping[str, Any], *kinds: str) -> list[float] | None:
    """Scales of each joint, one kind after the other."""
    scales = [values[f"learning.{kind}_scale"] for kind in kinds]
    return None if None in scales else [scale for of_kind in scales for scale in of_kind]


def _list(values: Sequence[float] | None) -> list[float] | None:
    """Return a list, which JSON can hold, of the array that ROS has."""
    return None if values is None else list(values)


def learner_limits(values: Mapping[str, Any]) -> LearnerLimits:
    """Return what the learner process may take."""
    megabytes = values["learning.memory_limit"]
    return LearnerLimits(values["learning.timeout"], 1e6 * megabytes if megabytes else math.inf)


def snapshot_folder(values: Mapping[str, Any]) -> Path:
    """Return the folder for snapshots without a place of their own."""
    named = values["learning.snapshot_directory"]
    if named:
        return Path(named).expanduser()
    return Path(os.environ.get("ROS_HOME", "~/.ros")).expanduser() / "ilr_dynamics"
