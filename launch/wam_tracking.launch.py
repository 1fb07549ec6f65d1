# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Start the simulated arm, the controller, a trajectory and their picture.

    ros2 launch ilr_dynamics wam_tracking.launch.py controller:=ilr snapshot:=/data/wam4.npz

The nodes take their parameters from config/<robot>.yaml, or from params_file, and then from
config/drivers/<driver>.yaml; an argument that is given goes before them. What is started with
what, and what is said when a program ends, is decided in ilr_dynamics/bringup.
"""

from __future__ import annotations

import time

from ament_index_python.packages import get_package_share_path, get_packages_with_prefixes
from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import (
    DeclareLaunchArgument,
    EmitEvent,
    LogInfo,
    OpaqueFunction,
    RegisterEventHandler,
)
from launch.event_handlers import OnProcessExit, OnProcessIO, OnProcessStart
from launch.events import Shutdown
from launch.events.process import ProcessExited, ProcessIO, ProcessStarted
from launch.logging import get_logger
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.ros_adapters import get_ros_node

from ilr_dynamics.bringup.arguments import arguments, misspelt
from ilr_dynamics.bringup.plan import PACKAGE, Plan, Program, make_plan, running
from ilr_dynamics.bringup.watch import Watch
from ilr_dynamics.exceptions import IlrDynamicsError

CONFIG = get_package_share_path(PACKAGE) / "config"
ARGUMENTS = arguments(CONFIG)
# Time in which nodes of another launch are mostly found, s; the nodes look themselves, too.
DISCOVERY_TIME = 0.5


def generate_launch_description() -> LaunchDescription:
    declared = [DeclareLaunchArgument(**vars(argument)) for argument in ARGUMENTS]
    return LaunchDescription([*declared, OpaqueFunction(function=start)])


def start(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Return everything that the arguments ask for."""
    configured = context.launch_configurations
    for line in misspelt(configured, ARGUMENTS):
        get_logger("launch").warning(line)
    given = {argument.name: configured[argument.name] for argument in ARGUMENTS}
    outer = configured.get("ros_namespace", "")
    plan = make_plan(given, CONFIG, get_packages_with_prefixes(), outer)
    check_alone(context, plan)
    return [LogInfo(msg=plan.announcement), *Launched(plan).entities()]


def check_alone(context: LaunchContext, plan: Plan) -> None:
    """Refuse to disturb another launch."""
    node = get_ros_node(context)
    deadline = time.monotonic() + DISCOVERY_TIME
    while time.monotonic() < deadline:
        names = node.get_node_names_and_namespaces()
        found = [f"{namespace.rstrip('/')}/{name}" for name, namespace in names]
        if objection := running(plan, found):
            raise IlrDynamicsError(objection)
        time.sleep(0.05)


class Launched:
    """Programs of a plan, as they are watched over (`Watch`)."""

    def __init__(self, plan: Plan) -> None:
        self.watch = Watch(plan.programs)
        self.nodes = {action(program): program.node for program in plan.programs}

    def entities(self) -> list[LaunchDescriptionEntity]:
        """Return the programs and what watches over them."""
        handlers = [
            OnProcessStart(on_start=self.started),
            OnProcessExit(on_exit=self.ended),
            OnProcessIO(on_stdout=self.heard, on_stderr=self.heard),
        ]
        return [*map(RegisterEventHandler, handlers), *self.nodes]

    def heard(self, event: ProcessIO) -> None:
        """Keep the output of a program."""
        self.watch.heard(self.nodes.get(event.action, ""), event.text.decode(errors="replace"))

    def started(self, event: ProcessStarted, context: LaunchContext) -> None:
        """Count any program of the launch."""
        self.watch.started()

    def ended(self, event: ProcessExited, context: LaunchContext) -> list[EmitEvent]:
        """Tell the end of a program, or let it be the end of the launch."""
        node = self.nodes.get(event.action, "")
        line = self.watch.ended(node, event.returncode, asked=context.is_shutdown)
        if line:
            get_logger("launch").warning(line)
        return self.end(context)

    def end(self, context: LaunchContext) -> list[EmitEvent]:
        """After a failure, end everything else, and then the launch."""
        if self.watch.last_line:
            # An exception: its text is the last line, and the exit code 1.
            raise IlrDynamicsError(self.watch.last_line)
        if self.watch.failure and not context.is_shutdown:
            return [EmitEvent(event=Shutdown(reason=self.watch.failure))]
        return []


def action(program: Program) -> Node:
    parameters = {
        name: ParameterValue(value, value_type=type(value))
        for name, value in program.parameters.items()
    }
    logger = program.node.strip("/").replace("/", ".")
    level = ["--log-level", f"{logger}:={program.log_level}"] if program.log_level else []
    return Node(
        package=program.package,
        executable=program.executable,
        name=program.name,
        namespace=program.namespace,
        parameters=[*program.files, *([parameters] if parameters else [])],
        remappings=program.remappings,
        arguments=program.arguments,
        ros_arguments=level,
        output="screen",
    )
