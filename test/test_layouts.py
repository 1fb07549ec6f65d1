# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Layouts of PlotJuggler and Foxglove, and groups of diagnostics, against the real messages."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import yaml

from ilr_dynamics.nodes.controller.diagnostic_groups import FIT, JOINT_STATES, LOOP, MODEL
from ilr_dynamics.nodes.shared.messages import diagnostic_status
from ilr_dynamics_msgs.msg import ControllerState, ModelFit

ROOT = Path(__file__).parents[1]
CONFIG = ROOT / "config"
REPORTS, FITS = "/inverse_dynamics/controller_state", "/inverse_dynamics/model_fit"
N_JOINTS = 4
ELEMENT = re.compile(r"(\w+)(?:\[(\d+)\])?")


def curves_of_plotjuggler(topic: str) -> list[str]:
    root = ElementTree.parse(CONFIG / "plotjuggler.xml").getroot()
    names = [curve.attrib["name"] for curve in root.iter("curve")]
    assert all(name.startswith((f"{REPORTS}/", f"{FITS}/")) for name in names)
    return [name.removeprefix(f"{topic}/") for name in names if name.startswith(f"{topic}/")]


def shown_by_plotjuggler() -> list[str]:
    return curves_of_plotjuggler(REPORTS)


@pytest.fixture(scope="module")
def foxglove() -> dict:
    return json.loads((CONFIG / "foxglove.json").read_text())


def shown_by_foxglove() -> list[str]:
    panels = json.loads((CONFIG / "foxglove.json").read_text())["configById"]
    names = [path["value"] for panel in panels.values() for path in panel.get("paths", [])]
    names += [panel["topicPath"] for panel in panels.values() if "topicPath" in panel]
    assert all(name.startswith(f"{REPORTS}.") for name in names)
    return [name.removeprefix(f"{REPORTS}.") for name in names]


@pytest.mark.parametrize(
    ("kind", "shown", "least"),
    [
        (ControllerState, shown_by_plotjuggler, 15),
        (ControllerState, shown_by_foxglove, 15),
        (ModelFit, lambda: curves_of_plotjuggler(FITS), 12),
    ],
)
def test_every_curve_is_a_field_of_the_message(kind, shown, least):
    kinds = kind.get_fields_and_field_types()
    names = shown()
    assert len(set(names)) > least
    for name in names:
        match = ELEMENT.fullmatch(name)
        assert match, name
        field, index = match.groups()
        assert kinds[field].startswith("sequence<") == (index is not None), name
        assert index is None or int(index) < N_JOINTS, name


@pytest.mark.parametrize("shown", [shown_by_plotjuggler, shown_by_foxglove])
def test_each_joint_has_its_curve(shown):
    names = shown()
    for field in ("position_error", "feedforward_torque", "pd_torque"):
        assert {f"{field}[{k}]" for k in range(N_JOINTS)} <= set(names)
    assert "gate" in names


def test_plotjuggler_subscribes_to_what_it_shows():
    root = ElementTree.parse(CONFIG / "plotjuggler.xml").getroot()
    subscriber = root.find("Plugins/plugin")
    # Without the source, PlotJuggler drops the curves of a layout that is opened before the data.
    assert root.find("previouslyLoaded_Streamer").get("name") == subscriber.get("ID")
    assert subscriber.find("selected_topics").get("value") == f"{REPORTS};{FITS}"


def test_every_split_of_plotjuggler_has_its_parts():
    for split in ElementTree.parse(CONFIG / "plotjuggler.xml").getroot().iter("DockSplitter"):
        assert int(split.get("count")) == len(split) == len(split.get("sizes").split(";"))


def test_every_panel_of_foxglove_has_its_place(foxglove):
    def panels(node) -> list[str]:
        if isinstance(node, str):
            return [node]
        return panels(node["first"]) + panels(node["second"])

    assert sorted(panels(foxglove["layout"])) == sorted(foxglove["configById"])


def test_every_plot_of_foxglove_has_a_title(foxglove):
    # The only key that Foxglove shows as one; others are kept and ignored.
    plots = [panel for panel in foxglove["configById"].values() if "paths" in panel]
    assert all(panel["foxglovePanelTitle"] for panel in plots)


def test_what_foxglove_shows_beside_curves_is_published(foxglove):
    # Names and types are those of docs/reference.md, which a test holds against running nodes.
    sentences = yaml.safe_load((ROOT / "docs" / "_extension" / "interfaces.yaml").read_text())
    topics = foxglove["configById"]["3D!arm"]["topics"]
    published = {f"/visualizer/{name[2:]}" for name in sentences["visualizer"] if name[0] == "~"}
    assert set(topics) <= published
    assert foxglove["configById"]["DiagnosticSummary!all"]["topicToRender"] == "/diagnostics"


@pytest.mark.parametrize("namespace", ["", "/left"])
def test_every_status_has_one_group(namespace):
    (parameters,) = yaml.safe_load((CONFIG / "diagnostics.yaml").read_text()).values()
    analyzers = [value for value in parameters["ros__parameters"].values() if type(value) is dict]
    groups = {"inverse_dynamics": (LOOP, JOINT_STATES, MODEL, FIT), "wam_simulator": ("driver",)}
    for node, parts in groups.items():
        for part in parts:
            name = diagnostic_status(f"{namespace}/{node}", part, "", (b"\0", ""), {}).name
            found = [one for one in analyzers if any(text in name for text in one["contains"])]
            assert len(found) == 1, name


def test_the_readme_names_them():
    text = (ROOT / "README.md").read_text()
    for name in ("plotjuggler.xml", "foxglove.json", "diagnostics.yaml"):
        assert f"config/{name}" in text
