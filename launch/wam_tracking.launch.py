# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Start the simulated arm, the controller, a trajectory and their picture.

    ros2 launch ilr_dynamics wam_tracking.launch.py controller:=ilr snapshot:=/data/wam4.npz

The nodes take their parameters from config/<robot>.yaml, or from params_file, and then from
config/drivers/<driver>.yaml; an argument that is given goes before them.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ament_index_python import has_resource
from ament_index_python.packages import get_package_share_path
from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import DeclareLaunchArgument, OpaqueFunction, RegisterEventHandler
from launch.events.process import ProcessExited
from launch_ros.actions import LifecycleNode, LifecycleTransition, Node
from launch_ros.event_handlers import OnStateTransition
from launch_ros.parameter_descriptions import ParameterValue
from lifecycle_msgs.msg import Transition

from ilr_dynamics.nodes.shared.robot_model import DESCRIPTION_TOPIC, RobotModel, read_robot_model

PACKAGE = "ilr_dynamics"
RSP = "robot_state_publisher"
CONFIG = get_package_share_path(PACKAGE) / "config"
ROBOTS = sorted(path.stem for path in CONFIG.glob("wam*.yaml"))
DRIVERS = sorted(path.stem for path in (CONFIG / "drivers").glob("*.yaml"))
# From where a node comes to be unconfigured by failure; "cleaningup" is asked for.
FAILING = ("configuring", "errorprocessing")
AS_CONFIGURED = "default: as the parameter file says"

ARGUMENTS = (
    DeclareLaunchArgument(
        "robot", default_value="wam4", choices=ROBOTS, description="Arm, by its parameter file."
    ),
    DeclareLaunchArgument(
        "params_file",
        default_value="",
        description="Parameter file to use instead of that of the robot.",
    ),
    DeclareLaunchArgument(
        "driver",
        default_value="",
        description="What differs behind the arm's driver: a parameter file, or one of "
        f"{', '.join(DRIVERS)}, which are for wam7; default: nothing.",
    ),
    DeclareLaunchArgument(
        "sim",
        default_value="true",
        choices=["true", "false"],
        description="Whether the arm is simulated; otherwise its driver has to run.",
    ),
    DeclareLaunchArgument(
        "controller",
        default_value="",
        description=f"Source of the feed-forward: ilr, analytic or pd; {AS_CONFIGURED}.",
    ),
    DeclareLaunchArgument(
        "snapshot", default_value="", description=f"Learned model to load; {AS_CONFIGURED}."
    ),
    DeclareLaunchArgument(
        "trajectory",
        default_value="",
        description="What to follow: train_6 to train_2.6, T1, T2, T3, a .csv or .yaml of "
        f"waypoints, or none; {AS_CONFIGURED} in simulation, none on a real arm.",
    ),
    DeclareLaunchArgument(
        "rviz", default_value="false", choices=["true", "false"], description="Whether RViz opens."
    ),
    DeclareLaunchArgument(
        "record", default_value="", description="New folder to record to; default: no recording."
    ),
)


def generate_launch_description() -> LaunchDescription:
    return LaunchDescription([*ARGUMENTS, OpaqueFunction(function=start)])


