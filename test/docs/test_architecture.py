# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The architecture page: what each folder imports, and where each step of a path is."""

import re
from functools import cache

import pytest
from pages import CODE, DOCS, ROOT, tables

PACKAGE = ROOT / "ilr_dynamics"
PAGE = DOCS / "architecture.md"
LIBRARIES = {
    "NumPy": "numpy",
    "SciPy": "scipy",
    "Pinocchio": "pinocchio",
    "MuJoCo": "mujoco",
    "rosbags": "rosbags",
    "Dask": "distributed",
    "rclpy": "rclpy",
    "Matplotlib": "matplotlib",
}
ROWS = {header[0]: [] for header, _ in tables(PAGE)}
for found_header, found_rows in tables(PAGE):
    ROWS[found_header[0]] += [dict(zip(found_header, row, strict=True)) for row in found_rows]
FOLDERS = ROWS["folder"]
STEPS = [row for row in ROWS["step"] if "function" in row]


@cache
def text(path):
    return path.read_text()


def imported(folder):
    """Names of the modules that a folder imports, anywhere in its modules."""
    for path in (PACKAGE / folder).rglob("*.py"):
        yield from re.findall(r"^ *(?:from|import) ([\w.]+)", text(path), re.MULTILINE)


def defined(path):
    """Names of the functions and classes of a module, and of methods with their class's."""
    outer = ""
    for indent, kind, name in re.findall(r"^( *)(class|def) (\w+)", text(path), re.MULTILINE):
        if kind == "class":
            outer = name
        yield f"{outer}.{name}" if indent else name


@pytest.mark.parametrize("row", FOLDERS, ids=lambda row: row["folder"])
def test_a_folder_imports_what_the_page_says(row):
    folder = row["folder"].strip("`/")
    modules = set(imported(folder))
    top = {name.partition(".")[0] for name in modules}
    inside = {name.split(".")[1] for name in modules if name.startswith("ilr_dynamics.")}
    other_folders = {name for name in inside - {folder} if (PACKAGE / name).is_dir()}
    assert set(CODE.findall(row["imports of the package"])) == other_folders
    libraries = {name for name, module in LIBRARIES.items() if module in top}
    assert set(row["other imports"].replace("-", "").split(", ")) - {""} == libraries


def test_every_folder_is_on_the_page():
    assert {row["folder"].strip("`/") for row in FOLDERS} == {
        path.parent.name for path in PACKAGE.glob("*/__init__.py")
    }


@pytest.mark.parametrize("row", STEPS, ids=lambda row: row["function"])
def test_a_step_is_where_the_page_says(row):
    functions = CODE.findall(row["function"])
    paths = [PACKAGE / path for path in CODE.findall(row["where"])]
    names = {name for path in paths for name in defined(path)}
    assert functions
    assert set(functions) <= names


def test_there_are_steps():
    assert len(STEPS) > 30
