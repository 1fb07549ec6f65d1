# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Node /wam_simulator: simulates the arm and its driver."""

from __future__ import annotations

import time
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rcl_interfaces.msg import SetParametersResult
from rclpy.clock import Clock, ClockType
from rclpy.logging import LoggingSeverity
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.control import joint_order
from ilr_dynamics.exceptions import IlrDynamicsError, InvalidDataError, InvalidParameterError
from ilr_dynamics.nodes.parameter_table import changed, declare, read
from ilr_dynamics.nodes.parameters import WAM_SIMULATOR, joints_in_messages
from ilr_dynamics.nodes.shared import qos
from ilr_dynamics.nodes.shared.event_log import EventLog
from ilr_dynamics.nodes.shared.fast_dds import shared_memory_warning
from ilr_dynamics.nodes.shared.messages import diagnostic_status
from ilr_dynamics.nodes.shared.node_process import StopRequest, limited_end, run_program
from ilr_dynamics.nodes.shared.realtime import (
    PriorityExecutor,
    ScheduledCollector,
    take_realtime_priority,
)
from ilr_dynamics.nodes.shared.rivals import LOOK_PERIOD, RivalWatch, other_arms
from ilr_dynamics.nodes.shared.robot_description import PublishedArm
from ilr_dynamics.nodes.shared.robot_model import load_arm
from ilr_dynamics.robot.driver import DriverEvent, EventKind
from ilr_dynamics.robot.plant import WamPlant
from ilr_dynamics.robot.plant_config import load_plant_config
from ilr_dynamics.robot.simulated_arm import SimulatedArm
from ilr_dynamics.robot.urdf_text import root_link

__all__ = ["WamSimulator", "main"]

# Largest delay that is made up for, s; after a longer one the simulation continues from there.
_LARGEST_LAG = 0.01
# Time after which a joint state is repeated, s: a lost one would stop lock-step for good.
_REPEAT_PERIOD = 0.2
_SAME_TIME = 1e-6


