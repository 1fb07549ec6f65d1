# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Messages of a bag as they are, where a test asks for these and not for what they say."""

from __future__ import annotations

from types import SimpleNamespace

from ilr_dynamics.recording.bag import DEFAULT_LIMITS, read_bag


class KeptMessages:
    """Keeps the messages of a topic (`MessageConsumer`)."""

    message_nbytes = 100

    def __init__(self):
        self.messages, self.received = [], []

    @property
    def nbytes(self):
        return sum(map(len, self.messages))

    def take(self, messages, received):
        self.messages += messages
        self.received += received

    def in_order(self):
        """Messages in the order of their receipt."""
        order = sorted(range(len(self.received)), key=self.received.__getitem__)
        return [self.messages[k] for k in order]


def read_messages(uri, topics, limits=DEFAULT_LIMITS, directories=None):
    """Read a bag; `messages` are those of each topic in the order of their receipt."""
    consumers = {topic: KeptMessages() for topic in topics}
    bag = read_bag(uri, consumers, limits, directories)
    return SimpleNamespace(
        types=bag.types,
        annotations=bag.annotations,
        messages={topic: consumer.in_order() for topic, consumer in consumers.items()},
    )
