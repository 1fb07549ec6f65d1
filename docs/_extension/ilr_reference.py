# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Sphinx extension: ``{generated} TABLE`` puts a table of `reference_tables` into a page."""

from __future__ import annotations

from docutils import nodes
from docutils.statemachine import StringList
from node_interfaces import NODES, endpoints, running_nodes, sentences
from pygments.lexers.special import TextLexer
from reference_tables import benchmark_table, endpoint_table, message_files, parameter_table
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


class Generated(SphinxDirective):
    """One table, by name."""

    required_arguments = 1
    tables: dict[str, str] = {}

    def run(self) -> list[nodes.Node]:
        """Parse the table where the directive stands."""
        wanted = self.arguments[0]
        if wanted not in self.tables:
            raise self.error(f"no table {wanted!r}: expected one of {', '.join(self.tables)}")
        lines = StringList(self.tables[wanted].splitlines(), source=wanted)
        container = nodes.Element()
        self.state.nested_parse(lines, self.content_offset, container, match_titles=True)
        return container.children


def _make_tables(app: Sphinx) -> None:
    """Make all tables once, before any page is read."""
    said = sentences()
    with running_nodes() as running:
        found = {name: endpoints(node) for name, node in running.items()}
    for name, kind in NODES.items():
        Generated.tables[f"{name}.summary"] = kind.summary
        Generated.tables[f"{name}.endpoints"] = endpoint_table(found[name], said[name])
        Generated.tables[f"{name}.parameters"] = parameter_table(name)
    Generated.tables["messages"] = message_files()
    Generated.tables["benchmarks"] = benchmark_table()


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_directive("generated", Generated)
    # GitHub draws these; here their lines are read as they are.
    app.add_lexer("mermaid", TextLexer)
    app.connect("builder-inited", _make_tables)
    return {"parallel_read_safe": False}
