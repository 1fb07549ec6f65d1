# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Self-contained HTML reports: headings, texts, tables and pictures in one file."""

from __future__ import annotations

import base64
import html
import io
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from ilr_dynamics.atomic_file import atomic_writer
from ilr_dynamics.cli.output_file import check_output_path
from ilr_dynamics.cli.shown_text import printable
from ilr_dynamics.exceptions import FileAccessError

__all__ = ["REPORT_MARK", "HtmlReport", "Mark", "Tone"]

REPORT_MARK = b"<!-- report of ilr_dynamics -->"
"""Second line of each report, by which those that may be replaced are known."""

# A picture four inches wide fills a phone, with letters as large as the text around it.
PIXELS_PER_INCH = 100
# Screens of phones have two pixels and more where a page counts one.
SHARPNESS = 2
# Colours of a picture of lines, and of one of shades: with few the file has a third of the size.
N_COLOURS, N_SHADES = 64, 256
# Cells with more characters are texts, which break into lines of a readable length.
LONG_CELL = 24
# Level of the headings that the contents list.
SECTION = 2

# Escaped texts cannot do what this forbids: it also holds for mistakes in the escaping.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
STYLE = """
:root { color-scheme: light dark; --text: #1d2126; --back: #ffffff; --line: #d4d9df;
  --faint: #5a626c; --good: #1b7a3d; --note: #2b62b5; --warning: #9a5b00; --error: #b3261e; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e4e7eb; --back: #16191d; --line: #3a4149; --faint: #a5adb8;
    --good: #6fd08c; --note: #8ab4f8; --warning: #f2b457; --error: #ff8a80; }
  img { filter: brightness(0.88); }
}
body { margin: 0 auto; padding: 1rem; max-width: 90rem; color: var(--text);
  background: var(--back); font: 1rem/1.45 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.3rem; margin-top: 2.5rem;
  border-top: 1px solid var(--line); padding-top: 1rem; } h3 { font-size: 1.1rem; }
p { max-width: 45rem; }
.table { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; }
th, td { padding: 0.35rem 0.6rem; text-align: left; vertical-align: top; white-space: nowrap;
  border-bottom: 1px solid var(--line); }
th { color: var(--faint); font-weight: 600; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
.long { white-space: normal; min-width: 14rem; max-width: 32rem; }
@media (max-width: 40rem) {
  .cards thead { display: none; }
  .cards table, .cards tbody, .cards tr, .cards td { display: block; }
  .cards tr { border: 1px solid var(--line); border-radius: 4px; margin-bottom: 0.8rem; }
  .cards td { border: 0; padding: 0.2rem 0.6rem; text-align: left; white-space: normal; }
  .cards td::before { content: attr(data-title) ": "; color: var(--faint); }
  .cards td:empty { display: none; }
}
nav { margin: 1rem 0; } nav a { margin-right: 1.2rem; color: var(--note); }
summary { cursor: pointer; color: var(--note); }
.good { color: var(--good); } .note { color: var(--note); } .warning { color: var(--warning); }
.error { color: var(--error); }
.good, .note, .warning, .error { font-weight: 600; }
figure { display: inline-block; vertical-align: top; margin: 0.5rem 1rem 1.5rem 0;
  max-width: 100%; }
figcaption { max-width: 25rem; color: var(--faint); font-size: 0.95rem; }
img { max-width: 100%; height: auto; background: #ffffff; border-radius: 4px; }
"""


class Tone(StrEnum):
    """Meaning of a colour, which a word always gives too."""

    GOOD = "good"
    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True)
class Mark:
    """
    Coloured word in a cell of a table.

    Attributes
    ----------
    text : str
        Word to show.
    tone : Tone
        Meaning of its colour.
    """

    text: str
    tone: Tone


