# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
State machine of the tracking controller: its modes, events and transitions.

docs/architecture.md shows the diagram.
"""

from __future__ import annotations

from enum import Enum, IntEnum

__all__ = ["TRANSITIONS", "Event", "Mode"]


class Mode(IntEnum):
    """Mode of the controller; the numbers are those of ControllerState.msg."""

    WAITING = 0
    HOLDING = 1
    TRACKING = 2
    STOPPING = 3
    FAULT = 4
    GUIDING = 5


class Event(Enum):
    """Event that can change the mode."""

    STATE = "the first usable joint state"
    TRAJECTORY = "a new trajectory"
    END = "the end of the trajectory"
    STOP = "a request to stop"
    HALTED = "the end of braking"
    GUIDE = "a request to be guided by hand"
    HOLD = "a request to hold"
    FAULT = "a limit or a watchdog"
    RESET = "activation or deactivation"


# A pair that is not listed is refused. Only a request to hold ends a fault, so that a person
# decides; a new trajectory cannot interrupt braking that was requested.
TRANSITIONS: dict[tuple[Mode, Event], Mode] = {
    (Mode.WAITING, Event.STATE): Mode.HOLDING,
    (Mode.WAITING, Event.STOP): Mode.WAITING,
    (Mode.WAITING, Event.HOLD): Mode.WAITING,
    (Mode.HOLDING, Event.TRAJECTORY): Mode.TRACKING,
    (Mode.HOLDING, Event.GUIDE): Mode.GUIDING,
    (Mode.HOLDING, Event.STOP): Mode.HOLDING,
    (Mode.HOLDING, Event.HOLD): Mode.HOLDING,
    (Mode.HOLDING, Event.FAULT): Mode.FAULT,
    (Mode.TRACKING, Event.TRAJECTORY): Mode.TRACKING,
    (Mode.TRACKING, Event.END): Mode.STOPPING,
    (Mode.TRACKING, Event.STOP): Mode.STOPPING,
    (Mode.TRACKING, Event.HOLD): Mode.STOPPING,
    (Mode.TRACKING, Event.FAULT): Mode.FAULT,
    (Mode.STOPPING, Event.HALTED): Mode.HOLDING,
    (Mode.STOPPING, Event.STOP): Mode.STOPPING,
    (Mode.STOPPING, Event.HOLD): Mode.STOPPING,
    (Mode.STOPPING, Event.FAULT): Mode.FAULT,
    (Mode.GUIDING, Event.GUIDE): Mode.GUIDING,
    (Mode.GUIDING, Event.STOP): Mode.STOPPING,
    (Mode.GUIDING, Event.HOLD): Mode.STOPPING,
    (Mode.GUIDING, Event.FAULT): Mode.FAULT,
    (Mode.FAULT, Event.STOP): Mode.FAULT,
    (Mode.FAULT, Event.HOLD): Mode.HOLDING,
    (Mode.FAULT, Event.FAULT): Mode.FAULT,
    **{(mode, Event.RESET): Mode.WAITING for mode in Mode},
}
