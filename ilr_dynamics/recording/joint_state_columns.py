# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Joint states of a topic, decoded while the bag is read."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from ilr_dynamics.recording.growing_array import GrowingArray
from ilr_dynamics.recording.joint_state import TYPES, JointStateDecoder, Rejection
from ilr_dynamics.recording.receipts import Receipts
from ilr_dynamics.recording.topic_series import TopicSeries, take_rows

__all__ = ["JointStateColumns"]

# Share of stamps that go back beyond which messages were not written as they came.
SHUFFLED = 0.01


class JointStateColumns:
    """
    Takes messages of a topic as they are read, and keeps their numbers alone (`MessageTaker`).

    Parameters
    ----------
    joints : sequence of str
        Order of the columns.
    kept : collection of {"position", "velocity", "effort"}
        Fields that are kept.
    required : sequence of collection of the same
        Sets of fields of which one will be asked for (`finish`).
    """

    def __init__(
        self,
        joints: Sequence[str],
        kept: Collection[str],
        required: Sequence[Collection[str]],
    ) -> None:
        self._received = Receipts()
        self._decoder = JointStateDecoder(joints)
        self._stamp = GrowingArray(np.int64)
        self._fields = {field: GrowingArray(TYPES[field], len(joints)) for field in kept}
        self._rejections = {frozenset(fields): GrowingArray(np.uint8) for fields in required}

    def __len__(self) -> int:
        """Messages taken."""
        return len(self._stamp)

    @property
    def names(self) -> tuple[str, ...]:
        """Joints named by the first readable message."""
        return self._decoder.names

    @property
    def nbytes(self) -> int:
        """Memory of what is kept, bytes."""
        return self._received.nbytes + sum(array.nbytes for array in self._arrays)

    @property
    def message_nbytes(self) -> int:
        """Memory of a message that holds no more than is required, bytes."""
        least = min(
            sum(self._fields[field].row_nbytes for field in required)
            for required in self._rejections
        )
        return self._stamp.row_nbytes + least

    @property
    def _arrays(self) -> list[GrowingArray]:
        return [self._stamp, *self._fields.values(), *self._rejections.values()]

    def take(self, messages: list[bytes], received: list[int]) -> None:
        """Decode messages (`MessageTaker.take`)."""
        block = self._decoder.decode(messages)
        self._received.append(received)
        self._stamp.append(block.stamp)
        for field, array in self._fields.items():
            array.append(block.fields[field])
        for required, array in self._rejections.items():
            array.append(block.rejection(required))

    def forget(self, field: str) -> None:
        """Keep a field no longer, and do not ask for it."""
        self._fields.pop(field, None)
        for required in [required for required in self._rejections if field in required]:
            del self._rejections[required]

    def finish(self, required: Collection[str]) -> TopicSeries:
        """
        Return what was taken, once, in the order of writing or of receipt.

        Either may be another than that of the states: tools write what they merge as they like,
        and the clock of receipt may be set, or one receipt be wrong. That of writing counts unless
        many stamps go back in it and fewer in the other.

        Parameters
        ----------
        required : collection of str
            Fields without which a message cannot be used: one of the sets asked for.
        """
        series = TopicSeries(
            self._stamp.finish(),
            {field: array.finish() for field, array in self._fields.items()},
            self._rejections.pop(frozenset(required)).finish(),
        )
        self._rejections.clear()
        received, self._received = self._received, Receipts()
        if received.in_order:
            return series
        rows = np.argsort(received.times(), kind="stable")
        sound = series.rejection == Rejection.NONE
        by_place = np.count_nonzero(np.diff(series.stamp[sound]) < 0)
        by_receipt = np.count_nonzero(np.diff(series.stamp[rows][sound[rows]]) < 0)
        if by_place <= by_receipt + SHUFFLED * len(rows):
            return series
        return take_rows(series, rows)
