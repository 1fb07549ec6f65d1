# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Start two simulated arms, /left and /right, each with all that wam_tracking.launch.py starts.

    ros2 launch ilr_dynamics two_arms.launch.py record:=/data/run1

They are alike, so each can learn from the recordings of both.
"""

from __future__ import annotations

from ament_index_python.packages import get_package_share_path
from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import (
    DeclareLaunchArgument,
    GroupAction,
    IncludeLaunchDescription,
    OpaqueFunction,
)
from launch.launch_description_sources import PythonLaunchDescriptionSource

from ilr_dynamics.bringup.arguments import arguments_of_two_arms, of_each_arm

SHARE = get_package_share_path("ilr_dynamics")
ARGUMENTS = arguments_of_two_arms(SHARE / "config")


def generate_launch_description() -> LaunchDescription:
    declared = [DeclareLaunchArgument(**vars(argument)) for argument in ARGUMENTS]
    return LaunchDescription([*declared, OpaqueFunction(function=start)])


def start(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Return both arms, each in a scope of its own: its arguments are not the other's."""
    given = {argument.name: context.launch_configurations[argument.name] for argument in ARGUMENTS}
    one_arm = PythonLaunchDescriptionSource(str(SHARE / "launch" / "wam_tracking.launch.py"))
    return [
        GroupAction([IncludeLaunchDescription(one_arm, launch_arguments=of_arm.items())])
        for of_arm in of_each_arm(given)
    ]