class HtmlReport:
    """
    Report as one HTML file without scripts and without network access.

    Texts may contain anything: they are shown literally, control characters as escapes. The parts
    are shown in the order in which they are added.

    Parameters
    ----------
    title : str
        Title of the page, and its first heading.
    """

    def __init__(self, title: str) -> None:
        shown = _escaped(title)
        self._parts = [
            f"<!DOCTYPE html>\n{REPORT_MARK.decode()}\n"
            '<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{shown}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
            f"<h1>{shown}</h1>\n"
        ]
        self._n_bytes = len(self._parts[0].encode("utf-8"))
        self._sections: list[str] = []

    @property
    def n_bytes(self) -> int:
        """Size so far, in bytes."""
        return self._n_bytes

    def heading(self, text: str, level: int = 2) -> None:
        """
        Start a section.

        Parameters
        ----------
        text : str
            Heading of the section.
        level : int
            Level from 2, a section of the report, to 6.
        """
        if level not in range(2, 7):
            raise ValueError(f"level is {level}; expected 2 to 6")
        shown, place = _escaped(text), ""
        if level == SECTION:
            self._sections.append(shown)
            place = f' id="section-{len(self._sections)}"'
        self._add(f"<h{level}{place}>{shown}</h{level}>\n")

    def paragraph(self, text: str, tone: Tone | None = None) -> None:
        """
        Add a paragraph.

        Parameters
        ----------
        text : str
            Text of the paragraph.
        tone : Tone, optional
            Meaning of its colour.
        """
        attribute = "" if tone is None else f' class="{Tone(tone)}"'
        self._add(f"<p{attribute}>{_escaped(text)}</p>\n")

    def table(
        self,
        header: Sequence[str],
        rows: Sequence[Sequence[object]],
        label: str = "table",
        folded: str = "",
    ) -> None:
        """
        Add a table.

        On a narrow page, such as on a phone, a table with texts is shown as one card per row,
        because a column two words wide cannot be read; other tables scroll horizontally.

        Parameters
        ----------
        header : sequence of str
            Titles of the columns.
        rows : sequence of sequence of object
            Cells, as many per row as titles. Numbers are aligned to the right, floats shown with
            three significant digits; a `Mark` has its colour; others are shown by `str`.
        label : str
            Description of the table for screen readers.
        folded : str
            What to click on to see the table; empty: it is always seen.
        """
        titles = "".join(f'<th scope="col">{_escaped(title)}</th>' for title in header)
        lines = []
        for row in rows:
            if len(row) != len(header):
                raise ValueError(f"a row has {len(row)} cells; expected {len(header)}")
            lines.append(f"<tr>{''.join(map(_cell, row, header))}</tr>\n")
        has_texts = any(_is_long(value) for row in rows for value in row)
        # A table must be focusable to be scrolled by keyboard.
        begin = f"<details>\n<summary>{_escaped(folded)}</summary>\n" if folded else ""
        self._add(
            f'{begin}<div class="table{" cards" if has_texts else ""}" role="region" tabindex="0" '
            f'aria-label="{_escaped(label)}">\n'
            f"<table>\n<thead><tr>{titles}</tr></thead>\n<tbody>\n{''.join(lines)}</tbody>\n"
            f"</table>\n</div>\n{'</details>' if folded else ''}\n"
        )

    def picture(
        self, figure: Figure, caption: str, alt: str = "", *, shades: bool = False
    ) -> None:
        """
        Add a figure; figures are placed side by side where there is room.

        Parameters
        ----------
        figure : Figure
            Matplotlib figure, about 4 inches wide to be legible on a phone. Untrusted texts in it
            must have been converted by `picture_text`.
        caption : str
            Caption below the figure.
        alt : str
            Description for screen readers; the caption if empty.
        shades : bool
            Whether colours mean numbers, so that many are needed.
        """
        data = base64.b64encode(_png(figure, N_SHADES if shades else N_COLOURS)).decode("ascii")
        width, height = (round(PIXELS_PER_INCH * inches) for inches in figure.get_size_inches())
        self._add(
            f'<figure>\n<img width="{width}" height="{height}" alt="{_escaped(alt or caption)}" '
            f'src="data:image/png;base64,{data}">\n'
            f"<figcaption>{_escaped(caption)}</figcaption>\n</figure>\n"
        )

    def write(self, path: str | os.PathLike[str]) -> None:
        """
        Write the report atomically.

        Parameters
        ----------
        path : str or path-like
            File to create, or earlier report to replace.

        Raises
        ------
        FileAccessError
            If it cannot be written, lies in a recording, or is no report (`check_output_path`).
        """
        check_output_path(path, REPORT_MARK)
        page = "".join(
            [self._parts[0], self._contents(), *self._parts[1:], "</main>\n</body>\n</html>\n"]
        )
        try:
            with atomic_writer(path) as file:
                file.write(page.encode("utf-8"))
        except OSError as error:
            raise FileAccessError(
                f"the report {os.fspath(path)!r} cannot be written ({error}); expected a file in "
                "an existing folder"
            ) from error

    def _contents(self) -> str:
        """Links to the sections, if there are several."""
        if len(self._sections) < 2:
            return ""
        links = "\n".join(
            f'<a href="#section-{number}">{shown}</a>'
            for number, shown in enumerate(self._sections, start=1)
        )
        return f'<nav aria-label="sections">\n{links}\n</nav>\n'

    def _add(self, part: str) -> None:
        self._parts.append(part)
        self._n_bytes += len(part.encode("utf-8"))


def _escaped(text: object) -> str:
    return html.escape(printable(text), quote=True)


def _is_long(value: object) -> bool:
    return not isinstance(value, Mark | float | int) and len(str(value)) > LONG_CELL


def _cell(value: object, title: str) -> str:
    start = f'<td data-title="{_escaped(title)}"'
    if isinstance(value, Mark):
        return f'{start}><span class="{Tone(value.tone)}">{_escaped(value.text)}</span></td>'
    if isinstance(value, float):
        return f'{start} class="number">{value:.3g}</td>'
    if isinstance(value, int):
        return f'{start} class="number">{value}</td>'
    attribute = ' class="long"' if _is_long(value) else ""
    return f"{start}{attribute}>{_escaped(value)}</td>"


def _png(figure: Figure, n_colours: int) -> bytes:
    canvas = FigureCanvasAgg(figure)
    figure.set_dpi(SHARPNESS * PIXELS_PER_INCH)
    with warnings.catch_warnings():
        # Letters that the font lacks are shown as boxes.
        warnings.filterwarnings("ignore", message="Glyph .* missing", category=UserWarning)
        canvas.draw()
    image = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
    file = io.BytesIO()
    image.quantize(n_colours, Image.Quantize.MAXCOVERAGE).save(file, format="png")
    return file.getvalue()
