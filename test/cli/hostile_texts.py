# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Names that strangers may give to joints, topics and files."""

from __future__ import annotations

from hypothesis import strategies as st

NAMES = (
    "<script>alert(1)</script>",
    '"><img src=http://example.org/x onerror=alert(1)>',
    "' onload='alert(1)",
    "</title></style></table><b>&amp;&lt;",
    r"$\frac$",
    "$$",
    r"a\$b$",
    "\x00\x1b[31m\r\n\t\x7f\x9b",
    "\u202egpj\u2066.exe\u200b\ufeff\u2028",
    "\ud800 lone",
    "关节一 مفصل 🤖",
    "x" * 4096,
    "$" * 4096,
    "",
)

# Every character that Python can hold, and pieces of markup and of formulas.
texts = st.text(st.characters(exclude_categories=())) | st.lists(
    st.sampled_from(
        [*"<>&\"'$\\_^{}%", "<script>", "-->", "]]>", "&lt;", r"\frac", "\x1b[", "\u202e"]
    )
).map("".join)
