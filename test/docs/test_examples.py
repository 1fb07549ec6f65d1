# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Examples of the pages: Python runs, commands name what there is."""

import doctest
import importlib
import re
import shlex

import numpy as np
import pytest
import yaml
from node_interfaces import NODES
from pages import CODE, DOCS, PAGES, ROOT, blocks, tables

from ilr_dynamics.bringup.arguments import arguments, arguments_of_two_arms
from ilr_dynamics.cli import evaluate, report, train

ROS_WORDS = ("ros2", "make", "tools/run", "colcon")
COMMANDS = [
    (page.name, line)
    for page in PAGES
    for block in blocks(page, "sh")
    for line in block.splitlines()
    if line.startswith(ROS_WORDS)
]
CONFIG = ROOT / "config"
LAUNCH_ARGUMENTS = {
    "wam_tracking.launch.py": {argument.name for argument in arguments(CONFIG)},
    "two_arms.launch.py": {argument.name for argument in arguments_of_two_arms(CONFIG)},
}


def _commands(*beginning):
    """Words of every command that begins so, with its page."""
    words = [(page, shlex.split(line, comments=True)) for page, line in COMMANDS]
    return [
        pytest.param(found, id=f"{page}: {' '.join(found[2:5])}")
        for page, found in words
        if tuple(found[: len(beginning)]) == beginning
    ]


def _parameters(node):
    return {row.name for row in NODES[node].parameters}


def test_python_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    results = doctest.testfile(str(DOCS / "python.md"), module_relative=False)
    assert results.attempted > 15
    assert results.failed == 0


def test_python_of_the_readme(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    draw = np.random.default_rng(0)
    X, X_new, X_more = draw.normal(size=(3, 60, 2))
    values = {"X": X, "Y": X.sum(axis=1, keepdims=True), "X_new": X_new}
    values |= {"X_more": X_more, "Y_more": X_more.sum(axis=1, keepdims=True)}
    (example,) = blocks(ROOT / "README.md", "python")
    exec(example.replace("n_components=300", "n_components=10"), values)
    assert (values["lower"] < values["upper"]).all()
    assert (tmp_path / "model.npz").is_file()


@pytest.mark.parametrize("words", _commands("ros2", "service", "call"))
def test_service_exists_and_takes_what_it_is_given(words, running):
    name, kind = words[3], words[4]
    node, service = name.strip("/").split("/")[-2:]
    short = kind.replace("/srv/", "/")
    assert ("service", f"~/{service}", short) in {
        (end.kind, end.name, end.type) for end in running[node][1]
    }
    package, _, type_name = short.partition("/")
    request = getattr(importlib.import_module(f"{package}.srv"), type_name).Request
    request(**(yaml.safe_load(words[5]) if len(words) > 5 else {}))


@pytest.mark.parametrize("words", _commands("ros2", "action"))
def test_action_exists_and_takes_what_it_is_given(words, running):
    assert words[2] in ("info", "send_goal")
    words = [word for word in words if not word.startswith("-")]
    node, action = words[3].strip("/").split("/")
    types = {end.name: end.type for end in running[node][1] if end.kind == "action"}
    package, _, name = types[f"~/{action}"].partition("/")
    if len(words) > 4:
        assert words[4] == f"{package}/action/{name}"
        goal = getattr(importlib.import_module(f"{package}.action"), name).Goal()
        fill(goal, yaml.safe_load(words[5]))


def fill(message, values):
    """Set the fields of a message, as `ros2 action send_goal` does."""
    kinds = message.get_fields_and_field_types()
    for name, value in values.items():
        kind = kinds[name].removeprefix("sequence<").removesuffix(">")
        package, _, short = kind.partition("/")
        if short:
            make = getattr(importlib.import_module(f"{package}.msg"), short)
            several = isinstance(value, list)
            value = [fill(make(), one) for one in value] if several else fill(make(), value)
        setattr(message, name, value)
    return message


@pytest.mark.parametrize("words", _commands("ros2", "param", "set"))
def test_parameter_exists_and_may_be_changed(words):
    (row,) = (row for row in NODES[words[3].strip("/")].parameters if row.name == words[4])
    assert not row.read_only
    assert not row.choices or words[5] in row.choices


@pytest.mark.parametrize("words", _commands("ros2", "launch"))
def test_launch_takes_the_arguments(words):
    assert words[2] == "ilr_dynamics"
    given = {word.partition(":=")[0] for word in words[4:] if ":=" in word}
    assert given <= LAUNCH_ARGUMENTS[words[3]]


def test_launch_files_are_those_there_are():
    assert LAUNCH_ARGUMENTS.keys() == {file.name for file in (ROOT / "launch").glob("*.py")}


@pytest.mark.parametrize("words", _commands("ros2", "run"))
def test_node_takes_the_parameters(words):
    given = {word.partition(":=")[0] for word in words if ":=" in word}
    set_parameters = {name for name in given if not name.startswith("__")}
    assert words[2] == "ilr_dynamics"
    if words[3] in NODES:
        assert set_parameters <= _parameters(words[3])
    else:
        assert f'"{words[3]}": "cli.' in (ROOT / "setup.py").read_text()
        assert not set_parameters


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "QUALITY_DECLARATION.md"])
def test_links_lead_to_files(name):
    # Those between the pages of docs/ are checked when they are built.
    links = re.findall(r"\]\(([^)#:]+)\)", (ROOT / name).read_text())
    assert [link for link in links if not (ROOT / link).exists()] == []


@pytest.mark.parametrize("words", _commands("make"))
def test_make_has_the_target(words):
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert [word for word in words[1:] if "=" not in word and word not in targets] == []


def test_table_of_launch_arguments_is_complete():
    (rows,) = (rows for header, rows in tables(DOCS / "first_run.md") if header[0] == "argument")
    assert {CODE.findall(row[0])[0] for row in rows} == LAUNCH_ARGUMENTS["wam_tracking.launch.py"]


def test_recording_is_learned_and_judged_as_the_page_says(bag, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    quick = {"train": ["--components", "8"], "evaluate": [], "report": []}
    given = {words.values[0][1]: words.values[0][2:] for words in _commands("tools/run")}
    for name, program in (("train", train), ("evaluate", evaluate), ("report", report)):
        arguments = [str(bag) if word == "BAG" else word for word in given[name]]
        assert program.main([*arguments, *quick[name]]) == 0
    assert (tmp_path / "report.html").is_file()
