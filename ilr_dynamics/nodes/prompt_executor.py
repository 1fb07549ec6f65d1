# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""An executor that answers one subscription before anything else."""

from __future__ import annotations

import inspect
import time
from typing import Any

from rclpy.executors import SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.node import Node
from rclpy.subscription import Subscription

__all__ = ["PromptExecutor"]

# Everything else gets its turn after this many messages, right behind the answer to one, when the
# next is not due yet; and after this time where messages are rarer. At 500 Hz a service or a timer
# is late by 10 ms at most.
OTHERS_MESSAGES = 5
OTHERS_PERIOD = 0.02


class PromptExecutor:
    """
    Spins a node whose one subscription closes a control loop.

    Before each wait rclpy's executor collects all entities of a node anew, in Python; for a
    lifecycle node with its services that takes longer than the control law. Here the one
    subscription has a wait set of its own, as in ``rclpy.wait_for_message``, and the executor is
    asked only now and then.

    Parameters
    ----------
    node : Node
        Its other entities are spun by an ordinary single-threaded executor.
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
        Handle what comes next.

        Parameters
        ----------
        subscription : Subscription or None
            The one to put first; without one all are equal. Its callback takes a message, and
            with a second parameter what rclpy knows of it, as in any other executor.
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
        """Spin no more."""
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
