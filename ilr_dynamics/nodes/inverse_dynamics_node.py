# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Lifecycle node /inverse_dynamics: tracks joint trajectories with a learned feed-forward."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import rclpy
from rcl_interfaces.msg import SetParametersResult
from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.parameter import Parameter
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState

from ilr_dynamics.exceptions import IlrDynamicsError
from ilr_dynamics.learning.process import CHRT
from ilr_dynamics.nodes.controller.control_loop import ControlLoop
from ilr_dynamics.nodes.controller.diagnostics_publisher import DiagnosticsPublisher
from ilr_dynamics.nodes.controller.follow_joint_trajectory import FollowJointTrajectoryServer
from ilr_dynamics.nodes.controller.motion_requests import MotionRequests
from ilr_dynamics.nodes.controller.payload_services import PayloadServices
from ilr_dynamics.nodes.learner.model_services import ModelServices
from ilr_dynamics.nodes.parameter_table import changed, declare, read
from ilr_dynamics.nodes.parameters import INVERSE_DYNAMICS
from ilr_dynamics.nodes.settings import (
    ControlSettings,
    learner_limits,
    learning_settings,
    snapshot_folder,
)
from ilr_dynamics.nodes.shared.event_log import EventLog
from ilr_dynamics.nodes.shared.fast_dds import shared_memory_warning
from ilr_dynamics.nodes.shared.node_process import StopRequest, limited_end, start_ros
from ilr_dynamics.nodes.shared.realtime import PriorityExecutor, take_realtime_priority
from ilr_dynamics.nodes.shared.rivals import LOOK_PERIOD
from ilr_dynamics.nodes.shared.robot_description import PublishedArm
from ilr_dynamics.nodes.shared.robot_model import load_arm
from ilr_dynamics.robot.description import RobotDescription

__all__ = ["InverseDynamicsNode", "main"]

# Longest time until a signal is handled, s.
SPIN_PERIOD = 0.1


