# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""From the arguments of a launch to the programs that it starts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from ilr_dynamics.exceptions import InvalidParameterError, RecordingError
from ilr_dynamics.file_access import resolve_allowed
from ilr_dynamics.nodes.parameter_file import read_complete_parameters
from ilr_dynamics.nodes.parameters import RECORDER, VISUALIZER
from ilr_dynamics.nodes.shared.robot_model import DESCRIPTION_TOPIC, RobotModel, read_robot_model

__all__ = ["PACKAGE", "Plan", "Program", "full_namespace", "make_plan", "running"]

PACKAGE = "ilr_dynamics"
_CONTROLLER = "inverse_dynamics"
_SIMULATOR = "wam_simulator"
_RVIZ = "rviz2"
_STATE_PUBLISHER = "robot_state_publisher"
_TRANSFORMS = "tf2_ros"
# Topics of config/wam_tracking.rviz, where they have no namespace.
_SHOWN = (DESCRIPTION_TOPIC, "visualizer/markers")


@dataclass(frozen=True)
class Program:
    """
    Program to start, with one node.

    Attributes
    ----------
    executable : str
    name : str
        Name of its node.
    namespace : str
        Full namespace of its node.
    package : str
        Package that it belongs to.
    files : tuple of Path
        Parameter files; what a later one says goes before.
    parameters : mapping
        Parameters that go before the files.
    remappings : tuple of (str, str)
    arguments : tuple of str
    log_level : str
        Least severity of its log; empty: ROS's own.
    needed : bool
        Whether the launch ends when it ends.
    """

    executable: str
    name: str
    namespace: str
    package: str = PACKAGE
    files: tuple[Path, ...] = ()
    parameters: Mapping[str, str | bool] = field(default_factory=dict)
    remappings: tuple[tuple[str, str], ...] = ()
    arguments: tuple[str, ...] = ()
    log_level: str = ""
    needed: bool = False

    @property
    def node(self) -> str:
        """Full name of its node."""
        return f"{self.namespace.rstrip('/')}/{self.name}"


@dataclass(frozen=True)
class Plan:
    """
    What a launch starts.

    Attributes
    ----------
    programs : tuple of Program
        The controller first.
    announcement : str
        What it is, in a line.
    """

    programs: tuple[Program, ...]
    announcement: str


def full_namespace(*parts: str) -> str:
    """Join parts of a namespace, outermost first, of which an absolute one replaces the former."""
    namespace = ""
    for part in parts:
        namespace = part if part.startswith("/") else f"{namespace}/{part}"
    return "/" + "/".join(filter(None, namespace.split("/")))


def make_plan(
    given: Mapping[str, str], config: Path, installed: Iterable[str], outer_namespace: str = ""
) -> Plan:
    """
    Decide which programs a launch starts, and with what.

    Parameters
    ----------
    given : mapping of str to str
        Value of each argument (`arguments`).
    config : Path
        Folder of the package's parameter files.
    installed : iterable of str
        Packages of ROS that are installed.
    outer_namespace : str
        Namespace of a launch that includes this one.

    Returns
    -------
    Plan

    Raises
    ------
    IlrDynamicsError
        If something that is named is missing or not allowed; nothing has been started then.
    """
    given = {name: os.path.expanduser(value) for name, value in given.items()}
    files = _parameter_files(given, config)
    any_node = Program(
        executable="",
        name="",
        namespace=full_namespace(outer_namespace, given["namespace"]),
        files=files,
        parameters=_chosen(given, "prefix") | _sim_time(given),
        log_level=given["log_level"],
    )
    simulated = given["sim"] == "true"
    chosen = _chosen(given, "controller", "snapshot")
    programs = [_ours(any_node, _CONTROLLER, {"autostart": True, **chosen}, needed=True)]
    if simulated:
        programs.append(_ours(any_node, _SIMULATOR, _lock_step(given), needed=True))
    if given["record"]:
        recorder = _ours(any_node, "recorder", {"uri": given["record"]})
        _check_recording(recorder)
        programs.append(recorder)
    programs += _pictures(given, any_node, config, frozenset(installed))
    if _moves(given):
        trajectory = _chosen(given, "trajectory")
        programs.append(_ours(any_node, "trajectory_publisher", trajectory))
    domain = os.environ.get("ROS_DOMAIN_ID") or "0"
    announcement = (
        f"{files[0].stem}, {'simulated' if simulated else 'real'}: {programs[0].node} in ROS "
        f"domain {domain} (ROS_DOMAIN_ID)"
    )
    return Plan(tuple(programs), announcement)


def running(plan: Plan, nodes: Iterable[str]) -> str:
    """
    Return why a plan must not be started, as others have the names of nodes it needs; or "".

    Parameters
    ----------
    plan : Plan
    nodes : iterable of str
        Full names of nodes that run already.
    """
    taken = sorted({program.node for program in plan.programs if program.needed} & set(nodes))
    if not taken:
        return ""
    return (
        f"there is another {' and '.join(taken)} in this ROS domain: expected none. End the other "
        "launch, or give this one a namespace:= of its own or another ROS_DOMAIN_ID"
    )