class WamSimulator(Node):
    """
    Node that publishes joint states of the simulated arm and subscribes to its torques.

    The stamps of the joint states count the control cycles since the start of the node, in real
    time and in lock-step, and continue across a reset. Without torques the brakes hold the arm
    and joint states are published at the real-time rate.
    """

    def __init__(self) -> None:
        super().__init__("wam_simulator")
        declare(self, WAM_SIMULATOR)
        self._log = EventLog(self.get_logger())
        self._values = PublishedArm(self).with_file(read(self, WAM_SIMULATOR))
        _check_pace(self._values)
        self._joints = joints_in_messages(self._values)
        self._arm = self._simulated_arm()
        self._start = self.get_clock().now().nanoseconds
        self._answered = False
        self._answers_come = False
        self._due = time.monotonic()
        self._message = JointState(name=list(self._joints))
        self._message.header.frame_id = root_link(self._arm.plant.description)
        self._states = self.create_publisher(JointState, self._values["state.topic"], qos.STATUS)
        self._diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", qos.STATUS)
        self._torques = self._command_subscription()
        self.create_service(Trigger, "~/reset", self._on_reset)
        self.create_timer(self._values["diagnostics.period"], self._publish_diagnostics)
        self.add_on_set_parameters_callback(self._check_parameters)
        self.add_post_set_parameters_callback(self._apply_parameters)
        # The first log line of a process takes 50 ms and must not delay a cycle.
        pace = "lock-step" if self._values["lock_step"] else "real time"
        self._log.info("pace", f"simulating {self._values['robot']} in {pace}")
        if refusal := take_realtime_priority(self._values["realtime_priority"]):
            self._log.warning("realtime priority", refusal)
        if warning := shared_memory_warning():
            self._log.warning("middleware", warning)
        self._rivals = RivalWatch(self._other_arms)
        self._objection = self._rivals.begin()
        clock = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(LOOK_PERIOD, self._yield_to_rivals, clock=clock)

    def run(self, stop: StopRequest) -> None:
        """Simulate until a stop is requested, or raise if another arm is there already."""
        executor = PriorityExecutor(self)
        collector = ScheduledCollector(round(1.0 / self._arm.plant.config.cycle))
        collector.start()
        while not stop:
            if self._objection:
                raise IlrDynamicsError(self._objection)
            self._publish_state()
            collector.cycle_done()
            self._wait(executor, stop)
            self._report(self._arm.advance())
        executor.shutdown()

    def _command_subscription(self) -> Subscription[Any]:
        named = self._values["command.interface"] == "joint_state"
        return self.create_subscription(
            JointState if named else Float64MultiArray,
            self._values["command.topic"],
            self._on_torque if named else self._on_bare_torque,
            # Reliable in lock-step, which waits for each torque.
            qos.COMMAND if self._values["lock_step"] else qos.COMMAND_IN_TIME,
        )

    def _simulated_arm(self) -> SimulatedArm:
        values = self._values
        description = load_arm(values, self.get_logger().warning)
        if len(set(self._joints)) != description.n_joints:
            raise InvalidParameterError(
                f"parameter joints is {list(self._joints)}; expected {description.n_joints} "
                f"different names, as {description.name} has {', '.join(description.joint_names)}"
            )
        config = load_plant_config(values["plant"])
        if values["driver_compensates_gravity"]:
            config = replace(config, driver_compensates_gravity=True)
        plant = WamPlant(description, config, values["seed"])
        return SimulatedArm(plant, values["hold_time"])

    def _publish_state(self) -> None:
        message, measurement = self._message, self._arm.measurement
        nanoseconds = self._start + round(1e9 * self._arm.time)
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(nanoseconds, 10**9)
        message.position = array("d", measurement.position)
        message.velocity = array("d", measurement.velocity)
        message.effort = array("d", measurement.torque)
        self._states.publish(message)

    def _wait(self, executor: PriorityExecutor, stop: StopRequest) -> None:
        """Handle messages until the cycle is over."""
        now = time.monotonic()
        self._due = max(self._due + self._period(), now - _LARGEST_LAG)
        self._answered = False
        waits = self._values["lock_step"] and self._answers_come
        answer_due = now + self._values["answer_timeout"] if waits else now
        repeat_due = now + _REPEAT_PERIOD
        while not stop:
            end = self._due if self._answered else max(self._due, answer_due)
            now = time.monotonic()
            if now >= end:
                # Lock-step waits for one missing answer, not for each one that follows.
                self._answers_come &= self._answered or not waits
                return
            if waits and not self._answered and now >= repeat_due:
                self._states.publish(self._message)
                repeat_due = now + _REPEAT_PERIOD
            executor.spin_once(self._torques, min(end - now, _REPEAT_PERIOD))

    def _period(self) -> float:
        """Shortest real time of a cycle, s."""
        cycle = self._arm.plant.config.cycle
        factor = self._values["real_time_factor"]
        if factor > 0.0:
            return float(cycle / factor)
        return 0.0 if self._answers_come else cycle

    def _on_torque(self, message: JointState) -> None:
        try:
            order = joint_order(message.name, self._joints)
        except InvalidDataError as error:
            self._log.recurring("other joints", f"torque: {error}")
            return
        effort = np.array(message.effort)
        torque = effort[order] if len(effort) == len(order) else effort
        stamp = message.header.stamp
        self._take(1e-9 * (10**9 * stamp.sec + stamp.nanosec - self._start), torque)

    def _on_bare_torque(self, message: Float64MultiArray) -> None:
        # In the order of the joints; without a stamp it counts as the answer to the newest state.
        self._take(self._arm.time, np.array(message.data))

    def _take(self, answered: float, torque: FloatArray) -> None:
        """Pass a torque to the driver, with the time of the joint state that it answers, s."""
        event = self._arm.command(answered, torque)
        self._report(event)
        self._answered |= abs(answered - self._arm.time) < _SAME_TIME
        # A late torque shows that a controller answers, if slowly: wait for the next one.
        self._answers_come |= event is None or event.kind is EventKind.LATE

    def _report(self, event: DriverEvent | None) -> None:
        if event is None:
            return
        braked = event.kind is EventKind.BRAKED
        severity = LoggingSeverity.ERROR if braked else LoggingSeverity.WARN
        self._log.recurring(event.kind.value, event.message, severity)

    def _on_reset(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._arm.reset()
        # Do not wait for an answer, neither in this cycle nor in the next.
        self._answered, self._answers_come = True, False
        response.success = True
        response.message = "the arm is in its start posture, brakes on"
        return response

    def _check_parameters(self, parameters: Sequence[Parameter[Any]]) -> SetParametersResult:
        try:
            _check_pace(changed(self._values, parameters))
        except InvalidParameterError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _apply_parameters(self, parameters: Sequence[Parameter[Any]]) -> None:
        self._values = changed(self._values, parameters)

    def _other_arms(self) -> str:
        """Return an objection to other arms on the topics; or ""."""
        states, command = (
            self.resolve_topic_name(self._values[f"{name}.topic"]) for name in ("state", "command")
        )
        others = other_arms(self, states, command)
        if not others:
            return ""
        return (
            f"{', '.join(others)} is another arm on {states} and {command}: expected one; end the "
            "other, or give one of them another namespace or ROS_DOMAIN_ID"
        )

    def _yield_to_rivals(self) -> None:
        self._objection = self._objection or self._rivals.again()

    def _publish_diagnostics(self) -> None:
        self._log.flush()
        driver = self._arm.driver
        text = "brakes on" if driver.braked else "torque on"
        details = {kind.value: str(driver.counts[kind]) for kind in EventKind}
        details["cycles"] = str(self._arm.cycles)
        details = self._log.counts | details
        status = diagnostic_status(
            self.get_fully_qualified_name(),
            "driver",
            self._arm.plant.description.name,
            (DiagnosticStatus.OK, text),
            details,
        )
        message = DiagnosticArray(status=[status])
        message.header.stamp = self.get_clock().now().to_msg()
        self._diagnostics.publish(message)


def _check_pace(values: Mapping[str, Any]) -> None:
    if values["real_time_factor"] == 0.0 and not values["lock_step"]:
        raise InvalidParameterError(
            "parameter real_time_factor is 0; expected a positive number unless lock_step is set"
        )


def main(args: list[str] | None = None) -> int:
    """Simulate until SIGINT or SIGTERM; 1 if the parameters are not valid."""
    return run_program("wam_simulator", WAM_SIMULATOR, args, _simulate)


def _simulate(stop: StopRequest) -> int:
    simulator = WamSimulator()
    simulator.run(stop)
    with limited_end():
        simulator.destroy_node()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
