# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import gc
import weakref

from ilr_dynamics.nodes.garbage import ScheduledCollector


class Cycle:
    def __init__(self):
        self.me = self


def test_garbage_is_collected_at_the_interval_only():
    collector = ScheduledCollector(interval=3)
    collector.start()
    try:
        assert not gc.isenabled()
        lost = weakref.ref(Cycle())
        collector.cycle_done()
        collector.cycle_done()
        assert lost() is not None
        collector.cycle_done()
        assert lost() is None
    finally:
        collector.stop()
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0
