# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Layout of the fields in a serialised JointState, to decode many messages at once.

Messages of one publisher differ only in their stamp and their numbers. Decoding each one takes
some 40 us, most of it for the parts that are the same in all.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ilr_dynamics.arrays import BoolArray, FloatArray

__all__ = ["FIELDS", "JointStateLayout"]

FIELDS = ("position", "velocity", "effort")

# Encapsulation header: CDR, little endian; alignment is relative to its end
# (https://www.omg.org/spec/DDSI-RTPS, 10.2; numbers are aligned to their size).
HEAD = b"\x00\x01"
HEAD_BYTES = 4
STAMP = slice(HEAD_BYTES, HEAD_BYTES + 8)
COUNT = struct.Struct("<I")

Bytes = NDArray[np.uint8]


@dataclass(frozen=True)
class JointStateLayout:
    """
    Places of the fields in a message, and in all messages of the same layout.

    Attributes
    ----------
    names : tuple of str
        Names of the joints.
    places : dict of str to tuple of int
        First byte and number of the values of position, velocity and effort.
    template : ndarray of shape (size,), uint8
        One message of this layout.
    common : ndarray of shape (size,), bool
        Mask of the bytes that are equal in all messages of this layout: frame, names and numbers
        of values.
    """

    names: tuple[str, ...]
    places: dict[str, tuple[int, int]]
    template: Bytes
    common: BoolArray

    @classmethod
    def of(cls, data: bytes) -> Self | None:
        """Return the layout of a message; None if it cannot be parsed."""
        try:
            return cls._parse(data)
        except (struct.error, UnicodeDecodeError):
            return None

    @classmethod
    def _parse(cls, data: bytes) -> Self | None:
        if data[:2] != HEAD:
            return None
        common = np.ones(len(data), dtype=bool)
        common[2 : STAMP.stop] = False
        names: list[str] = []
        at = STAMP.stop

        def take_text() -> str:
            (length,) = COUNT.unpack_from(data, at)
            end = at + COUNT.size + length
            text = data[at + COUNT.size : end]
            if len(text) != length or not text.endswith(b"\x00"):
                raise struct.error("no text")
            common[end : _aligned(end, 4)] = False
            return text[:-1].decode()

        at = _aligned(at + COUNT.size + len(take_text().encode()) + 1, 4)
        (n_names,) = COUNT.unpack_from(data, at)
        at += COUNT.size
        for _ in range(n_names):
            names.append(take_text())
            at = _aligned(at + COUNT.size + len(names[-1].encode()) + 1, 4)
        places = {}
        for field in FIELDS:
            (count,) = COUNT.unpack_from(data, at)
            at += COUNT.size
            first = _aligned(at, 8) if count else at
            common[at : first + 8 * count] = False
            places[field] = (first, count)
            at = first + 8 * count
            if at > len(data):
                return None
        if at != len(data):
            return None
        return cls(tuple(names), places, np.frombuffer(data, dtype=np.uint8), common)

    def matching(self, messages: Bytes) -> BoolArray:
        """Whether each of the messages (n, size) has this layout."""
        # Comparing all bytes is faster than selecting the common ones first.
        return np.asarray(((messages == self.template) | ~self.common).all(axis=1))

    def stamps(self, messages: Bytes) -> NDArray[np.int64]:
        """Return seconds and nanoseconds of the messages, (n, 2)."""
        words = np.ascontiguousarray(messages[:, STAMP])
        return np.column_stack(
            [words[:, :4].copy().view("<i4"), words[:, 4:].copy().view("<u4")]
        ).astype(np.int64)

    def values(self, messages: Bytes, field: str) -> FloatArray:
        """Return the values of a field, (n, count)."""
        first, count = self.places[field]
        numbers = np.ascontiguousarray(messages[:, first : first + 8 * count])
        return numbers.view("<f8").astype(np.float64, copy=False).reshape(len(messages), count)


def _aligned(at: int, size: int) -> int:
    return HEAD_BYTES + -(-(at - HEAD_BYTES) // size) * size
