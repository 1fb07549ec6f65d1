# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
What a control loop's timing is measured with: processes that look on from outside.

Both send nothing through a connection once they are at work, and what they saw when told to stop.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import struct
import time
from array import array
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Event
from types import TracebackType
from typing import Self

import numpy as np
import rclpy
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.nodes.shared.realtime import take_realtime_priority
from ilr_dynamics.process_lifetime import die_with_parent

__all__ = ["Probe", "observe_torques", "watch_clock"]

# That many seconds of messages wait: they are taken in batches, as their times are known without.
QUEUE = 10.0
BATCH_PERIOD = 0.02
TIMEOUT = 30.0
# CDR: four bytes of encapsulation, then the header's stamp.
STAMP = struct.Struct("<4xiI")


class Probe:
    """
    A probe in a process of its own, for the time of a ``with`` block.

    Parameters
    ----------
    work
        One of the functions below.
    priority
        Real-time priority to ask for: that of the processes which are measured, so that a probe
        does not wait where they do not.
    period
        Of the control loop, s.
    """

    def __init__(
        self,
        work: Callable[[Event, Connection, int, int, float], None],
        priority: int,
        period: float,
    ) -> None:
        context = multiprocessing.get_context("spawn")
        self._stop = context.Event()
        self._results, end = context.Pipe(duplex=False)
        self._process = context.Process(
            target=work, args=(self._stop, end, os.getpid(), priority, period), daemon=True
        )

    def result(self) -> FloatArray:
        """Stop the probe and return what it saw."""
        self._stop.set()
        return self._receive()

    def __enter__(self) -> Self:
        """Start it and wait until it is at work."""
        self._process.start()
        self._receive()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End it."""
        self._process.terminate()
        self._process.join()

    def _receive(self) -> FloatArray:
        if not self._results.poll(TIMEOUT):
            raise TimeoutError(f"a probe sent nothing within {TIMEOUT:g} s")
        return self._results.recv()


def watch_clock(
    stop: Event, results: Connection, parent: int, priority: int, period: float
) -> None:
    """
    Sleep until each period has passed; send when it was due and how late the awakening, (n, 2), s.

    This is what a process can have at best on the machine, beside everything else.
    """
    die_with_parent(parent)
    take_realtime_priority(priority)
    gc.disable()
    lateness = array("d")
    results.send(None)
    start = time.monotonic()
    # The middleware's times are of the clock that counts from 1970.
    start_since_1970 = time.time()
    due = start
    while not stop.is_set():
        due += period
        time.sleep(max(0.0, due - time.monotonic()))
        lateness.append(time.monotonic() - due)
    late = np.array(lateness)
    results.send(np.column_stack((start_since_1970 + period * np.arange(1, len(late) + 1), late)))


def observe_torques(
    stop: Event, results: Connection, parent: int, priority: int, period: float
) -> None:
    """
    Send when each joint state was published and when its torque arrived here, (n, 2), s.

    Rows are in the order of the joint states, NaN where no torque came. Both times are the
    middleware's: when the writer handed the joint state over, and when the torque was there,
    before any Python of this process had to run.
    """
    die_with_parent(parent)
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node = Node("latency_observer")
    depth = round(QUEUE / period)
    torques = QoSProfile(depth=depth, reliability=ReliabilityPolicy.BEST_EFFORT)
    # Nobody spins the node: messages wait until they are taken.
    inputs = [
        (
            node.create_subscription(JointState, topic, print, quality, raw=True),
            key,
        )
        for topic, key, quality in (
            ("joint_states", "source_timestamp", QoSProfile(depth=depth)),
            # As the driver does.
            ("joint_torque_command", "received_timestamp", torques),
        )
    ]
    seen: list[dict[int, int]] = [{}, {}]
    ready = False
    while True:
        last = stop.wait(BATCH_PERIOD)
        for (subscription, key), times in zip(inputs, seen, strict=True):
            while (taken := subscription.handle.take_message(JointState, True)) is not None:
                times.setdefault(_stamp(taken[0]), taken[1][key])
        if not ready and all(seen):
            ready = True
            # By now the middleware has all its threads.
            take_realtime_priority(priority)
            results.send(None)
            seen = [{}, {}]
        if last:
            break
    published, received = seen
    # At the ends either of a pair may be missing.
    stamps = sorted(published)[1:-1]
    times = [(published[stamp], received.get(stamp, np.nan)) for stamp in stamps]
    results.send(1e-9 * np.array(times, dtype=np.float64).reshape(-1, 2))
    node.destroy_node()
    rclpy.shutdown()


def _stamp(data: bytes) -> int:
    sec, nanosec = STAMP.unpack_from(data)
    return 10**9 * sec + nanosec
