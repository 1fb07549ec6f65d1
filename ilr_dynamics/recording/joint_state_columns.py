# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Columns of the joint states of a topic, filled while the bag is read."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from ilr_dynamics.recording.growing_array import GrowingArray
from ilr_dynamics.recording.joint_state import JointStateDecoder
from ilr_dynamics.recording.joint_state_block import TYPES
from ilr_dynamics.recording.receipts import Receipts
from ilr_dynamics.recording.rejection import Rejection
from ilr_dynamics.recording.topic_series import TopicSeries, take_rows

__all__ = ["JointStateColumns"]

# Share of stamps that decrease, above which messages were not written in the order of receipt.
SHUFFLED = 0.01


class JointStateColumns:
    """
    Consumer of the messages of a topic that stores only their numbers (`MessageConsumer`).

    Parameters
    ----------
    joints : sequence of str
        Order of the columns.
    kept : collection of {"position", "velocity", "effort"}
        Fields to store.
    required : sequence of collection of the same
        Sets of required fields that `finish` may be called with.
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
        self._joints = tuple(joints)
        self._not_finite = {field: np.zeros(len(joints), dtype=np.intp) for field in kept}
        self._rejections = {frozenset(fields): GrowingArray(np.uint8) for fields in required}

    def __len__(self) -> int:
        """Number of messages."""
        return len(self._stamp)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the joints in the first readable message."""
        return self._decoder.names

    @property
    def nbytes(self) -> int:
        """Memory of the stored numbers, bytes."""
        return self._received.nbytes + sum(array.nbytes for array in self._arrays)

    @property
    def message_nbytes(self) -> int:
        """Memory of a message with the smallest set of required fields only, bytes."""
        least = min(
            sum(self._fields[field].row_nbytes for field in required)
            for required in self._rejections
        )
        return self._stamp.row_nbytes + least

    @property
    def _arrays(self) -> list[GrowingArray]:
        return [self._stamp, *self._fields.values(), *self._rejections.values()]

    def take(self, messages: list[bytes], received: list[int]) -> None:
        """Decode messages (`MessageConsumer.take`)."""
        block = self._decoder.decode(messages)
        self._received.append(received)
        self._stamp.append(block.stamp)
        for field, array in self._fields.items():
            array.append(block.fields[field])
            self._not_finite[field] += block.not_finite(field)
        for required, array in self._rejections.items():
            array.append(block.rejection(required))

    def not_finite(self, required: Collection[str], sender: str = "") -> dict[str, int]:
        """
        Return how many values of required fields are no numbers, by field and joint.

        Parameters
        ----------
        required : collection of str
            Fields that a usable message must have.
        sender : str
            Word for the messages in the names, before that of the field.
        """
        return {
            f"{sender}{field} of {joint}": int(count)
            for field in required
            for joint, count in zip(self._joints, self._not_finite[field], strict=True)
            if count
        }

    def drop(self, field: str) -> None:
        """Delete a field, which can then not be required by `finish`."""
        self._fields.pop(field, None)
        for required in [required for required in self._rejections if field in required]:
            del self._rejections[required]

    def finish(self, required: Collection[str]) -> TopicSeries:
        """
        Return the joint states, once, in the order of writing or of receipt.

        Either order may be wrong: tools that merge bags write in any order, and the clock of
        receipt may be set, or a single time of receipt be wrong. The order of writing is used
        unless many stamps decrease in it and fewer in the other.

        Parameters
        ----------
        required : collection of str
            Fields that a usable message must have: one of the sets given at construction.

        Returns
        -------
        TopicSeries
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
