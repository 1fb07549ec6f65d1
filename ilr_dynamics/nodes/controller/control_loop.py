# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Control loop of /inverse_dynamics: a torque command for each joint state."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.duration import Duration
from rclpy.lifecycle import LifecycleNode
from sensor_msgs.msg import JointState

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.control import (
    Command,
    FeedForward,
    RigidBodyFeedForward,
    TrackingController,
)
from ilr_dynamics.control.external_torque import PredictedTorque
from ilr_dynamics.control.feedforward import Predictor
from ilr_dynamics.control.guiding import Guidance
from ilr_dynamics.control.measured_velocity import MeasuredVelocity
from ilr_dynamics.exceptions import InvalidDataError
from ilr_dynamics.nodes.controller.diagnostics import LoopState
from ilr_dynamics.nodes.controller.external_torque_report import ExternalTorqueReport
from ilr_dynamics.nodes.controller.fit_publisher import FitPublisher
from ilr_dynamics.nodes.controller.joint_state_watch import Publishers, SilenceWatchdog
from ilr_dynamics.nodes.controller.loop_report import LoopReport
from ilr_dynamics.nodes.controller.motion_requests import MotionRequests, TrajectoryRules
from ilr_dynamics.nodes.controller.payload_services import PayloadServices
from ilr_dynamics.nodes.settings import ControlSettings
from ilr_dynamics.nodes.shared import qos
from ilr_dynamics.nodes.shared.event_log import EventLog
from ilr_dynamics.nodes.shared.messages import JointStateReader, sender, torque_command
from ilr_dynamics.nodes.shared.realtime import ScheduledCollector
from ilr_dynamics.nodes.shared.rivals import RivalWatch, other_controllers
from ilr_dynamics.robot.description import RobotDescription
from ilr_dynamics.robot.rigid_body import RigidBodyModel
from ilr_dynamics.robot.urdf_text import root_link

__all__ = ["ControlLoop"]

# Time between garbage collections, s.
_COLLECTION_PERIOD = 0.5
_ACKNOWLEDGEMENT_TIMEOUT = Duration(seconds=0.1)


