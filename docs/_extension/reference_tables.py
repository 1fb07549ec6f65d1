# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The tables of the reference as Markdown, made from what the code declares; pages with them."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from node_interfaces import NODES, Endpoint, sentences

from ilr_dynamics.nodes.parameter_table import ParameterRow

__all__ = [
    "all_tables",
    "benchmark_table",
    "endpoint_table",
    "filled",
    "message_files",
    "parameter_table",
]

ROOT = Path(__file__).parents[2]
KINDS = {"client": "calls"}
PLACE = re.compile(r"(?<=<!-- generated )(\S+) -->\n.*?(?=<!-- end -->)", re.DOTALL)


def all_tables(found: Mapping[str, Sequence[Endpoint]]) -> dict[str, str]:
    """Return every table by name, with the endpoints of the running nodes."""
    said = sentences()
    tables = {"messages": message_files(), "benchmarks": benchmark_table()}
    for name, kind in NODES.items():
        tables[f"{name}.summary"] = kind.summary
        tables[f"{name}.endpoints"] = endpoint_table(found[name], said[name])
        tables[f"{name}.parameters"] = parameter_table(name)
    return tables


def filled(page: str, tables: Mapping[str, str]) -> str:
    """Return a page with the tables of now at ``<!-- generated NAME --> <!-- end -->``."""
    return PLACE.sub(lambda place: f"{place[1]} -->\n\n{tables[place[1]].rstrip()}\n\n", page)


def parameter_table(node: str) -> str:
    """Return the parameters of a node, by its name."""
    kind = NODES[node]
    configured = kind.configured(node)
    rows = [
        (
            f"`{row.name}`",
            _default(row, configured.get(row.name)),
            _range(row),
            ("*Fixed.* " if row.read_only else "") + row.description,
        )
        for row in kind.parameters
    ]
    return _table(("parameter", "default", "values", "meaning"), rows)


def endpoint_table(endpoints: Sequence[Endpoint], sentences: dict[str, str]) -> str:
    """Return the topics, services and actions of a node; each needs a sentence."""
    order = list(sentences)
    rows = [
        (KINDS.get(end.kind, end.kind), f"`{end.name}`", f"`{end.type}`", sentences[end.name])
        for end in sorted(endpoints, key=lambda end: order.index(end.name))
    ]
    return _table(("", "name", "type", "meaning"), rows)


def message_files() -> str:
    """Return all files of the message package, which explain themselves."""
    folder = ROOT / "ilr_dynamics_msgs"
    files = [
        path for kind in ("msg", "srv", "action") for path in sorted(folder.glob(f"{kind}/*"))
    ]
    return "\n".join(
        f"### {path.relative_to(ROOT)}\n\n```text\n{path.read_text().rstrip()}\n```\n"
        for path in files
    )


def benchmark_table() -> str:
    """Return the benchmarks with what their docstrings say first."""
    rows = [
        (f"`make bench NAME={path.stem}`", _first_paragraph(path))
        for path in sorted((ROOT / "benchmarks").glob("[!_]*.py"))
    ]
    return _table(("command", "what it measures"), rows)


def _first_paragraph(path: Path) -> str:
    docstring = ast.get_docstring(ast.parse(path.read_text())) or ""
    return " ".join(docstring.partition("\n\n")[0].split())


def _default(row: ParameterRow, configured: Any) -> str:
    if row.default is None:
        return f"none; {_value(configured)}"
    return _value(row.default)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        value = str(value).lower()
    elif isinstance(value, (list, tuple)):
        value = "[" + ", ".join(str(entry) for entry in value) + "]"
    elif value == "":
        value = '""'
    return f"`{value}`"


def _range(row: ParameterRow) -> str:
    if row.choices:
        return ", ".join(_value(choice) for choice in row.choices)
    if row.within is None:
        return row.unit
    low, high = row.within
    return f"{low:.10g} {f'to {high:.10g}' if math.isfinite(high) else 'and more'} {row.unit}"


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |" for line in lines
    )
