# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Watch over the topic of joint states: its publishers, and a watchdog of its silence."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable

from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from ilr_dynamics.nodes.shared.endpoint_nodes import node_names

__all__ = ["Publishers", "SilenceWatchdog"]

# Shortest time between two queries of the identities, s: a query takes 0.2 ms, for which joint
# states wait. There are none without contradictions.
_LOOK_PERIOD = 0.02
# Period of the watchdog, s.
_TICK = 0.02
# Largest time that one tick counts, s: if nothing else wakes the executor it misses every other.
_LONGEST = 3 * _TICK
_CLOCK_TOPIC = "/clock"


class Publishers:
    """
    Publishers of a topic by number, node and identity.

    Parameters
    ----------
    node : Node
        Node whose graph is queried.
    topic : str
        Name of the topic, with its namespace.
    """

    def __init__(self, node: Node, topic: str) -> None:
        self._node, self._topic = node, topic
        self._names: tuple[str, ...] = ()
        self._identities: list[bytes] = []
        self._looked = -_LOOK_PERIOD

    def named(self) -> tuple[int, tuple[str, ...]]:
        """
        Return the number of publishers, and the names of their nodes as far as known.

        A node with several publishers of the topic is named once, with their number.
        """
        count = self._node.count_publishers(self._topic)
        # Counting takes a third of the time. If there are several, the names are queried each
        # time, as they will be read and one may have replaced another.
        if count > 1 or count != len(self._names):
            infos = self._node.get_publishers_info_by_topic(self._topic)
            self._names = tuple(node_names(infos))
        return count, _counted(self._names)

    def is_present(self, identity: Hashable) -> bool:
        """Whether a publisher with this identity exists, by a query at most 20 ms ago."""
        now = time.monotonic()
        if now - self._looked >= _LOOK_PERIOD:
            self._looked = now
            infos = self._node.get_publishers_info_by_topic(self._topic)
            self._identities = [bytes(info.endpoint_gid) for info in infos]
        # In some releases of ROS the identities in the graph are padded.
        return isinstance(identity, bytes) and any(
            known.startswith(identity) for known in self._identities
        )


def _counted(names: tuple[str, ...]) -> tuple[str, ...]:
    counts = {name: names.count(name) for name in sorted(names)}
    return tuple(f"{name} x {n}" if n > 1 else name for name, n in counts.items())


class SilenceWatchdog:
    """
    Watchdog that calls back periodically while no messages come.

    The times between ticks of a steady clock are summed, each up to a bound: if this process was
    delayed itself, messages may be waiting in its queues, and the delay must not count as silence.
    In a simulation that is slow or stands still a tick counts the simulated time that has passed.
    That requires ``use_sim_time``, a publisher of a ``/clock`` that has been received, and a last
    message with a stamp by that clock.

    Parameters
    ----------
    node : Node
        Node whose executor runs the timer.
    timeout : float
        Longest silence without a callback, s.
    on_silence : callable
        Callback every 20 ms of a longer silence, with its length, s.
    """

    def __init__(self, node: Node, timeout: float, on_silence: Callable[[float], None]) -> None:
        self.timeout = timeout
        self.silence = 0.0
        """Time since the last message, s."""
        self._node = node
        self._on_silence = on_silence
        self._stamp: float | None = None
        self._simulated = 0.0
        self._ticked = time.monotonic()
        self._timer = node.create_timer(
            _TICK, self._tick, clock=Clock(clock_type=ClockType.STEADY_TIME)
        )

    def feed(self, stamp: float | None = None) -> None:
        """Reset the silence after a message with this stamp, s; None if there was no message."""
        self.silence = 0.0
        self._stamp = stamp

    def destroy(self) -> None:
        """Destroy the timer."""
        self._node.destroy_timer(self._timer)

    def _tick(self) -> None:
        self.silence += self._elapsed()
        if self.silence > self.timeout:
            self._on_silence(self.silence)

    def _elapsed(self) -> float:
        """Duration of the tick that counts as silence, s."""
        now = time.monotonic()
        elapsed = min(now - self._ticked, _LONGEST)
        self._ticked = now
        clock = self._node.get_clock()
        # The clock of a node is a ROSClock.
        if not clock.ros_time_is_active:  # type: ignore[attr-defined]
            return elapsed
        before, self._simulated = self._simulated, 1e-9 * clock.now().nanoseconds
        if self._stamp is None or not self._node.count_publishers(_CLOCK_TOPIC):
            return elapsed
        if abs(self._simulated - self._stamp) > self.timeout + _LONGEST:
            return elapsed
        return min(max(self._simulated - before, 0.0), elapsed)
