# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The page on reports names the sections that a report has."""

import re

from pages import DOCS, ROOT, tables

WRITERS = ("model_report.py", "arm_report.py")


def test_the_sections_are_those_of_a_report():
    (rows,) = (rows for header, rows in tables(DOCS / "report.md") if header[0] == "section")
    code = "".join((ROOT / "ilr_dynamics" / "cli" / name).read_text() for name in WRITERS)
    assert sorted(row[0] for row in rows) == sorted(re.findall(r'\.heading\("([^"]+)"\)', code))
