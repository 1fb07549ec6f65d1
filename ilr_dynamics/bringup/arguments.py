# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Arguments of the launch files, as ``ros2 launch ... --show-args`` shows them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

__all__ = ["Argument", "arguments", "arguments_of_two_arms", "misspelt", "of_each_arm"]

_YES_NO = ("true", "false")
_AS_CONFIGURED = "by default as the parameter file says"
# Likeness of a name from which on it is taken for a misspelt argument: above that of
# ros_namespace and namespace, below that of controler and controller.
_ALIKE = 0.85

_ARMS = ("left", "right")
# Arguments of two_arms.launch.py that both arms get as they are.
_OF_BOTH = ("robot", "params_file", "controller", "trajectory", "lock_step", "log_level")
_PICTURES = ("visualizer", "rviz")


@dataclass(frozen=True)
class Argument:
    """
    Argument of a launch file; the fields are those of launch's ``DeclareLaunchArgument``.

    Attributes
    ----------
    name : str
    default_value : str
    description : str
    choices : tuple of str or None
        What it may be; None: anything.
    """

    name: str
    default_value: str
    description: str
    choices: tuple[str, ...] | None = None


def arguments(config: Path) -> tuple[Argument, ...]:
    """
    Return the arguments of wam_tracking.launch.py.

    Parameters
    ----------
    config : Path
        Folder of parameter files, with those of drivers in the folder ``drivers``.
    """
    robots = tuple(sorted(path.stem for path in config.glob("wam*.yaml")))
    drivers = ", ".join(sorted(path.stem for path in (config / "drivers").glob("*.yaml")))
    return (
        Argument("robot", "wam4", "Arm, by its parameter file in the package.", robots),
        Argument("params_file", "", "Parameter file to use instead of that of the robot."),
        Argument(
            "driver",
            "",
            f"What differs behind the arm's driver: one of {drivers}, which are for wam7, or a "
            "parameter file; by default nothing.",
        ),
        Argument(
            "sim", "true", "Whether the arm is simulated; if not, its driver has to run.", _YES_NO
        ),
        Argument("namespace", "", "Namespace of all nodes and topics, such as left."),
        Argument(
            "prefix",
            "",
            "What the names of joints and frames begin with, such as left_; "
            f"{_AS_CONFIGURED}, nothing.",
        ),
        Argument(
            "controller", "", f"Source of the feed-forward: ilr, analytic or pd; {_AS_CONFIGURED}."
        ),
        Argument(
            "snapshot",
            "",
            f"Learned model, which is loaded before the controller gets active; {_AS_CONFIGURED}.",
        ),
        Argument(
            "trajectory",
            "",
            "What to follow: train_6 to train_2.6, T1, T2, T3, a .csv or .yaml of waypoints, or "
            f"none; {_AS_CONFIGURED} in simulation, and none on a real arm.",
        ),
        Argument("record", "", "New folder to record to; by default there is no recording."),
        Argument("rviz", "false", "Whether RViz opens.", _YES_NO),
        Argument("visualizer", "true", "Whether markers for RViz are published.", _YES_NO),
        Argument(
            "lock_step",
            "",
            "Whether the simulation waits for each torque, for machines that are busy or slow; "
            f"{_AS_CONFIGURED}.",
            ("", *_YES_NO),
        ),
        Argument(
            "use_sim_time",
            "false",
            "Whether all nodes go by /clock, of another simulator than that of this package.",
            _YES_NO,
        ),
        Argument(
            "log_level",
            "info",
            "Least severity of the lines that this package's nodes log.",
            ("debug", "info", "warn", "error", "fatal"),
        ),
    )


def arguments_of_two_arms(config: Path) -> tuple[Argument, ...]:
    """Return the arguments of two_arms.launch.py; `config` is that of `arguments`."""
    record = Argument(
        "record", "", "New folders to record to begin so: /data/run1 is /data/run1_left and so on."
    )
    known = [one for one in arguments(config) if one.name in (*_OF_BOTH, *_PICTURES)]
    return (*known, record)


def of_each_arm(given: Mapping[str, str]) -> list[dict[str, str]]:
    """
    Return the arguments of wam_tracking.launch.py for each of two arms.

    Parameters
    ----------
    given : mapping of str to str
        Value of each of the arguments of both (`arguments_of_two_arms`).
    """
    shared = {name: given[name] for name in (*_OF_BOTH, *_PICTURES)}
    return [
        {
            **shared,
            "namespace": side,
            "prefix": f"{side}_",
            "record": given["record"] and f"{given['record']}_{side}",
        }
        for side in _ARMS
    ]


def misspelt(given: Iterable[str], known: Sequence[Argument]) -> list[str]:
    """
    Return a line about each name that is nearly that of an argument, as launch ignores it.

    Parameters
    ----------
    given : iterable of str
        Names of what the launch was given, or another launch that includes it has.
    known : sequence of Argument
    """
    names = [argument.name for argument in known]
    nearest = {name: get_close_matches(name, names, 1, _ALIKE) for name in given}
    return [
        f"there is no argument {name}, so it is ignored: expected {found[0]}"
        for name, found in nearest.items()
        if found and name not in names
    ]
