# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Imports inside the package go one way: from layer to layer, and from module to module."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "ilr_dynamics"

# Parts of a folder by layer, each of which may import those of its own layer and of those before.
# What no layer names, the modules beside the folders, is the last layer of `regression` and the
# first of the package.
LAYERS = [
    {"regression"},
    {"robot"},
    {"recording"},
    {"control"},
    # Recordings are judged by the settings they are learned with, and inspected before learning.
    {"inspection", "learning"},
    {"planning"},
    {"nodes"},
    {"bringup"},
    {"cli"},
]
LAYERS_OF_REGRESSION = [
    {"shared"},
    {"families"},
    {"units"},
    {"mixture"},
    {"prediction"},
    {"inference"},
    {"files"},
]


def module_name(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in PACKAGE.rglob("*.py")}


def imports(path):
    """Names of what a module imports, anywhere in it; a module's own name where one is meant."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if full in MODULES else str(node.module)


IMPORTS = {name: set(imports(path)) for name, path in MODULES.items()}


def layer(name, layers, others):
    """Number of the layer of a part of a folder; that of what no layer names is `others`."""
    return next((number for number, parts in enumerate(layers) if name in parts), others)


@pytest.mark.parametrize(
    ("folder", "layers", "others"),
    [
        ("ilr_dynamics", LAYERS, -1),
        ("ilr_dynamics.regression", LAYERS_OF_REGRESSION, len(LAYERS_OF_REGRESSION)),
    ],
    ids=["package", "regression"],
)
def test_each_layer_imports_only_those_before_it(folder, layers, others):
    inside = f"{folder}."
    upward = [
        (name, imported)
        for name, all_imported in IMPORTS.items()
        for imported in all_imported
        if name.startswith(inside)
        and imported.startswith(inside)
        and layer(imported.removeprefix(inside).partition(".")[0], layers, others)
        > layer(name.removeprefix(inside).partition(".")[0], layers, others)
    ]
    assert upward == []


@pytest.mark.parametrize(
    ("folder", "layers"), [(PACKAGE, LAYERS), (PACKAGE / "regression", LAYERS_OF_REGRESSION)]
)
def test_every_folder_has_a_layer(folder, layers):
    folders = {path.parent.name for path in folder.glob("*/__init__.py")}
    assert folders == set().union(*layers)


def test_no_modules_import_in_a_circle():
    graph = {name: imported & MODULES.keys() for name, imported in IMPORTS.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


def test_nothing_before_the_nodes_imports_ros():
    ros = {"rclpy", "ilr_dynamics_msgs", "launch", "launch_ros"}
    found = {
        name
        for name, imported in IMPORTS.items()
        if not name.startswith(("ilr_dynamics.nodes", "ilr_dynamics.cli"))
        and ros & {other.partition(".")[0] for other in imported}
    }
    assert found == set()
