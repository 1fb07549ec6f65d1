# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Payload services ~/estimate_payload, ~/set_payload, ~/clear_payload, and topic ~/payload."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from std_srvs.srv import Trigger

from ilr_dynamics.control import Command, FeedForward, Mode, TrackingController
from ilr_dynamics.control.carried_payload import CarriedPayload, PayloadEstimate, Verdict
from ilr_dynamics.exceptions import IlrDynamicsError
from ilr_dynamics.nodes.shared import qos
from ilr_dynamics.nodes.shared.event_log import EventLog
from ilr_dynamics.robot.payload import Payload
from ilr_dynamics_msgs.msg import PayloadEstimate as PayloadMessage
from ilr_dynamics_msgs.srv import EstimatePayload, SetPayload

__all__ = ["PayloadServices"]


class PayloadServices:
    """
    Requests about the payload, and reports of it.

    They exist as long as the node does, so that requests always get a response.

    Parameters
    ----------
    node : Node
        Node of the services and the topic.
    log : EventLog
        Log of the node.
    """

    def __init__(self, node: Node, log: EventLog) -> None:
        self._log = log
        self._carried: CarriedPayload | None = None
        self._controller: TrackingController | None = None
        self._estimation = "off"
        self._message = PayloadMessage()
        self._publisher = node.create_publisher(PayloadMessage, "~/payload", qos.LATCHED)
        node.create_service(EstimatePayload, "~/estimate_payload", self._on_estimate)
        node.create_service(SetPayload, "~/set_payload", self._on_set)
        node.create_service(Trigger, "~/clear_payload", self._on_clear)

    def connect(
        self,
        carried: CarriedPayload,
        controller: TrackingController,
        estimation: str,
        tool_frame: str,
    ) -> None:
        """
        Serve the payload of a controller from now on, between two of its cycles.

        Parameters
        ----------
        carried : CarriedPayload
        controller : TrackingController
            Its feed-forward gets the payload.
        estimation : str
            Value of payload.estimation.
        tool_frame : str
            Frame of the payload.
        """
        is_another = carried is not self._carried
        self._carried, self._controller, self._estimation = carried, controller, estimation
        self._message.header.frame_id = tool_frame
        self._message.joint_names = list(controller.limits.joints)
        if is_another:
            self._publish(carried.estimate())

    def disconnect(self) -> None:
        """Respond without a controller from now on; nothing is fed forward any more."""
        if self._carried is not None:
            self._carried.clear()
            self._publish(self._carried.estimate())
        self._carried = self._controller = None

    def observe(self, stamp: Any, command: Command) -> None:
        """Observe a cycle, after its torque was sent; publish what is new."""
        carried = self._carried
        self._message.header.stamp = stamp
        if carried is None or not carried.observe(command, estimates=self._estimation != "off"):
            return
        estimate = carried.estimate()
        if self._estimation == "automatic" and carried.follow(estimate):
            self._renew(f"payload followed: {estimate.text}", estimate)
        else:
            self._publish(estimate)

    def _on_estimate(
        self, request: EstimatePayload.Request, response: EstimatePayload.Response
    ) -> EstimatePayload.Response:
        objection = self._objection()
        if not objection and self._estimation == "off":
            objection = "payload.estimation is off: expected on_request or automatic"
        carried = self._carried
        if objection or carried is None:
            response.message = objection
            return response
        if request.restart:
            carried.restart()
            response.success = True
            response.message = (
                "a new estimate begins with the next motion; what is fed forward stays until then"
            )
            return response
        estimate = carried.estimate()
        response.success = estimate.verdict in (Verdict.PAYLOAD, Verdict.NONE)
        response.message = estimate.text
        response.std = estimate.std
        if estimate.verdict is not Verdict.NONE:
            response.mass, response.com = estimate.payload.mass, estimate.payload.com
            response.inertia = estimate.payload.inertia
        if response.success:
            carried.take(estimate)
            self._renew(f"payload estimated: {estimate.text}", estimate)
        return response

    def _on_set(
        self, request: SetPayload.Request, response: SetPayload.Response
    ) -> SetPayload.Response:
        def work(carried: CarriedPayload) -> str:
            payload = Payload(request.mass, request.com, request.inertia)
            carried.set(payload)
            com = ", ".join(f"{x:g}" for x in payload.com)
            return f"payload set: {payload.mass:g} kg at [{com}] m from the tool point"

        return self._answered(response, work)

    def _on_clear(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        def work(carried: CarriedPayload) -> str:
            carried.clear()
            carried.restart()
            return "payload cleared"

        return self._answered(response, work)

    def _answered(self, response: Any, work: Callable[[CarriedPayload], str]) -> Any:
        """Fill a response after a change of what is fed forward, or the reason why it is not."""
        objection = self._objection()
        if objection or self._carried is None:
            response.message = objection
            return response
        try:
            response.message = work(self._carried)
        except IlrDynamicsError as error:
            response.message = str(error)
            return response
        response.success = True
        self._renew(response.message, self._carried.estimate())
        return response

    def _objection(self) -> str:
        """Return why nothing about the payload can change now; or ""."""
        if self._controller is None:
            return "not configured: expected an active controller"
        if self._controller.mode is Mode.FAULT:
            return (
                f"the controller is in a fault ({self._controller.fault}): call ~/hold first; "
                "the payload stays as it is"
            )
        return ""

    def _renew(self, text: str, estimate: PayloadEstimate) -> None:
        """Feed the payload forward that is to be from now on, and say so."""
        assert self._carried is not None and self._controller is not None
        self._log.info("payload", text)
        feedforward: FeedForward | None = self._carried.renewed()
        if feedforward is not None:
            self._controller.set_feedforward(feedforward)
        self._publish(estimate)

    def _publish(self, estimate: PayloadEstimate) -> None:
        assert self._carried is not None
        message, payload, used = self._message, estimate.payload, self._carried.payload
        message.verdict, message.text = int(estimate.verdict), estimate.text
        message.mass, message.com, message.inertia = payload.mass, payload.com, payload.inertia
        message.std, message.log_odds = estimate.std, estimate.posterior.log_odds
        message.motion = estimate.motion
        viscous, dry = estimate.posterior.friction.T
        message.viscous_change, message.dry_change = array("d", viscous), array("d", dry)
        message.source = self._carried.source
        message.used_mass = used.mass if used else 0.0
        message.used_com = used.com if used else [0.0, 0.0, 0.0]
        self._publisher.publish(message)
