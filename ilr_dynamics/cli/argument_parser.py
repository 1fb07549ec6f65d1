# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Parser of command lines that takes every negative number for a value, not for an option."""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["ArgumentParser"]

# What argparse takes for negative numbers.
_KNOWN = re.compile(r"-\d+|-\d*\.\d+")


class ArgumentParser(argparse.ArgumentParser):
    """Parser to which ``-1e-3`` and ``-1.`` are numbers; to argparse ``-1`` and ``-.5`` are."""

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """Parse as `argparse.ArgumentParser` does."""
        given = sys.argv[1:] if args is None else args
        return super().parse_known_args([_as_known(word) for word in given], namespace)


def _as_known(word: str) -> str:
    """Write a finite negative number as argparse knows it, and leave all else as it is."""
    if not word.startswith("-") or _KNOWN.fullmatch(word):
        return word
    try:
        value = float(word)
    except ValueError:
        return word
    return np.format_float_positional(value, trim="0") if math.isfinite(value) else word
