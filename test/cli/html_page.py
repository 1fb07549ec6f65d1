# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""A page of HTML as a browser takes it apart, and what must not be in it."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta", "img", "br", "link"}
# What the writer uses. Whatever else stands in a page comes from a name.
TAGS = {
    *("html", "head", "meta", "title", "style", "body", "main", "p", "div", "span"),
    *("table", "thead", "tbody", "tr", "th", "td", "figure", "figcaption", "img"),
    *("nav", "a", "details", "summary"),
    *(f"h{level}" for level in range(1, 7)),
}
ATTRIBUTES = {
    "data-title",
    *("lang", "charset", "http-equiv", "content", "name", "class", "scope", "role", "tabindex"),
    *("aria-label", "width", "height", "alt", "src", "id", "href"),
}


class Page(HTMLParser):
    """A parsed page; it fails where tags are not balanced or others than those of the writer."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.cells: list[str] = []
        # Rows of cells, the header first, by the label of the table; the last of a label counts.
        self.tables: dict[str, list[list[str]]] = {}
        self._table: list[list[str]] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        assert tag in TAGS, tag
        assert {name for name, _ in attrs} <= ATTRIBUTES
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")
            self._table[-1].append("")
        elif tag == "tr":
            self._table.append([])
        elif dict(attrs).get("role") == "region":
            self._table = self.tables[dict(attrs)["aria-label"]] = []

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "style":
            return
        self.text += data
        if {"td", "th"} & set(self.open):
            self.cells[-1] += data
            self._table[-1][-1] += data

    def attributes(self, name: str) -> list[str | None]:
        return [attributes[name] for _, attributes in self.tags if name in attributes]

    def count(self, tag: str) -> int:
        return sum(found == tag for found, _ in self.tags)

    def needs_nothing(self) -> bool:
        """Whether all pictures are within, links too, and nothing else is fetched."""
        places = {f"#{place}" for place in self.attributes("id")}
        return set(self.attributes("href")) <= places and all(
            source.startswith("data:image/png;base64,") for source in self.attributes("src")
        )
