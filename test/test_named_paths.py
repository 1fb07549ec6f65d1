# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Files that documents and configuration name exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted(
    path
    for path in (
        *ROOT.glob("*.md"),
        *ROOT.glob("*.rst"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "config").rglob("*.yaml"),
    )
)
# Relative, with a folder and an ending: neither /data/run1 nor an address nor <robot>.yaml.
NAMED = re.compile(
    r"(?<![\w./:~<>{}*-])((?:\.{1,2}/|\w[\w.-]*/)+[\w.-]+\.(?:py|ya?ml|md|rst|png|urdf|msg|srv))\b"
)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_that_a_document_names_exist(document):
    # From the root, from the package as the architecture has them, or as links are.
    folders = (ROOT, ROOT / "ilr_dynamics", ROOT / "ilr_dynamics_msgs", document.parent)
    missing = [
        name
        for name in NAMED.findall(document.read_text())
        if not any((folder / name).exists() for folder in folders)
    ]
    assert not missing


def test_named_files_are_found():
    text = "see test/no.py, [b](../config/no.yaml), /data/no.py, http://a/no.py, a/<no>/no.yaml"
    assert NAMED.findall(text) == ["test/no.py", "../config/no.yaml"]
