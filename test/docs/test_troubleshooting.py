# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The texts by which the troubleshooting page finds a cause are those that the code says."""

import ast
import re
from collections.abc import Iterator

import pytest
from pages import CODE, DOCS, ROOT, tables

QUOTES = [
    quote
    for header, rows in tables(DOCS / "troubleshooting.md")
    if "it says" in header
    for row in rows
    for quote in CODE.findall(row[header.index("it says")])
]


def _texts(node: ast.AST) -> Iterator[str]:
    """Every text of a module, with "…" for what is put in."""
    if isinstance(node, ast.JoinedStr):
        yield "".join(
            str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values
        )
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    for child in ast.iter_child_nodes(node):
        yield from _texts(child)


@pytest.fixture(scope="module")
def said():
    """All that the package and the set-up may say, a line each."""
    texts = [
        text
        for path in (ROOT / "ilr_dynamics").rglob("*.py")
        for text in _texts(ast.parse(path.read_text()))
    ]
    shell = [(ROOT / "tools" / name).read_text() for name in ("setup", "log_errors", "run")]
    return "\n".join([*texts, *(re.sub(r"\$\w+|\$\{[^}]*\}", "…", script) for script in shell)])


@pytest.mark.parametrize("quote", QUOTES)
def test_text_is_said_by_the_code(quote, said):
    # What varies may hold what the code puts in, or further words of its own.
    pattern = "[^\n]*".join(re.escape(part) for part in quote.split("…"))
    assert re.search(pattern, said), f"nothing in the package says {quote!r}"


def test_there_are_quotes():
    assert len(QUOTES) > 40