class InverseDynamicsNode(LifecycleNode):
    """
    Life cycle of the control loop and of the model's services.

    Attributes
    ----------
    failed : bool
        Whether the node was to get active by itself, and could not or must not.
    """

    def __init__(self) -> None:
        super().__init__("inverse_dynamics")
        declare(self, INVERSE_DYNAMICS)
        self._arm = PublishedArm(self)
        self._description: RobotDescription | None = None
        self._loop: ControlLoop | None = None
        self._autostart = self.get_parameter("autostart").value
        self.failed = False
        self._log = EventLog(self.get_logger())
        self._models = ModelServices(self, self._log)
        self._requests = MotionRequests(self, self._log)
        self._payloads = PayloadServices(self, self._log)
        self._goals = FollowJointTrajectoryServer(self, self._requests, self._log)
        self._diagnostics = DiagnosticsPublisher(
            self,
            self._log,
            loop=lambda: self._loop,
            robot=lambda: self._description.name if self._description else "",
            learner=lambda: self._models.status,
        )
        # By a steady clock, as it matters most when simulated time stands still.
        clock = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(LOOK_PERIOD, self._yield_to_rivals, clock=clock)
        self.add_on_set_parameters_callback(self._check_parameters)
        self.add_post_set_parameters_callback(self._apply_parameters)
        if warning := shared_memory_warning():
            self._log.warning("middleware", warning)
        if not self._autostart:
            self._log.info("life cycle", "waiting to be configured and activated")

    @property
    def joint_states(self) -> Subscription[JointState] | None:
        """Subscription of the control loop; None before configuration."""
        return None if self._loop is None else self._loop.joint_states

    def do_part(self) -> None:
        """Do a part of what can wait for everything else."""
        self._diagnostics.do_part()

    def start(self) -> None:
        """Get active, if the node is to do so by itself."""
        for trigger in (self.trigger_configure, self.trigger_activate):
            if self._autostart and not self.failed:
                self.failed = trigger() is not TransitionCallbackReturn.SUCCESS

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Check the parameters and build the control loop and the services."""
        try:
            self._arm.forget()
            values = self._values()
            self._description = load_arm(values, self._warn_of_arm)
            settings = ControlSettings.from_values(values, self._description)
            self._loop = ControlLoop(
                self,
                values,
                settings,
                self._description,
                self._requests,
                self._payloads,
                self._log,
            )
            self._configure_models(values)
            if values["snapshot"]:
                self._models.load(values["snapshot"])
        except IlrDynamicsError as error:
            self._log.error("configure", f"not configured: {error}")
            self._tear_down()
            return TransitionCallbackReturn.FAILURE
        text = f"configured for {self._description.name}, {values['controller']}"
        self._log.info("configured", text)
        return super().on_configure(state)

    def _warn_of_arm(self, text: str) -> None:
        # Each text is its own kind of event, so that none is throttled.
        self._log.warning(text, text)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Start to send torque."""
        assert self._loop is not None
        if objection := self._loop.rivals.begin():
            self._log.error("activate", f"not activated: {objection}")
            return TransitionCallbackReturn.FAILURE
        answer = super().on_activate(state)
        self._loop.activate()
        priority = self.get_parameter("realtime_priority").value
        # Without chrt a learner could give it back only when its Python has started.
        refusal = take_realtime_priority(priority, inherited=CHRT is not None)
        if refusal:
            self._log.warning("realtime priority", refusal)
        return answer

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Bring the torque to zero, then send none."""
        assert self._loop is not None
        self._loop.deactivate()
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Discard everything except the parameters."""
        self._tear_down()
        return super().on_cleanup(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Bring the torque to zero and end the learner."""
        self._tear_down()
        return super().on_shutdown(state)

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Bring the torque to zero, end the learner and return to the unconfigured state."""
        self._tear_down()
        self.failed = self._autostart
        return TransitionCallbackReturn.SUCCESS

    def close(self) -> None:
        """Bring the torque to zero and end the learner, in any state."""
        self._tear_down()
        self._models.close()
        self._goals.close()
        self.destroy_node()

    def _configure_models(self, values: dict[str, Any]) -> None:
        assert self._loop is not None
        self._models.configure(
            learning_settings(values, self.get_namespace()),
            snapshot_folder(values),
            learner_limits(values),
            self._loop.set_predictor,
        )

    def _tear_down(self) -> None:
        self._models.unconfigure()
        if self._loop is not None:
            self._loop.destroy()
            self._loop = None

    def _check_parameters(self, parameters: Sequence[Parameter[Any]]) -> SetParametersResult:
        if self._loop is None or self._description is None:
            return SetParametersResult(successful=True)
        try:
            values = self._values(parameters)
            ControlSettings.from_values(values, self._description)
            learning_settings(values)
        except IlrDynamicsError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _apply_parameters(self, parameters: Sequence[Parameter[Any]]) -> None:
        if self._loop is None or self._description is None:
            return
        values = self._values(parameters)
        self._loop.apply(ControlSettings.from_values(values, self._description), values)
        self._configure_models(values)

    def _values(self, parameters: Sequence[Parameter[Any]] = ()) -> dict[str, Any]:
        """Values of all parameters, with changes that are asked for."""
        return self._arm.with_file(changed(read(self, INVERSE_DYNAMICS), parameters))

    def _yield_to_rivals(self) -> None:
        if self._loop is None or not self._loop.state.active:
            return
        if objection := self._loop.rivals.again():
            self._log.error("activate", f"deactivated: {objection}")
            self.trigger_deactivate()
            self.failed = self._autostart


def main(args: list[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM, then end with zero torque; 1 if that was before."""
    if not start_ros("inverse_dynamics", INVERSE_DYNAMICS, args):
        return 1
    stop = StopRequest()
    try:
        node = InverseDynamicsNode()
    except IlrDynamicsError as error:
        rclpy.logging.get_logger("inverse_dynamics").error(f"not started: {error}")
        rclpy.shutdown()
        return 1
    executor = PriorityExecutor(node, node.do_part)
    try:
        node.start()
        while not (stop or node.failed):
            executor.spin_once(node.joint_states, SPIN_PERIOD)
    finally:
        with limited_end():
            node.close()
        executor.shutdown()
        rclpy.shutdown()
    return int(node.failed)


if __name__ == "__main__":
    raise SystemExit(main())