class ControlLoop:
    """
    Subscription to joint states, controller, and publishers of torques and controller states.

    It exists while the node is configured.

    Parameters
    ----------
    node : LifecycleNode
        Node of topics and timers.
    values : mapping of str to object
        Values of all parameters.
    settings : ControlSettings
        Settings made from these values.
    description : RobotDescription
        Description of the arm.
    requests : MotionRequests
        Trajectories and requests, which go to this loop's controller while it exists.
    payloads : PayloadServices
        Requests about the payload, as these.
    log : EventLog
        Log of the node.

    Attributes
    ----------
    rivals : RivalWatch
        Watch over other controllers of the arm.
    fit : FitPublisher
        Reports of whether the learned model still fits.
    """

    def __init__(
        self,
        node: LifecycleNode,
        values: Mapping[str, Any],
        settings: ControlSettings,
        description: RobotDescription,
        requests: MotionRequests,
        payloads: PayloadServices,
        log: EventLog,
    ) -> None:
        joints = settings.limits.joints
        self.report = LoopReport(
            node, joints, root_link(description), values["controller_state.decimation"], log
        )
        self.report.controller, self.report.fallback = settings.controller, settings.fallback
        self._node = node
        self._active = False
        self._settings = settings
        self._collector = ScheduledCollector(round(_COLLECTION_PERIOD * values["rate"]))
        self._rate = values["rate"]
        self._command: Command | None = None
        self._predictor: Predictor | None = None
        model = RigidBodyModel(description)
        self._physics = RigidBodyFeedForward(
            model,
            driver_compensates_gravity=values["driver_compensates_gravity"],
        )
        self._carried = settings.carried_payload(description, values["rate"])
        self.fit = FitPublisher(node, self._carried.fit, joints, root_link(description), log)
        self._external = ExternalTorqueReport(node, joints, model, log)
        self._external.observer = settings.external_torque_observer(values["rate"])
        self._tool_frame = description.tool_frame
        self._command_topic = node.resolve_topic_name(values["command.topic"])
        self.rivals = RivalWatch(self._other_controllers)
        self._publishers = Publishers(node, node.resolve_topic_name(values["state.topic"]))
        self._controller = TrackingController(
            settings.limits,
            settings.gains,
            settings.supervision,
            self._feedforward(),
            self._physics,
            period=1.0 / values["rate"],
            feedforward_fade=values["feedforward.fade_time"],
            reference_fade=values["trajectory.fade_time"],
            guidance=self._guidance(),
            is_present=self._publishers.is_present,
        )
        self._reader = JointStateReader(joints)
        self._velocity = MeasuredVelocity(
            joints, values["velocity_filter.cutoff"], settings.supervision.input_timeout
        )
        self._driver = settings.driver_watch()
        self._stamp: Time | None = None
        self._released = 0.0
        self._watchdog = SilenceWatchdog(
            node, values["supervision.silence_timeout"], self._on_silence
        )
        self._torque = torque_command(values["command.interface"], joints)
        self._torque_publisher = node.create_lifecycle_publisher(
            type(self._torque.message), values["command.topic"], qos.COMMAND
        )
        self.joint_states = node.create_subscription(
            JointState, values["state.topic"], self._on_joint_state, qos.JOINT_STATES
        )
        self._requests = requests
        requests.connect(self._controller, _rules(settings, values))
        self._payloads = payloads
        self._connect_payloads()

    @property
    def state(self) -> LoopState:
        """State of the loop for diagnostics."""
        publishers, names = self._publishers.named()
        return LoopState(
            self._active,
            self._controller.mode,
            self._controller.fault,
            self._settings.controller == "ilr" and self._predictor is None,
            self._torque_publisher.get_subscription_count(),
            publishers,
            self._rate,
            self._settings.supervision.input_timeout,
            names,
            self._velocity.verdict,
        )

    @property
    def silence(self) -> float:
        """Time since the last joint state that was answered, s."""
        return self._watchdog.silence

    def activate(self) -> None:
        """Start to answer joint states; the publishers are active already."""
        publishers, _ = self._publishers.named()
        self._controller.reset(several_senders=publishers > 1)
        self._stamp = None
        self._command = None
        self._velocity.reset()
        self._driver.reset()
        self._carried.restart()
        self.fit.restart()
        self._external.restart()
        self._watchdog.feed()
        self.report.statistics.restart()
        self._collector.start()
        self._active = True

    def deactivate(self) -> None:
        """
        Bring the torque to zero at the rate limit, and stop to answer joint states.

        This blocks, for some tenths of a second at most.
        """
        if not self._active:
            return
        self._active = False
        self._requests.deactivated()
        stamp = self._stamp
        if stamp is not None:
            while (torque := self._controller.step_release()) is not None:
                self._send(stamp, torque)
                time.sleep(1.0 / self._rate)
            # A forward_command_controller would apply its last torque for ever.
            self._send(stamp, np.zeros(len(self._settings.limits.joints)))
            # The process may end next, and messages not delivered by then would be lost.
            self._torque_publisher.wait_for_all_acked(_ACKNOWLEDGEMENT_TIMEOUT)
        self._controller.reset()
        self.report.events.mode(self._controller.mode, "")
        self._collector.stop()

    def destroy(self) -> None:
        """Deactivate, and destroy topics and timer."""
        self.deactivate()
        self._requests.disconnect()
        self._payloads.disconnect()
        self._watchdog.destroy()
        self._node.destroy_subscription(self.joint_states)
        self._node.destroy_lifecycle_publisher(self._torque_publisher)
        self.fit.destroy()
        self._external.destroy()
        self.report.destroy()

    def apply(self, settings: ControlSettings, values: Mapping[str, Any]) -> None:
        """Apply changed parameters, between two cycles."""
        self._settings = settings
        self.report.decimation = values["controller_state.decimation"]
        self.report.controller, self.report.fallback = settings.controller, settings.fallback
        self._requests.connect(self._controller, _rules(settings, values))
        self._watchdog.timeout = values["supervision.silence_timeout"]
        self._controller.gains = settings.gains
        self._controller.limits = settings.limits
        self._controller.supervision = settings.supervision
        self._driver = settings.driver_watch()
        self._carried.set_limits(settings.max_payload, settings.limits.torque)
        self._external.observer = settings.external_torque_observer(self._rate)
        self._connect_payloads()
        self._exchange_feedforward()

    def set_predictor(self, predictor: Predictor, model: str) -> None:
        """
        Exchange the learned model, between two cycles.

        Parameters
        ----------
        predictor : Predictor
            New model.
        model : str
            Identity of the new model.
        """
        self._predictor, self.report.model = predictor, model
        self._external.expected = self._carried.carrying(PredictedTorque(predictor))
        if self._settings.controller == "ilr":
            self._exchange_feedforward()

    def _exchange_feedforward(self) -> None:
        self._controller.set_feedforward(self._feedforward(), self._guidance())

    def _feedforward(self) -> FeedForward:
        """Model of the arm, with what it carries."""
        arm = self._settings.feedforward(self._physics, self._predictor)
        return self._carried.feedforward(arm, is_model=self._settings.controller != "pd")

    def _guidance(self) -> Guidance:
        """What carries the arm and its payload while it is guided."""
        guidance = self._settings.guidance(self._physics, self._predictor)
        guidance.feedforward = self._carried.carrying(guidance.feedforward)
        return guidance

    def _connect_payloads(self) -> None:
        self._payloads.connect(
            self._carried, self._controller, self._settings.payload_estimation, self._tool_frame
        )

    def _on_joint_state(self, message: JointState, info: Mapping[str, Any]) -> None:
        if not self._active:
            return
        start = time.perf_counter()
        try:
            stamp, position, velocity, effort = self._reader.read(message)
        except InvalidDataError as error:
            self.report.refused(str(error))
            return
        if not self._controller.admit(stamp, position, sender(info), start):
            self.report.refused(self._controller.refusal)
            if self._controller.contradicted:
                self._release(start)
            return
        measured = velocity
        velocity = self._velocity(stamp, position, measured)
        violation = self._driver.violation(stamp, effort, self._settings.limits.joints)
        if violation is not None:
            self._controller.fail(violation)
            self._driver.reset()
        command = self._controller.answer(stamp, position, velocity)
        if command is None:
            self.report.refused(self._controller.refusal)
            return
        self._command, self._stamp = command, self._reader.stamp
        self._send(self._stamp, command.torque)
        loop_time = time.perf_counter() - start
        self._driver.commanded(command.torque)
        self._watchdog.feed(stamp)
        self.report.answered(
            self._stamp,
            command,
            self._controller.limits,
            self._controller.fault,
            start,
            loop_time,
        )
        self._requests.observe(command)
        self._collector.cycle_done()
        self._check_velocity(stamp, position, measured)
        before = time.perf_counter()
        self._controller.look_ahead()
        self.report.statistics.look_ahead_times.append(time.perf_counter() - before)
        self._payloads.observe(self._stamp, command)
        self.fit.observe(self._stamp)
        self._external.observe(self._stamp, command, effort)

    def _check_velocity(
        self, stamp: float, position: FloatArray, measured: FloatArray | None
    ) -> None:
        """Check the measured velocity, to decide whether later ones are used."""
        cutoff = self._velocity.cutoff
        if measured is None:
            self.report.events.velocity_missing(cutoff)
        elif self._velocity.check(stamp, position, measured):
            self.report.events.velocity_wrong(self._velocity.verdict, cutoff)

    def _release(self, now: float) -> None:
        """Bring the torque to zero, one step per period, while senders contradict each other."""
        self.report.events.mode(self._controller.mode, self._controller.fault)
        self._requests.faulted(self._controller.fault)
        if now - self._released < 1.0 / self._rate:
            return
        self._released = now
        self._let_down(self._controller.step_release())

    def _other_controllers(self) -> str:
        """Return an objection to other nodes that send torques to this arm; or ""."""
        others = other_controllers(self._node, self._command_topic)
        if not others:
            return ""
        return (
            f"{', '.join(others)} publishes {self._command_topic} too: expected one controller "
            "of an arm; end the other, or give one of them another namespace or ROS_DOMAIN_ID"
        )

    def _on_silence(self, silence: float) -> None:
        if self._active:
            self._let_down(self._controller.step_blind(silence))

    def _let_down(self, torque: FloatArray | None) -> None:
        """Send a torque that answers no joint state, if there is one."""
        if torque is None or self._command is None:
            return
        # With the stamp of the last state that was answered: a driver that checks stamps has
        # braked by now and ignores it.
        self._send(self._stamp, torque)
        self._requests.faulted(self._controller.fault)
        self.report.let_down(self._stamp, self._command, torque)
        self.report.events.mode(self._controller.mode, self._controller.fault)

    def _send(self, stamp: Time | None, torque: FloatArray) -> None:
        self._torque.fill(stamp, torque)
        self._torque_publisher.publish(self._torque.message)


def _rules(settings: ControlSettings, values: Mapping[str, Any]) -> TrajectoryRules:
    return TrajectoryRules(
        values["trajectory.allow_linear"], values["trajectory.max_points"], settings.tolerances
    )