def _parameter_files(given: Mapping[str, str], config: Path) -> tuple[Path, ...]:
    """Files in the order in which they are loaded."""
    paths = {"params_file": Path(given["params_file"] or config / f"{given['robot']}.yaml")}
    if given["driver"]:
        known = config / "drivers" / f"{given['driver']}.yaml"
        paths["driver"] = known if known.is_file() else Path(given["driver"])
    for name, path in paths.items():
        if not path.is_file():
            raise InvalidParameterError(f"{name} is {path}: expected an existing parameter file")
    return tuple(path.absolute() for path in paths.values())


def _chosen(given: Mapping[str, str], *names: str) -> dict[str, str | bool]:
    """Return arguments that are not left to the parameter files."""
    return {name: given[name] for name in names if given[name]}


def _sim_time(given: Mapping[str, str]) -> dict[str, str | bool]:
    return {"use_sim_time": True} if given["use_sim_time"] == "true" else {}


def _lock_step(given: Mapping[str, str]) -> dict[str, str | bool]:
    return {"lock_step": given["lock_step"] == "true"} if given["lock_step"] else {}


def _ours(
    any_node: Program, name: str, parameters: Mapping[str, str | bool], *, needed: bool = False
) -> Program:
    return replace(
        any_node,
        executable=f"{name}_node" if name == _CONTROLLER else name,
        name=name,
        parameters={**any_node.parameters, **parameters},
        needed=needed,
    )


def _moves(given: Mapping[str, str]) -> bool:
    """Whether there is something to follow: a real arm moves only when told where to."""
    if given["trajectory"]:
        return given["trajectory"] != "none"
    return given["sim"] == "true"


def _check_recording(recorder: Program) -> None:
    """Refuse a recording that cannot be written, before anything moves."""
    values = read_complete_parameters(recorder.files, recorder.node, RECORDER)
    path = resolve_allowed(str(recorder.parameters["uri"]), values["files.directories"])
    if path.exists():
        raise RecordingError(f"record is {path}, which exists: expected a new folder")
    parent = next(folder for folder in path.parents if folder.exists())
    if not (parent.is_dir() and os.access(parent, os.W_OK)):
        raise RecordingError(
            f"record is {path}: expected a folder that can be written, and {parent} cannot"
        )


def _pictures(
    given: Mapping[str, str], any_node: Program, config: Path, installed: frozenset[str]
) -> list[Program]:
    """Return what shows the arm and all around it."""
    with_rviz = given["rviz"] == "true"
    if with_rviz and _RVIZ not in installed:
        raise InvalidParameterError(
            f"rviz is true, and the package '{_RVIZ}' is not found: expected it to be installed"
        )
    visualizer = _ours(any_node, "visualizer", {})
    programs: list[Program] = []
    # On a real arm another robot_state_publisher may be in charge of its frames.
    if with_rviz and given["sim"] == "true" and _STATE_PUBLISHER in installed:
        model = read_robot_model(any_node.files, any_node.namespace, given["prefix"])
        if model is not None:
            programs.append(_state_publisher(any_node, model, _sim_time(given)))
            visualizer = _ours(any_node, "visualizer", {"arm_markers": False})
    if given["visualizer"] == "true":
        programs.append(visualizer)
    if with_rviz:
        frame = _shown_frame(visualizer)
        has_frames = any(program.name == _STATE_PUBLISHER for program in programs)
        if not has_frames and _TRANSFORMS in installed:
            programs.append(_frame_publisher(any_node, frame))
        programs.append(_rviz(visualizer, config, frame, _sim_time(given)))
    return programs


def _shown_frame(visualizer: Program) -> str:
    """Return the frame of the visualizer's markers."""
    values = read_complete_parameters(visualizer.files, visualizer.node, VISUALIZER)
    return f"{visualizer.parameters.get('prefix', values['prefix'])}{values['frame']}"


def _frame_publisher(any_node: Program, frame: str) -> Program:
    """Return what lets RViz know the frame, which it warns of as long as nothing is in it."""
    return Program(
        executable="static_transform_publisher",
        name="frame_of_markers",
        namespace=any_node.namespace,
        package=_TRANSFORMS,
        arguments=("--frame-id", frame, "--child-frame-id", f"{frame}_of_markers"),
    )


def _state_publisher(
    any_node: Program, model: RobotModel, parameters: Mapping[str, str | bool]
) -> Program:
    """Return what publishes an arm's description and where its links are."""
    return Program(
        executable=_STATE_PUBLISHER,
        name=_STATE_PUBLISHER,
        namespace=any_node.namespace,
        package=_STATE_PUBLISHER,
        parameters={"robot_description": model.urdf, **parameters},
        remappings=(
            ("joint_states", model.state_topic),
            ("robot_description", DESCRIPTION_TOPIC),
        ),
    )


def _rviz(
    visualizer: Program, config: Path, frame: str, parameters: Mapping[str, str | bool]
) -> Program:
    """Return RViz in the frame and with the topics of the visualizer."""
    inside = visualizer.namespace.rstrip("/")
    return Program(
        executable=_RVIZ,
        name="rviz",
        namespace=visualizer.namespace,
        package=_RVIZ,
        parameters=parameters,
        remappings=tuple((f"/{topic}", f"{inside}/{topic}") for topic in _SHOWN if inside),
        arguments=("-d", str(config / "wam_tracking.rviz"), "-f", frame),
    )
