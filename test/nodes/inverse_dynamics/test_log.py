# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What a run that works writes to the log, and what it leaves to /diagnostics."""

from controller_bench import CYCLE
from lifecycle_msgs.msg import Transition


def test_what_recurs_is_a_line_in_the_log_and_a_number_in_diagnostics(start_bench, tmp_path):
    log = tmp_path / "log"
    with log.open("wb") as stderr, start_bench(stderr=stderr) as bench:
        bench.measured = bench.plant.reset(bench.eight.positions[0])
        assert bench.change_state(Transition.TRANSITION_ACTIVATE)
        bench.run(0.1)
        repeated = bench.joint_state()
        for _ in range(4):
            # Stamps far from the node's clock, found at each diagnostics.
            bench.diagnosis()
            repeated = bench.joint_state()
            bench.cycle()
            assert bench.is_unanswered(repeated)
            bench.time += CYCLE
        _, _, values = bench.diagnosis()
    lines = log.read_text()
    assert lines.count("s behind the node's clock; more like this are counted") == 1, lines
    assert int(values["joint states: clock [times]"]) >= 4
    assert lines.count("joint state not answered: not newer than the last one") == 1, lines
    assert int(values["joint state not answered: not newer [times]"]) == 4
    assert len(lines.splitlines()) <= 10, lines
