# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import base64
import io
import os

import numpy as np
import pytest
from hostile_texts import NAMES, texts
from html_page import Page
from hypothesis import given, settings
from matplotlib.figure import Figure
from PIL import Image

from ilr_dynamics.cli.html_report import HtmlReport, Mark, Tone
from ilr_dynamics.cli.shown_text import picture_text, printable, shortened
from ilr_dynamics.exceptions import FileAccessError


@pytest.fixture
def page_of(tmp_path):
    def write(report: HtmlReport) -> Page:
        path = tmp_path / "report.html"
        report.write(path)
        return Page(path.read_text("utf-8"))

    return write


def figure(text: str = "joint") -> Figure:
    drawn = Figure(figsize=(4.0, 1.0))
    axis = drawn.subplots()
    axis.plot([0.0, 1.0], [0.0, 1.0], label=f"of {picture_text(text, 40)}")
    axis.set_title(picture_text(text, 40))
    axis.set_ylabel(picture_text(text, 40))
    axis.legend()
    return drawn


def page_with(text: str, drawn: Figure | None = None) -> HtmlReport:
    report = HtmlReport(text)
    report.heading(text)
    report.paragraph(text, Tone.ERROR)
    report.table([text, "value"], [[text, 1.0], [Mark(text, Tone.WARNING), 2]], text)
    if drawn is not None:
        report.picture(drawn, text, text)
    return report


def test_a_page_has_what_it_was_given(page_of):
    report = HtmlReport("Title")
    report.heading("Section")
    report.heading("Part", 3)
    report.paragraph("Said.")
    report.table(["joint", "rms"], [["j1", 0.123456], ["j2", 7], [Mark("bad", Tone.ERROR), "-"]])
    report.picture(figure(), "caption", "what there is to see")
    page = page_of(report)
    assert [page.count(f"h{level}") for level in (1, 2, 3)] == [1, 1, 1]
    assert page.cells == ["joint", "rms", "j1", "0.123", "j2", "7", "bad", "-"]
    assert ("span", {"class": "error"}) in page.tags
    assert page.attributes("alt") == ["what there is to see"]
    for text in ("Title", "Section", "Part", "Said.", "caption"):
        assert text in page.text


def test_several_sections_are_listed_and_linked(page_of):
    report = HtmlReport("Title")
    report.heading("First <b>")
    report.heading("Part", 3)
    assert page_of(report).count("nav") == 0
    report.heading("Second")
    page = page_of(report)
    assert (
        page.attributes("href")
        == ["#section-1", "#section-2"]
        == [f"#{place}" for place in page.attributes("id")]
    )
    assert page.needs_nothing() and page.text.count("First <b>") == 2


def test_a_folded_table_is_there_and_says_what_it_holds(page_of):
    report = HtmlReport("Title")
    report.table(["joint"], [["j1"]], "joints", folded="All <1> joints")
    page = page_of(report)
    assert page.count("details") == page.count("summary") == 1
    assert "All <1> joints" in page.text and page.tables == {"joints": [["joint"], ["j1"]]}


def test_a_phone_and_a_reader_of_pages_find_their_way(page_of):
    page = page_of(page_with("text", figure()))
    assert ("html", {"lang": "en"}) in page.tags
    assert "width=device-width, initial-scale=1" in page.attributes("content")
    assert page.attributes("role") == ["region"]
    assert page.attributes("scope") == ["col", "col"]


def test_pictures_are_within_and_sharp(page_of):
    page = page_of(page_with("text", figure()))
    assert page.needs_nothing()
    [source] = page.attributes("src")
    with Image.open(io.BytesIO(base64.b64decode(source.partition(",")[2]))) as picture:
        assert picture.size == (800, 200)
        assert picture.convert("RGB").getpixel((0, 0)) == (255, 255, 255)
        colours = np.unique(np.array(picture.convert("RGB")).reshape(-1, 3), axis=0)
    assert len(colours) > 10
    assert (page.attributes("width"), page.attributes("height")) == (["400"], ["100"])


def test_shades_are_kept(page_of):
    drawn = Figure(figsize=(2.0, 2.0))
    drawn.subplots().imshow(np.arange(10_000).reshape(100, 100))
    counts = []
    for shades in (False, True):
        report = HtmlReport("title")
        report.picture(drawn, "caption", shades=shades)
        [source] = page_of(report).attributes("src")
        with Image.open(io.BytesIO(base64.b64decode(source.partition(",")[2]))) as picture:
            counts.append(len(picture.convert("RGB").getcolors()))
    assert counts[0] <= 64 < 2 * counts[0] <= counts[1] <= 256


def test_nothing_may_be_fetched_or_run(page_of):
    [policy] = [text for text in page_of(HtmlReport("title")).attributes("content") if ";" in text]
    assert policy.startswith("default-src 'none';")
    assert "script" not in policy and "http" not in policy


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_hostile_names_do_not_break_out(name, page_of):
    page = page_of(page_with(name, figure(name)))
    assert page.needs_nothing() and page.count("img") == 1
    shown = printable(name)
    assert page.cells == [shown, "value", shown, "1", shown, "2"]
    assert page.attributes("alt") == [shown]


@given(texts)
@settings(max_examples=40)
def test_any_text_is_shown_and_does_nothing(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "any.html"
    page_with(text).write(path)
    page = Page(path.read_text("utf-8"))
    assert page.cells[0] == printable(text)
    assert printable(text).isprintable()


@given(texts)
@settings(max_examples=10)
def test_matplotlib_draws_any_text(text):
    drawn = Figure(figsize=(1.0, 1.0))
    drawn.text(0.0, 0.0, picture_text(text, 40))
    HtmlReport("title").picture(drawn, "caption")


@pytest.mark.parametrize(
    "text, length, shown",
    [("short", 5, "short"), ("/a/long/path/to/bag", 11, "/a/l.../bag"), ("abcdef", 5, "a...f")],
)
def test_long_texts_lose_their_middle(text, length, shown):
    assert shortened(text, length) == shown


def test_the_size_is_known_before_it_is_written(tmp_path):
    report = page_with("ä关🤖", figure())
    report.write(tmp_path / "report.html")
    size = (tmp_path / "report.html").stat().st_size
    assert 0 <= size - report.n_bytes < 100


def test_a_report_replaces_another_in_full_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    HtmlReport("first").write(path)
    HtmlReport("second").write(path)
    assert "second" in path.read_text()
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(FileAccessError, match="report.html' cannot be written .disk full"):
        HtmlReport("third").write(path)
    assert "second" in path.read_text()
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("path", ["/nowhere/report.html", "/", "a\x00b"])
def test_where_no_file_can_be_is_said(path):
    with pytest.raises(FileAccessError, match="expected a file in an existing folder"):
        HtmlReport("title").write(path)


def test_what_is_no_table_or_heading_is_refused():
    with pytest.raises(ValueError, match="a row has 1 cells; expected 2"):
        HtmlReport("title").table(["a", "b"], [["1"]])
    with pytest.raises(ValueError, match="level is 1; expected 2 to 6"):
        HtmlReport("title").heading("second title", 1)
