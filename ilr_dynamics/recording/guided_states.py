# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
States of a recording in which a person guided the arm.

The force of the hand is in no topic. Such a state has the torque of the drives and the motion that
drives and hand made together, so it says nothing of the arm's dynamics. The controller's reports
say when that was.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ilr_dynamics.arrays import BoolArray
from ilr_dynamics.exceptions import RecordingError
from ilr_dynamics.recording.growing_array import GrowingArray
from ilr_dynamics.recording.joint_state import NANOSECONDS
from ilr_dynamics.recording.recording import MINIMUM_STATES, Recording
from ilr_dynamics.recording.rejection import Rejection
from ilr_dynamics.recording.rejection_texts import advice_on, explain

__all__ = [
    "CONTROLLER_STATE",
    "GUIDING",
    "HAND_S",
    "ControllerModes",
    "guided_states",
    "without_guided",
]

CONTROLLER_STATE = "ilr_dynamics_msgs/msg/ControllerState"
"""Type of the controller's reports in a bag."""

GUIDING = 5
"""Mode of ControllerState in which a person guides the arm."""

HAND_S = 1.0
"""Time before and after, s, in which a hand is taken to be at the arm already, or still."""

# Reports that follow each other are no farther apart, s.
SAME_CLOCK_S = 60.0
# CDR: four bytes of encapsulation, whose second says whether numbers are little-endian; stamp in
# seconds and nanoseconds; length and text of the frame with its end; mode.
_LITTLE_ENDIAN, _STAMP, _LENGTH, _TEXT = 1, 4, 12, 16


class ControllerModes:
    """Stamp and mode of the reports of a controller (`MessageConsumer`)."""

    def __init__(self) -> None:
        self._stamp = GrowingArray(np.int64)
        self._mode = GrowingArray(np.uint8)

    def __len__(self) -> int:
        """Number of readable reports."""
        return len(self._stamp)

    @property
    def nbytes(self) -> int:
        """Memory of the stored numbers, bytes."""
        return self._stamp.nbytes + self._mode.nbytes

    @property
    def message_nbytes(self) -> int:
        """Memory of a message, bytes."""
        return self._stamp.row_nbytes + self._mode.row_nbytes

    def take(self, messages: list[bytes], received: list[int]) -> None:
        """Decode the beginning of each message; those cut short before the mode are left out."""
        reports = [report for report in map(_report, messages) if report is not None]
        self._stamp.append(np.array([stamp for stamp, _ in reports], dtype=np.int64))
        self._mode.append(np.array([mode for _, mode in reports], dtype=np.uint8))

    def finish(self) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """Return stamps, ns, and modes (n,) in the order of writing, once."""
        return self._stamp.finish(), self._mode.finish()


def _report(message: bytes) -> tuple[int, int] | None:
    if len(message) <= _TEXT:
        return None
    order: Literal["little", "big"] = "little" if message[1] & _LITTLE_ENDIAN else "big"
    seconds = int.from_bytes(message[_STAMP : _STAMP + 4], order, signed=True)
    nanoseconds = int.from_bytes(message[_STAMP + 4 : _LENGTH], order)
    mode = _TEXT + int.from_bytes(message[_LENGTH:_TEXT], order)
    return (seconds * NANOSECONDS + nanoseconds, message[mode]) if mode < len(message) else None


def guided_states(
    stamp: NDArray[np.int64], reported: NDArray[np.int64], mode: NDArray[np.uint8]
) -> BoolArray:
    """
    Return which states are not to be learned from, as a hand was, or may have been, at the arm.

    Those between the last report before a guided stretch and the first one after it, and those
    within `HAND_S` of these.

    Parameters
    ----------
    stamp : ndarray of shape (n,)
        Header stamps of the states, ns.
    reported : ndarray of shape (m,)
        Stamps of the states that the reports are of, ns, in the order of writing.
    mode : ndarray of shape (m,)
        Mode in each report.

    Returns
    -------
    ndarray of shape (n,), bool
    """
    # A report far from the next is of a clock that was set meanwhile: neither bounds the other.
    near = np.abs(np.diff(reported)) <= round(SAME_CLOCK_S * NANOSECONDS)
    first, last = reported.copy(), reported.copy()
    # Either way, as the clock may have been set back a little.
    for one, other in ((slice(1, None), slice(None, -1)), (slice(None, -1), slice(1, None))):
        neighbour = np.where(near, reported[other], reported[one])
        first[one] = np.minimum(first[one], neighbour)
        last[one] = np.maximum(last[one], neighbour)
    margin = round(HAND_S * NANOSECONDS)
    guiding = mode == GUIDING
    # How many of the stretches around the reports have begun, and how many are over.
    begun = np.searchsorted(np.sort(first[guiding] - margin), stamp, side="right")
    over = np.searchsorted(np.sort(last[guiding] + margin), stamp, side="left")
    return begun > over


def without_guided(recording: Recording, guided: BoolArray) -> Recording:
    """
    Leave states out in which a person guided the arm.

    Parameters
    ----------
    recording : Recording
        All states.
    guided : ndarray of shape (n,), bool
        Which to leave out.

    Returns
    -------
    Recording
        The given one if there are none.

    Raises
    ------
    RecordingError
        If fewer than three states are left.
    """
    if not guided.any():
        return recording
    kept, reason = np.flatnonzero(~guided), Rejection.GUIDED.name.lower()
    if kept.size < MINIMUM_STATES:
        raise RecordingError(
            f"{len(guided) - kept.size} of {len(guided)} states are of no use: "
            f"{explain(reason, {})}; expected other motions too: {advice_on(reason)}"
        )
    # If the first state after a break is left out, the next one takes its place.
    breaks = np.searchsorted(kept, recording.breaks).tolist()
    rows = np.flatnonzero(guided)
    ends = np.flatnonzero(np.diff(rows) > 1)
    begin = rows[np.concatenate([[0], ends + 1])]
    end = rows[np.concatenate([ends, [-1]])]
    stretches = zip(recording.stamp[begin].tolist(), recording.stamp[end].tolist(), strict=True)
    return replace(
        recording,
        stamp=recording.stamp[kept],
        position=recording.position[kept],
        velocity=recording.velocity[kept],
        torque=recording.torque[kept],
        rejected=recording.rejected + Counter({reason: rows.size}),
        breaks=tuple(row for row in sorted({*breaks}) if 0 < row < kept.size),
        guided=tuple(stretches),
    )
