# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Carried payload: what the tool seems to carry, and which payload the feed-forward has."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.control.command import Command
from ilr_dynamics.control.feedforward import FeedForward, FeedForwardTorque
from ilr_dynamics.control.joint_path import Reference
from ilr_dynamics.control.model_fit import ModelFit
from ilr_dynamics.control.payload_feedforward import PayloadFeedForward
from ilr_dynamics.control.payload_observer import PayloadObserver
from ilr_dynamics.control.residual_observer import ResidualObserver
from ilr_dynamics.exceptions import InvalidParameterError
from ilr_dynamics.robot.payload import Payload, central_derivatives
from ilr_dynamics.robot.payload_dynamics import PayloadDynamics
from ilr_dynamics.robot.payload_posterior import PayloadPosterior

__all__ = ["CarriedPayload", "PayloadEstimate", "Verdict"]

# Log odds from which on a payload, or that there is none, is believed: a thousand to one, and
# less, as Laplace's approximation gives none before anything was seen -2.5.
BELIEVED, DISBELIEVED = 7.0, -5.0
# Squared distance of the payload in use from an estimate, in standard deviations, from which on
# the estimate is fed forward instead: one deviation in all. What is in use was estimated earlier,
# from less, so it is the worse one long before both contradict each other.
CLOSE = 1.0


class Verdict(IntEnum):
    """What is known of a payload, as in ilr_dynamics_msgs/PayloadEstimate."""

    UNKNOWN = 0
    NONE = 1
    PAYLOAD = 2
    TOO_HEAVY = 3


@dataclass(frozen=True, eq=False)
class PayloadEstimate:
    """
    What the tool seems to carry.

    Attributes
    ----------
    verdict : Verdict
    payload : Payload
        Most probable one, if there is one.
    std : ndarray of shape (10,)
        Standard deviations of its mass, centre of mass and moments, kg, m, kg m^2.
    posterior : PayloadPosterior
        What this follows from.
    motion : float
        Motion that it is made of, s.
    text : str
        The same in words.
    """

    verdict: Verdict
    payload: Payload
    std: FloatArray
    posterior: PayloadPosterior
    motion: float
    text: str


