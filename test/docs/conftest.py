# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The pages of the documentation and what makes their tables."""

import sys
from pathlib import Path

import pytest

# Test folders are no packages (--import-mode=importlib): shared modules are found by their path.
sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2] / "docs" / "_extension")]

from node_interfaces import endpoints, running_nodes  # noqa: E402


@pytest.fixture(scope="session")
def running():
    """Names of parameters, and endpoints, of every node while it runs."""
    # Without it a node has one action less than the pages say.
    pytest.importorskip(
        "control_msgs.action",
        reason="there is no control_msgs: run `make test` or tools/run --test",
    )
    with running_nodes() as nodes:
        return {
            name: (set(node.list_parameters([], 0).names), endpoints(node))
            for name, node in nodes.items()
        }
