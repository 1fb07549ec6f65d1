# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What the nodes of this package have: declared parameters, endpoints as they run."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rclpy
import yaml
from rclpy.lifecycle import LifecycleNode
from rclpy.node import Node

from ilr_dynamics.cli.ros_domain import OwnDomain
from ilr_dynamics.nodes import (
    inverse_dynamics_node,
    parameters,
    recorder,
    trajectory_publisher,
    visualizer,
    wam_simulator,
)
from ilr_dynamics.nodes.parameter_file import read_parameter_file
from ilr_dynamics.nodes.parameter_table import ParameterRow

__all__ = ["NODES", "Endpoint", "NodeKind", "endpoints", "running_nodes", "sentences"]

CONFIG = Path(__file__).parents[2] / "config" / "wam4.yaml"
SENTENCES = Path(__file__).parent / "interfaces.yaml"
ACTION = "/_action/"

# Every node of ROS 2 has these, every lifecycle node the latter too.
STANDARD = {
    "describe_parameters",
    "get_parameter_types",
    "get_parameters",
    "get_type_description",
    "list_parameters",
    "parameter_events",
    "rosout",
    "set_parameters",
    "set_parameters_atomically",
    "change_state",
    "get_available_states",
    "get_available_transitions",
    "get_state",
    "get_transition_graph",
    "transition_event",
}


@dataclass(frozen=True)
class NodeKind:
    """
    A node of this package.

    Attributes
    ----------
    make : type
        Its class.
    parameters : sequence of ParameterRow
        What it declares.
    """

    make: type[Node]
    parameters: Sequence[ParameterRow]

    @property
    def summary(self) -> str:
        """First line of the module's docstring, without the name of the node."""
        text = (inspect.getdoc(inspect.getmodule(self.make)) or "").splitlines()[0]
        text = text.partition(": ")[2] or text
        return text[:1].upper() + text[1:]

    def configured(self, name: str) -> Mapping[str, Any]:
        """Values of config/wam4.yaml."""
        return read_parameter_file(CONFIG, f"/{name}")


NODES = {
    "inverse_dynamics": NodeKind(
        inverse_dynamics_node.InverseDynamicsNode, parameters.INVERSE_DYNAMICS
    ),
    "wam_simulator": NodeKind(wam_simulator.WamSimulator, parameters.WAM_SIMULATOR),
    "recorder": NodeKind(recorder.RecorderNode, parameters.RECORDER),
    "trajectory_publisher": NodeKind(
        trajectory_publisher.TrajectoryPublisher, parameters.TRAJECTORY_PUBLISHER
    ),
    "visualizer": NodeKind(visualizer.Visualizer, parameters.VISUALIZER),
}


@dataclass(frozen=True, order=True)
class Endpoint:
    """
    A topic, service or action of a node.

    Attributes
    ----------
    kind : str
        "in" and "out" for topics, "service", "client" or "action".
    name : str
        Below the node's own name it begins with ``~/``.
    type : str
        As ``package/Name``.
    """

    kind: str
    name: str
    type: str


@contextmanager
def running_nodes() -> Iterator[dict[str, Node]]:
    """Run every node with config/wam4.yaml, configured, in a ROS domain of their own."""
    domain = OwnDomain()
    os.environ.update(domain.environment())
    rclpy.init(args=["--ros-args", "--params-file", str(CONFIG)], domain_id=domain.number)
    nodes: dict[str, Node] = {}
    try:
        for name, kind in NODES.items():
            nodes[name] = node = kind.make()
            if isinstance(node, LifecycleNode):
                node.trigger_configure()
            if isinstance(node, visualizer.Visualizer):
                node.listen()
        yield nodes
    finally:
        for node in nodes.values():
            getattr(node, "close", node.destroy_node)()
        rclpy.shutdown()
        domain.close()


def endpoints(node: Node) -> list[Endpoint]:
    """Return what a running node has beyond what every node has."""
    name, namespace = node.get_name(), node.get_namespace()
    ask = {
        "in": node.get_subscriber_names_and_types_by_node,
        "out": node.get_publisher_names_and_types_by_node,
        "service": node.get_service_names_and_types_by_node,
        "client": node.get_client_names_and_types_by_node,
    }
    found = set()
    for kind, question in ask.items():
        for full_name, types in question(name, namespace):
            if full_name.rpartition("/")[2] in STANDARD:
                continue
            own = full_name.replace(node.get_fully_qualified_name() + "/", "~/")
            found |= {_endpoint(kind, own, type_name) for type_name in types}
    return sorted(endpoint for endpoint in found if endpoint is not None)


def _endpoint(kind: str, name: str, type_name: str) -> Endpoint | None:
    """Return an endpoint; none for all but one of the services and topics that make an action."""
    package, _, short = type_name.split("/")
    if ACTION not in name:
        return Endpoint(kind, name.removeprefix("/"), f"{package}/{short}")
    action = short.removesuffix("_SendGoal")
    if action == short:
        return None
    return Endpoint("action", name.partition(ACTION)[0], f"{package}/{action}")


def sentences() -> dict[str, dict[str, str]]:
    """Return what each endpoint is for, by node and name."""
    return yaml.safe_load(SENTENCES.read_text())
