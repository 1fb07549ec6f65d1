# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Markers for RViz: mode, controller, model, error, gate and loop time, as lines of text."""

from __future__ import annotations

from pathlib import PurePath

from visualization_msgs.msg import Marker

from ilr_dynamics.nodes.markers import palette
from ilr_dynamics.nodes.markers.palette import Rgb
from ilr_dynamics.nodes.markers.panel_place import WIDTH, PanelPlace, estimated_width
from ilr_dynamics.nodes.markers.primitives import colour
from ilr_dynamics.nodes.markers.shown_state import ShownState
from ilr_dynamics_msgs.msg import ControllerState

__all__ = ["LONGEST_TEXT", "NAMESPACE", "StatusPanel", "headline", "status_lines"]

NAMESPACE = "status"
LONGEST_TEXT = 24
"""Number of letters of a line at most."""
_LONGEST_NAME = 10
_MODES: dict[int, tuple[str, Rgb]] = {
    ControllerState.WAITING: ("WAITING", palette.SUBDUED),
    ControllerState.HOLDING: ("HOLDING", palette.PLAIN),
    ControllerState.TRACKING: ("TRACKING", palette.GOOD),
    ControllerState.STOPPING: ("STOPPING", palette.MIDDLING),
    ControllerState.GUIDING: ("GUIDING", palette.MIDDLING),
    ControllerState.FAULT: ("FAULT", palette.WRONG),
}
_SILENT = ("NO REPORTS", palette.WRONG)
_CONTROLLERS = {"pd": "PD alone", "analytic": "analytic + PD", "ilr": "learned + PD"}
# Middle, and height of each line, m.
_LEFT, _MIDDLE, _RIGHT = 0.27 * WIDTH, 0.5 * WIDTH, 0.75 * WIDTH
_HEADLINE, _HEADLINE_HEIGHT = (_MIDDLE, 0.06), 0.068
_LINES = (
    ((_MIDDLE, 0.185), 0.05),
    ((_MIDDLE, 0.285), 0.042),
    ((_LEFT, 0.395), 0.047),
    ((_RIGHT, 0.395), 0.047),
    ((_LEFT, 0.49), 0.036),
)


def headline(mode: int | None, arm: str) -> tuple[str, Rgb]:
    """
    Return the name of the mode and its colour.

    Parameters
    ----------
    mode : int or None
        Constant of ilr_dynamics_msgs/ControllerState; None: the controller does not report.
    arm : str
        What tells the arm apart, which goes before the mode; may be empty.
    """
    text, rgb = _SILENT if mode is None else _MODES.get(mode, (f"MODE {mode}", palette.WRONG))
    return f"{shortened(arm, _LONGEST_NAME)} {text}".strip(), rgb


def status_lines(state: ShownState, error: float) -> list[tuple[str, Rgb]]:
    """
    Return controller, model, error, gate and loop time as texts with their colours.

    Parameters
    ----------
    state : ShownState
    error : float
        Distance from the measured tool point to the desired one, m.
    """
    controller = _CONTROLLERS.get(state.controller, state.controller)
    model = PurePath(state.model).name
    gate = (f"gate {100.0 * state.gate:.0f} %", palette.between(state.gate))
    lines = [
        (shortened(controller, LONGEST_TEXT), palette.PLAIN),
        (shortened(model or "no learned model", LONGEST_TEXT) or "?", palette.PLAIN),
        (f"error {_distance(error)}", palette.PLAIN),
        gate if state.learned else ("no gate", palette.SUBDUED),
        (f"loop {1e3 * state.loop_time:.2f} ms", palette.SUBDUED),
    ]
    if state.loop_time == 0.0:
        # The controller then sends torques that answer none.
        lines[4] = ("no joint states", palette.WRONG)
    if state.model and not state.learned:
        text = shortened(model, LONGEST_TEXT - len("unused: "))
        lines[1] = (f"unused: {text}".strip(), palette.SUBDUED)
    return lines


def shortened(text: str, length: int) -> str:
    """Return a text of ASCII, which alone RViz can show, with its end if it is too long."""
    text = "".join(letter if " " <= letter <= "~" else "?" for letter in " ".join(text.split()))
    return text if len(text) <= length else f"..{text[len(text) - length + 2 :]}"


def _distance(metres: float) -> str:
    """Three digits: there is no room for more."""
    if metres >= 0.9995:
        return f"{metres:.2f} m"
    millimetres = 1e3 * metres
    return f"{millimetres:.1f} mm" if millimetres < 99.95 else f"{millimetres:.0f} mm"


class StatusPanel:
    """
    Lines of text of the state.

    Parameters
    ----------
    place : PanelPlace
    arm : str
        What tells the arm apart, such as its namespace; may be empty.
    """

    def __init__(self, place: PanelPlace, arm: str) -> None:
        self._arm = arm
        longest = max(estimated_width(headline(mode, arm)[0]) for mode in (None, *_MODES))
        first = (_HEADLINE, min(_HEADLINE_HEIGHT, WIDTH / longest))
        self._markers = [
            place.text(NAMESPACE, number, middle, height)
            for number, (middle, height) in enumerate((first, *_LINES))
        ]

    def markers(self, mode: int | None, state: ShownState | None, error: float) -> list[Marker]:
        """
        Return the lines; the mode alone without a state.

        Parameters
        ----------
        mode, state, error
            As those of `headline` and `status_lines`.
        """
        lines = [headline(mode, self._arm)]
        if state is not None:
            lines += status_lines(state, error)
        shown = self._markers[: len(lines)]
        for marker, (text, rgb) in zip(shown, lines, strict=True):
            marker.text, marker.color = text, colour(rgb)
        return shown