def start(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Return everything that the arguments ask for."""
    arguments = {
        argument.name: os.path.expanduser(context.launch_configurations[argument.name])
        for argument in ARGUMENTS
    }
    parameters = parameter_files(arguments)
    # RViz first: launch loses track of what it has started before a package is not found.
    entities: list[LaunchDescriptionEntity] = [rviz()] if arguments["rviz"] == "true" else []
    entities += controller(parameters, arguments)
    entities += picture(parameters, arguments)
    if arguments["sim"] == "true":
        entities.append(ros_node("wam_simulator", parameters, on_exit=fail_without))
    if arguments["record"]:
        recording = {"uri": arguments["record"]}
        entities.append(ros_node("recorder", parameters, recording, on_exit=fail_without))
    if moves(arguments):
        trajectory = {"trajectory": arguments["trajectory"]}
        entities.append(ros_node("trajectory_publisher", parameters, trajectory))
    return entities


def parameter_files(arguments: dict[str, str]) -> list[Path]:
    """Files in the order in which they are loaded: what a later one says goes before."""
    paths = {
        "params_file": Path(arguments["params_file"] or CONFIG / f"{arguments['robot']}.yaml")
    }
    driver = arguments["driver"]
    if driver:
        paths["driver"] = (
            CONFIG / "drivers" / f"{driver}.yaml" if driver in DRIVERS else Path(driver)
        )
    for name, path in paths.items():
        if not path.is_file():
            raise FileNotFoundError(f"{name} is {path}: expected an existing parameter file")
    return [path.absolute() for path in paths.values()]


def moves(arguments: dict[str, str]) -> bool:
    """A real arm moves only when told where to."""
    if arguments["trajectory"]:
        return arguments["trajectory"] != "none"
    return arguments["sim"] == "true"


def controller(parameters: list[Path], arguments: dict[str, str]) -> list[LaunchDescriptionEntity]:
    """Return the node and what configures and activates it."""
    node = ros_node(
        "inverse_dynamics",
        parameters,
        {name: arguments[name] for name in ("controller", "snapshot")},
        action=LifecycleNode,
        executable="inverse_dynamics_node",
        on_exit=fail_without,
    )
    bring_up = LifecycleTransition(
        lifecycle_node_names=["/inverse_dynamics"],
        transition_ids=[Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE],
    )
    return [node, *(when_unconfigured_after(state, node) for state in FAILING), bring_up]


def when_unconfigured_after(state: str, node: LifecycleNode) -> RegisterEventHandler:
    return RegisterEventHandler(
        OnStateTransition(
            target_lifecycle_node=node,
            start_state=state,
            goal_state="unconfigured",
            entities=[OpaqueFunction(function=fail_to_configure)],
        )
    )


def picture(parameters: list[Path], arguments: dict[str, str]) -> list[LaunchDescriptionEntity]:
    """Return what draws the arm and all around it."""
    model = None
    # On a real arm another robot_state_publisher may be in charge of its frames.
    if arguments["rviz"] == arguments["sim"] == "true" and has_resource("packages", RSP):
        model = read_robot_model(parameters)
    if model is None:
        return [ros_node("visualizer", parameters)]
    return [ros_node("visualizer", parameters, {"arm_markers": False}), frames(model)]


def ros_node(
    name: str,
    parameters: list[Path],
    overrides: dict[str, str | bool] | None = None,
    *,
    action: type[Node] = Node,
    executable: str = "",
    **options: Any,
) -> Node:
    """Return a node of this package; overrides that are empty are left to the parameter file."""
    given = {
        key: ParameterValue(value, value_type=type(value))
        for key, value in (overrides or {}).items()
        if value != ""
    }
    return action(
        package=PACKAGE,
        executable=executable or name,
        name=name,
        # Without it, overrides would yield to what the parameter file says of this very node.
        namespace="/",
        parameters=[*parameters, given] if given else parameters,
        output="screen",
        **options,
    )


def rviz() -> Node:
    return Node(
        package="rviz2",
        executable="rviz2",
        arguments=["-d", str(CONFIG / "wam_tracking.rviz")],
    )


def frames(model: RobotModel) -> Node:
    """Return what publishes an arm's description and where its links are."""
    return Node(
        package=RSP,
        executable=RSP,
        namespace="/",
        parameters=[{"robot_description": ParameterValue(model.urdf, value_type=str)}],
        remappings=[
            ("joint_states", model.state_topic),
            ("robot_description", DESCRIPTION_TOPIC),
        ],
    )


# An exception ends the whole launch, with exit code 1.


def fail_without(event: ProcessExited, context: LaunchContext) -> None:
    if not context.is_shutdown:
        raise RuntimeError(
            f"{event.process_name} ended with exit code {event.returncode}: "
            "expected it to run as long as the launch"
        )


def fail_to_configure(context: LaunchContext) -> None:
    raise RuntimeError("/inverse_dynamics could not be configured or activated: its log says why")
