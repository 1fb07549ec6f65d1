# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The pages of the documentation, taken apart."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md"))]

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`]+)`")


def blocks(page: Path, language: str) -> list[str]:
    """Fenced blocks of a language."""
    return [text for found, text in FENCE.findall(page.read_text()) if found == language]


def tables(page: Path) -> Iterator[tuple[list[str], list[list[str]]]]:
    """Header and rows of every table."""
    rows: list[list[str]] = []
    for line in [*page.read_text().splitlines(), ""]:
        if line.startswith("|"):
            rows.append([cell.strip() for cell in line.strip("|").split("|")])
        elif rows:
            yield rows[0], rows[2:]
            rows = []
