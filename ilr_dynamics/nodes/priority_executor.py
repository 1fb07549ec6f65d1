# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Executor that gives priority to one subscription, that of a control loop."""

from __future__ import annotations

import inspect
import time
from typing import Any

from rclpy.executors import SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.node import Node
from rclpy.subscription import Subscription

__all__ = ["PriorityExecutor"]

# Other entities are handled after this number of messages, right after one was answered, when the
# next is not due yet; and after this time if messages are rare. At 500 Hz a service or a timer is
# at most 10 ms late.
OTHERS_MESSAGES = 5
OTHERS_PERIOD = 0.02


class PriorityExecutor:
    """
    Executor of a node with one subscription in a control loop.

    Before each wait rclpy's executor collects all entities of a node again, in Python; for a
    lifecycle node with its services that takes longer than the control law. Here the one
    subscription has its own wait set, as in ``rclpy.wait_for_message``, and rclpy's executor runs
    only now and then.

    Parameters
    ----------
    node : Node
        Node whose other entities are handled by an ordinary single-threaded executor.
    """

    def __init__(self, node: Node) -> None:
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
            return
        now = time.monotonic()
        if now >= self._others_due or self._messages >= OTHERS_MESSAGES:
            self._others_due, self._messages = now + OTHERS_PERIOD, 0
            self._executor.spin_once(timeout_sec=0.0)
        else:
            self._take(subscription, min(timeout, self._others_due - now))

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
