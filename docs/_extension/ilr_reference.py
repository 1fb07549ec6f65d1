# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Sphinx extension: diagrams that GitHub draws are shown as their text."""

from __future__ import annotations

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_lexer("mermaid", TextLexer)
    return {"parallel_read_safe": True}
