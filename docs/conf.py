# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Sphinx's configuration. ``make docs`` builds the pages into docs/_build/html."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_extension"))

project = "ilr_dynamics"
author = "The ilr_dynamics contributors"
copyright = "2026, The ilr_dynamics contributors"  # noqa: A001  # Sphinx's name

extensions = ["myst_parser", "ilr_reference"]
myst_enable_extensions = ["dollarmath", "tasklist"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]

html_static_path = ["_static"]
html_theme = "alabaster"
html_theme_options = {
    "description": "Learned inverse dynamics for torque-controlled arms",
    "page_width": "1200px",
    "body_max_width": "auto",
}
