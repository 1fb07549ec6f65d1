# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Real-time operation of a node: thread priorities, garbage collection, executor."""

from __future__ import annotations

import contextlib
import gc
import inspect
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rclpy.executors import SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.node import Node
from rclpy.subscription import Subscription

__all__ = ["PriorityExecutor", "ScheduledCollector", "take_realtime_priority"]

# Other entities are handled after this number of messages, right after one was answered, when the
# next is not due yet; and after this time if messages are rare. At 500 Hz a service or a timer is
# at most 10 ms late.
OTHERS_MESSAGES = 5
OTHERS_PERIOD = 0.02


def take_realtime_priority(priority: int, *, inherited: bool = False) -> str:
    """
    Give the threads of this process a real-time priority (Linux).

    This includes the threads of the middleware, so call it after these were started. Processes
    and threads that are started later have normal priority, unless ``inherited`` is set.

    Parameters
    ----------
    priority : int
        Priority from 1 to 99; 0: change nothing.
    inherited : bool
        Whether children of the calling thread inherit the priority; they must then give it up
        themselves, as a learner does (`LearnerProcess`). The caller that starts a process blocks
        until the kernel has loaded its program, which takes a child of normal priority many
        milliseconds on busy cores.

    Returns
    -------
    str
        Reason why it cannot be done; empty on success or for priority 0.
    """
    if priority == 0:
        return ""
    # Set once: without privileges the flag cannot be removed later, when a process is started.
    heirs = {threading.get_native_id()} if inherited else set()
    try:
        for thread in Path("/proc/self/task").iterdir():
            number = int(thread.name)
            # A thread may have ended in the meantime.
            with contextlib.suppress(ProcessLookupError):
                _set_priority(number, priority, inherited=number in heirs)
    except OSError as error:
        return (
            f"no real-time priority {priority}: {error.strerror}; expected rtprio to be allowed "
            "in /etc/security/limits.conf"
        )
    return ""


def _set_priority(thread: int, priority: int, *, inherited: bool) -> None:
    policy, parameters = os.SCHED_FIFO, os.sched_param(priority)
    if inherited:
        # The parent may have forbidden that this process passes a priority on (systemd:
        # CPUSchedulingResetOnFork). Without privileges it cannot change that, but can have one.
        with contextlib.suppress(PermissionError):
            os.sched_setscheduler(thread, policy, parameters)
            return
    os.sched_setscheduler(thread, policy | os.SCHED_RESET_ON_FORK, parameters)


class ScheduledCollector:
    """
    Garbage collection between control cycles instead of within one.

    By default the collector starts whenever enough objects were made, and visits all that were
    ever imported: 77,000 objects, which took 0.1 s on a busy machine. Therefore the objects that
    exist at the start are excluded (frozen) and the collector is disabled. The few objects made
    later are collected (0.05 ms) right after a torque was sent, when the next joint state is
    furthest away; without that, requests could fill the memory with reference cycles.

    Parameters
    ----------
    interval : int
        Number of control cycles between collections.
    """

    def __init__(self, interval: int) -> None:
        self._interval = interval
        self._cycles = 0

    def start(self) -> None:
        """Freeze existing objects and disable the automatic collector."""
        gc.collect()
        gc.freeze()
        gc.disable()

    def stop(self) -> None:
        """Restore the automatic collector."""
        gc.unfreeze()
        gc.enable()

    def cycle_done(self) -> None:
        """Collect if a collection is due; call it after a torque was sent."""
        self._cycles += 1
        if self._cycles % self._interval == 0:
            gc.collect()


class PriorityExecutor:
    """
    Executor of a node with one subscription in a control loop.

    Before each wait rclpy's executor collects all entities of a node again, in Python; for a
    lifecycle node with its services that takes longer than the control law. Here the one
    subscription has its own wait set, as in ``rclpy.wait_for_message``, and rclpy's executor runs
    only now and then. What the node does without being asked is no entity of it: a timer would
    take turns from requests, as rclpy handles timers first.

    Parameters
    ----------
    node : Node
        Node whose other entities are handled by an ordinary single-threaded executor.
    in_parts : callable, optional
        Does a part of such work, called after each message that was answered or waited for.
    """

    def __init__(self, node: Node, in_parts: Callable[[], None] = lambda: None) -> None:
        self._do_part = in_parts
        self._executor = SingleThreadedExecutor(context=node.context)
        self._executor.add_node(node)
        context = node.context.handle
        assert context is not None
        self._wait_set = _rclpy.WaitSet(1, 0, 0, 0, 0, 0, context)
        self._others_due = 0.0
        self._messages = 0
        self._known: Subscription[Any] | None = None
        self._with_info = False

    def spin_once(self, subscription: Subscription[Any] | None, timeout: float) -> None:
        """
        Wait for the next event and handle it.

        Parameters
        ----------
        subscription : Subscription or None
            Subscription with priority; None: all are equal. As in any other executor, its callback
            takes the message and, if it has a second parameter, the message info.
        timeout : float
            Longest wait, s.
        """
        if subscription is None:
            self._executor.spin_once(timeout_sec=timeout)
            self._do_part()
            return
        now = time.monotonic()
        if now >= self._others_due or self._messages >= OTHERS_MESSAGES:
            self._others_due, self._messages = now + OTHERS_PERIOD, 0
            self._executor.spin_once(timeout_sec=0.0)
        else:
            self._take(subscription, min(timeout, self._others_due - now))
            self._do_part()

    def shutdown(self) -> None:
        """Shut the ordinary executor down."""
        self._executor.shutdown()

    def _take(self, subscription: Subscription[Any], timeout: float) -> None:
        if subscription is not self._known:
            self._known = subscription
            self._with_info = len(inspect.signature(subscription.callback).parameters) > 1
        with subscription.handle:
            self._wait_set.clear_entities()
            self._wait_set.add_subscription(subscription.handle)
            self._wait_set.wait(round(1e9 * timeout))
            if not self._wait_set.get_ready_entities("subscription"):
                return
            received = subscription.handle.take_message(subscription.msg_type, subscription.raw)
        self._messages += 1
        if received is not None:
            subscription.callback(*(received if self._with_info else received[:1]))
