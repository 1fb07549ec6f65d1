# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Texts of others, such as names of joints, in a form that can do nothing but be read."""

from __future__ import annotations

__all__ = ["picture_text", "printable", "shortened"]

LEFT_OUT = "..."


def printable(text: object) -> str:
    r"""
    Show control characters, marks of direction and the like as escapes.

    Parameters
    ----------
    text : object
        What to show, by its `str`.

    Returns
    -------
    str
        One line without characters that move a cursor, turn the direction of writing, cannot be
        seen or cannot be encoded: these are shown as in Python, ``\x1b`` or ``\u202e``.
    """
    return "".join(
        character if character.isprintable() else ascii(character)[1:-1] for character in str(text)
    )


def shortened(text: str, length: int) -> str:
    """
    Leave out the middle of a long text: names and paths differ at either end.

    Parameters
    ----------
    text : str
        What to show.
    length : int
        Characters to return at most, four or more.

    Returns
    -------
    str
    """
    if len(text) <= length:
        return text
    tail = (length - len(LEFT_OUT)) // 2
    return text[: length - len(LEFT_OUT) - tail] + LEFT_OUT + text[len(text) - tail :]


def picture_text(text: object, length: int) -> str:
    """
    Make a text safe for Matplotlib, which reads what stands between dollars as a formula.

    Parameters
    ----------
    text : object
        What to show, by its `str`.
    length : int
        Characters to show at most, four or more.

    Returns
    -------
    str
    """
    return shortened(printable(text), length).replace("$", r"\$")
