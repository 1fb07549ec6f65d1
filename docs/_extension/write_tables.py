# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Write the tables that are made from the code into the pages that have them."""

from __future__ import annotations

from pathlib import Path

from node_interfaces import endpoints, running_nodes
from reference_tables import all_tables, filled

__all__ = ["GENERATED", "main"]

DOCS = Path(__file__).parents[1]
GENERATED = (DOCS / "reference.md", DOCS / "benchmarks.md")


def main() -> None:
    """Rewrite the pages whose tables have changed."""
    # Without it the node has one action less.
    import control_msgs.action  # noqa: F401

    with running_nodes() as nodes:
        tables = all_tables({name: endpoints(node) for name, node in nodes.items()})
    for page in GENERATED:
        before = page.read_text()
        after = filled(before, tables)
        if after != before:
            page.write_text(after)


if __name__ == "__main__":
    main()
