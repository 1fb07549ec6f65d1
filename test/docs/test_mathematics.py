# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The mathematics page names code that exists, for every equation that stands in it."""

import importlib.util
import re
from functools import reduce

import pytest
from pages import CODE, DOCS, ROOT, tables

PAGE = DOCS / "mathematics.md"
REFERENCES = sorted(
    {
        name
        for header, rows in tables(PAGE)
        if header[-1] == "code"
        for row in rows
        for name in CODE.findall(row[-1])
    }
)


def is_module(*parts):
    found = importlib.util.find_spec(".".join(parts))
    return found is not None and found.submodule_search_locations is None


@pytest.mark.parametrize("name", REFERENCES)
def test_code_exists(name):
    other_folders = ("learning.", "robot.", "control.")
    package = name if name.startswith(other_folders) else f"regression.{name}"
    parts = package.split(".")
    # Folders, a file, and what is in it.
    n_folders = next(n for n in range(1, len(parts)) if is_module("ilr_dynamics", *parts[: n + 1]))
    module = importlib.import_module(".".join(["ilr_dynamics", *parts[: n_folders + 1]]))
    names = parts[n_folders + 1 :]
    assert callable(reduce(getattr, names, module))
    assert reduce(getattr, names, module).__module__ == module.__name__


def test_every_section_with_an_equation_says_where_it_is_implemented():
    sections = re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE)
    with_equations = [section for section in sections[1:] if "$$" in section]
    assert len(with_equations) > 6
    for section in with_equations:
        assert "| code |\n" in section, section.splitlines()[0]


def test_functions_in_c_exist():
    named = [
        (CODE.findall(header[-1])[0], function)
        for header, rows in tables(PAGE)
        if header[-1].startswith("in `")
        for row in rows
        for function in CODE.findall(row[-1])
    ]
    assert len(named) > 8
    for path, function in named:
        source = (ROOT / "ilr_dynamics" / "regression" / path).read_text()
        assert re.search(rf"^INLINE [^;=]*\b{function}\(", source, flags=re.MULTILINE), function


def test_there_are_references():
    assert len(REFERENCES) > 40
