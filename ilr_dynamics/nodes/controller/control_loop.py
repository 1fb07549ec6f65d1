# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Control loop of /inverse_dynamics: a torque command for each joint state."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.lifecycle import LifecycleNode
from sensor_msgs.msg import JointState

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.control import Command, TrackingController
from ilr_dynamics.control.feedforward import Predictor
from ilr_dynamics.control.measured_velocity import MeasuredVelocity
from ilr_dynamics.exceptions import InvalidDataError
from ilr_dynamics.nodes.controller.arm_models import ArmModels
from ilr_dynamics.nodes.controller.diagnostics import LoopState
from ilr_dynamics.nodes.controller.external_torque_report import ExternalTorqueReport
from ilr_dynamics.nodes.controller.fit_publisher import FitPublisher
from ilr_dynamics.nodes.controller.joint_state_watch import Publishers, SilenceWatchdog
from ilr_dynamics.nodes.controller.loop_report import LoopReport
from ilr_dynamics.nodes.controller.motion_requests import MotionRequests, TrajectoryRules
from ilr_dynamics.nodes.controller.payload_services import PayloadServices
from ilr_dynamics.nodes.controller.torque_publisher import TorquePublisher
from ilr_dynamics.nodes.settings import ControlSettings
from ilr_dynamics.nodes.shared import qos
from ilr_dynamics.nodes.shared.event_log import EventLog
from ilr_dynamics.nodes.shared.messages import JointStateReader, sender
from ilr_dynamics.nodes.shared.realtime import ScheduledCollector
from ilr_dynamics.nodes.shared.rivals import RivalWatch
from ilr_dynamics.robot.description import RobotDescription
from ilr_dynamics.robot.urdf_text import root_link

__all__ = ["ControlLoop"]

# Time between garbage collections, s.
_COLLECTION_PERIOD = 0.5


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
        self._models = models = ArmModels(settings, values, description)
        self.fit = FitPublisher(node, models.payload.fit, joints, root_link(description), log)
        self._external = ExternalTorqueReport(node, joints, models.rigid_body, log)
        self._external.observer = settings.external_torque_observer(values["rate"])
        self._publishers = Publishers(node, node.resolve_topic_name(values["state.topic"]))
        self._controller = TrackingController(
            settings.limits,
            settings.gains,
            settings.supervision,
            models.feedforward(),
            models.physics,
            period=1.0 / values["rate"],
            feedforward_fade=values["feedforward.fade_time"],
            reference_fade=values["trajectory.fade_time"],
            guidance=models.guidance(),
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
        self._torques = TorquePublisher(
            node, joints, values["command.interface"], values["command.topic"]
        )
        self.rivals = RivalWatch(self._torques.others)
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
            self._models.lacks_learned,
            self._torques.n_subscribers,
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
        self._models.payload.restart()
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
                self._torques.send(stamp, torque)
                time.sleep(1.0 / self._rate)
            # A forward_command_controller would apply its last torque for ever.
            self._torques.send(stamp, np.zeros(len(self._settings.limits.joints)))
            # The process may end next.
            self._torques.wait_until_delivered()
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
        self._torques.destroy()
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
        self._models.apply(settings)
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
        self._models.predictor, self.report.model = predictor, model
        self._external.expected = self._models.expected()
        if self._settings.controller == "ilr":
            self._exchange_feedforward()

    def _exchange_feedforward(self) -> None:
        self._controller.set_feedforward(self._models.feedforward(), self._models.guidance())

    def _connect_payloads(self) -> None:
        self._payloads.connect(
            self._models.payload,
            self._controller,
            self._settings.payload_estimation,
            self._models.rigid_body.description.tool_frame,
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
        self._torques.send(self._stamp, command.torque)
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

    def _on_silence(self, silence: float) -> None:
        if self._active:
            self._let_down(self._controller.step_blind(silence))

    def _let_down(self, torque: FloatArray | None) -> None:
        """Send a torque that answers no joint state, if there is one."""
        if torque is None or self._command is None:
            return
        # With the stamp of the last state that was answered: a driver that checks stamps has
        # braked by now and ignores it.
        self._torques.send(self._stamp, torque)
        self._requests.faulted(self._controller.fault)
        self.report.let_down(self._stamp, self._command, torque)
        self.report.events.mode(self._controller.mode, self._controller.fault)


def _rules(settings: ControlSettings, values: Mapping[str, Any]) -> TrajectoryRules:
    return TrajectoryRules(
        values["trajectory.allow_linear"], values["trajectory.max_points"], settings.tolerances
    )
