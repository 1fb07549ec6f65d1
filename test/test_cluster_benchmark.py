# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The benchmark's simulated cluster: what is computed, moved and waited for."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
from _reduction_tree import Constants, Network, simulated_iteration  # noqa: E402

sys.path.remove(str(BENCHMARKS))

CONSTANTS = Constants(
    file_rows=1000,
    file_time=0.1,
    file_spread=0.0,
    file_bytes=10**5,
    add_time=0.0,
    task_time=0.0,
    client_time=0.5,
    request_bytes=1000,
    sums_bytes=700,
)
INSTANT = Network(bandwidth=1e30, latency=0.0)


@pytest.mark.parametrize("n_workers", [1, 2, 8])
def test_without_overhead_workers_share_the_work(n_workers):
    found = simulated_iteration(CONSTANTS, INSTANT, 64_000, n_workers)
    assert found.total == pytest.approx(6.4 / n_workers + 0.5)
    assert found.computing == pytest.approx(6.4 / n_workers)
    assert found.reducing == pytest.approx(0.0)


def test_what_is_moved_does_not_depend_on_the_samples():
    moved = {simulated_iteration(CONSTANTS, INSTANT, n, 4).moved for n in (64_000, 4_096_000)}
    # The request to the cluster and to each worker; three sums to workers, one to the client.
    assert moved == {5 * 1000 + 3 * 700 + 700}


def test_each_overhead_adds_up():
    def total(**changes):
        constants = replace(CONSTANTS, **changes)
        return simulated_iteration(constants, Network(1e6, 0.0), 64_000, 2).total

    alone = total()
    # Three levels of the tree above eight blocks, half of it on each worker.
    assert total(add_time=1.0) == pytest.approx(alone + 2.0, abs=1.01)
    # Eight blocks and seven sums wait for the scheduler, but not all for each other.
    assert alone + 0.1 < total(task_time=0.1) < alone + 1.6
    assert total(request_bytes=10**6) == pytest.approx(alone + 2.0, abs=0.01)
