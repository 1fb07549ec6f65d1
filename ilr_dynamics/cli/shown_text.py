# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Safe display of untrusted texts, such as names of joints in a recording."""

from __future__ import annotations

__all__ = ["picture_text", "printable", "shortened", "shown_name", "shown_path"]

LEFT_OUT = "..."
# Longest names of joints and paths of files that are shown, in characters.
LONGEST_NAME, LONGEST_PATH = 60, 200


def printable(text: object) -> str:
    r"""
    Replace control characters, direction marks and the like by escapes.

    Parameters
    ----------
    text : object
        Object to show by its `str`.

    Returns
    -------
    str
        One line. Characters that move the cursor, change the direction of writing, are invisible
        or cannot be encoded are shown as in Python, ``\x1b`` or ``\u202e``.
    """
    return "".join(
        character if character.isprintable() else ascii(character)[1:-1] for character in str(text)
    )


def shortened(text: str, length: int) -> str:
    """
    Remove the middle of a long text, as names and paths differ at either end.

    Parameters
    ----------
    text : str
        Text to show.
    length : int
        Largest number of characters to return, four or more.

    Returns
    -------
    str
    """
    if len(text) <= length:
        return text
    tail = (length - len(LEFT_OUT)) // 2
    return text[: length - len(LEFT_OUT) - tail] + LEFT_OUT + text[len(text) - tail :]


def shown_name(name: object) -> str:
    """Return the name of a joint as it is shown: printable, and not too long for a table."""
    return shortened(printable(name), LONGEST_NAME)


def shown_path(path: object) -> str:
    """Return the path of a file as it is shown."""
    return shortened(printable(path), LONGEST_PATH)


def picture_text(text: object, length: int) -> str:
    """
    Make a text safe for Matplotlib, which parses text between dollar signs as a formula.

    Parameters
    ----------
    text : object
        Object to show by its `str`.
    length : int
        Largest number of characters to show, four or more.

    Returns
    -------
    str
    """
    return shortened(printable(text), length).replace("$", r"\$")