class CarriedPayload:
    """
    Payload at the tool: observed in each cycle, and fed forward once it is known or set.

    Parameters
    ----------
    dynamics : PayloadDynamics
        Of the arm.
    residuals : ResidualObserver
        Observes the cycles.
    observer : PayloadObserver
        Learns of a payload from what these say.
    max_mass : float
        Mass that the arm may carry, kg.
    fit : ModelFit, optional
        Watches whether the model of the arm with its payload still fits.

    Attributes
    ----------
    payload : Payload or None
        Payload that is fed forward.
    source : str
        Where it comes from: none, estimated or set.
    """

    def __init__(
        self,
        dynamics: PayloadDynamics,
        residuals: ResidualObserver,
        observer: PayloadObserver,
        max_mass: float,
        fit: ModelFit | None = None,
    ) -> None:
        self._dynamics = dynamics
        self._residuals = residuals
        self._observer = observer
        self.max_mass = max_mass
        self.fit = fit
        self._arm: FeedForward | None = None
        self.payload: Payload | None = None
        self.source = "none"

    def feedforward(self, arm: FeedForward, *, is_model: bool = True) -> FeedForward:
        """
        Return the feed-forward of an arm with what it carries; observe by this arm from now on.

        What was seen by another model of the arm is forgotten.

        Parameters
        ----------
        arm : FeedForward
            Model of the arm without a payload.
        is_model : bool
            Whether it is one: by the PD alone nothing is observed or fed forward.
        """
        self._arm = arm if is_model else None
        self.restart()
        if self.fit is not None:
            self.fit.restart()
        return self._with_payload(arm)

    def carrying(self, arm: FeedForward) -> FeedForward:
        """Return a model of the arm with what the tool carries whenever it is asked."""
        carried = self.payload
        present = self._carrying(arm)

        def torque(reference: Reference) -> FeedForwardTorque:
            nonlocal carried, present
            if carried is not self.payload:
                carried, present = self.payload, self._carrying(arm)
            return present(reference)

        return torque

    def renewed(self) -> FeedForward | None:
        """Return the feed-forward of the same arm with the present payload; None without one."""
        return None if self._arm is None else self._with_payload(self._arm)

    def set_limits(self, max_mass: float, torque: FloatArray) -> None:
        """
        Change what the arm may carry and which torques tell nothing.

        Parameters
        ----------
        max_mass : float
            kg.
        torque : ndarray of shape (n_joints,)
            Largest torques, Nm.
        """
        self.max_mass, self._residuals.torque_limit = max_mass, torque

    def observe(self, command: Command, *, estimates: bool = True) -> bool:
        """
        Observe a cycle, after its torque was sent.

        Parameters
        ----------
        command : Command
            Of the cycle.
        estimates : bool
            Whether the payload is estimated.

        Returns
        -------
        bool
            Whether there is a new estimate.
        """
        if self._arm is None or not (estimates or self.fit):
            return False
        sample = self._residuals.add(command, self._arm)
        if sample is None:
            return False
        if self.fit is not None:
            self.fit.add(sample, None if self.payload is None else self.payload.parameters)
        if not estimates:
            return False
        estimator = self._observer.estimator
        before = estimator.posterior
        self._observer.add(sample)
        return estimator.posterior is not before

    def restart(self) -> None:
        """Forget what was observed of a payload; what is fed forward stays."""
        self._observer.restart()
        self._residuals.restart()

    def estimate(self) -> PayloadEstimate:
        """Return what the tool seems to carry."""
        posterior = self._observer.estimator.posterior
        payload = Payload.from_parameters(posterior.parameters)
        derivatives = central_derivatives(posterior.parameters)
        variance = np.einsum("ij,jk,ik->i", derivatives, posterior.covariance, derivatives)
        std = np.sqrt(np.maximum(variance, 0.0))
        motion = self._observer.estimator.n_samples * self._residuals.sample_period
        verdict = self._verdict(posterior, payload)
        text = self._text(verdict, posterior, payload, std, motion)
        return PayloadEstimate(verdict, payload, std, posterior, motion, text)

    def take(self, estimate: PayloadEstimate) -> None:
        """Feed an estimate forward: a payload, or none. Nothing changes if it is unknown."""
        if estimate.verdict is Verdict.PAYLOAD:
            self._use(estimate.payload, "estimated")
        elif estimate.verdict is Verdict.NONE:
            self.clear()

    def follow(self, estimate: PayloadEstimate) -> bool:
        """
        Feed an estimate forward unless that was set by hand or is much the same.

        Returns
        -------
        bool
            Whether the feed-forward has to be renewed.
        """
        if self.source == "set":
            return False
        if estimate.verdict is Verdict.NONE:
            changes = self.payload is not None
        elif estimate.verdict is Verdict.PAYLOAD:
            changes = self.payload is None or not _close(self.payload, estimate.posterior)
        else:
            changes = False
        if changes:
            self.take(estimate)
        return changes

    def set(self, payload: Payload) -> None:
        """
        Feed a payload forward that is known from elsewhere.

        Raises
        ------
        InvalidParameterError
            If it is heavier than the arm may carry.
        """
        if payload.mass > self.max_mass:
            raise InvalidParameterError(
                f"mass of the payload is {payload.mass:g} kg: expected at most "
                f"{self.max_mass:g} kg (payload.max_mass)"
            )
        self._use(payload, "set")

    def clear(self) -> None:
        """Feed no payload forward."""
        self._use(None, "none")

    def _use(self, payload: Payload | None, source: str) -> None:
        if self.fit is not None and (payload is not None or self.payload is not None):
            self.fit.restart()
        self.payload, self.source = payload, source

    def _with_payload(self, arm: FeedForward) -> FeedForward:
        return arm if self._arm is None else self._carrying(arm)

    def _carrying(self, arm: FeedForward) -> FeedForward:
        if self.payload is None:
            return arm
        return PayloadFeedForward(arm, self._dynamics.torque_of(self.payload))

    def _verdict(self, posterior: PayloadPosterior, payload: Payload) -> Verdict:
        if posterior.log_odds < DISBELIEVED:
            return Verdict.NONE
        if posterior.log_odds < BELIEVED:
            return Verdict.UNKNOWN
        return Verdict.TOO_HEAVY if payload.mass > self.max_mass else Verdict.PAYLOAD

    def _text(
        self,
        verdict: Verdict,
        posterior: PayloadPosterior,
        payload: Payload,
        std: FloatArray,
        motion: float,
    ) -> str:
        """Return what is known in words."""
        mass = f"{payload.mass:.3f} +- {std[0]:.3f} kg"
        if verdict is Verdict.PAYLOAD:
            com = ", ".join(f"{x:.3f}" for x in payload.com)
            return f"{mass} at [{com}] m from the tool point, from {motion:.0f} s of motion"
        if verdict is Verdict.NONE:
            most = payload.mass + 2.0 * std[0]
            return f"no payload, at most {most:.3f} kg, from {motion:.0f} s of motion"
        if verdict is Verdict.TOO_HEAVY:
            return (
                f"{mass}: expected at most {self.max_mass:g} kg (payload.max_mass); it is not fed "
                "forward"
            )
        return f"not known yet: {self._missing(motion)}"

    def _missing(self, motion: float) -> str:
        observer = self._observer
        if self._arm is None:
            return "the controller pd has no model of the arm; expected analytic or ilr"
        found = f"{motion:.1f} s of motion were seen"
        n_saturated = self._residuals.n_saturated
        if n_saturated > observer.n_used:
            found += f", and {n_saturated} stretches with torques at their limits, which tell "
            found += "nothing"
        elif observer.n_at_rest > observer.n_used:
            found += "; at rest dry friction hides what the arm carries"
        return (
            f"{found}; expected some seconds in which all joints that bear the tool's weight turn "
            "both ways, faster than 0.02 rad/s"
        )


def _close(payload: Payload, posterior: PayloadPosterior) -> bool:
    off = payload.parameters - posterior.parameters
    return float(off @ np.linalg.solve(posterior.covariance, off)) < CLOSE
