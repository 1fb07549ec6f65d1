# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Simulation of one iteration on a cluster, from what its parts take on this machine."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from itertools import count

import numpy as np

from ilr_dynamics.learning.cluster import BLOCKS_PER_WORKER
from ilr_dynamics.regression.shared.map_reduce import aligned_blocks, tree_sum

__all__ = ["Constants", "Iteration", "Network", "simulated_iteration"]


@dataclass(frozen=True)
class Constants:
    """
    What was measured: times in s, sizes in bytes.

    Parameters
    ----------
    file_rows
        Rows of a file of samples.
    file_time, file_spread
        E-step of a file, and its deviation from file to file as a share of it.
    file_bytes
        Size of a file.
    add_time
        Sum of two results.
    task_time
        What the scheduler takes for a task.
    client_time
        What remains for the client: M-step, lower bound, forms.
    request_bytes, sums_bytes
        What each worker needs to know, and one result.
    """

    file_rows: int
    file_time: float
    file_spread: float
    file_bytes: int
    add_time: float
    task_time: float
    client_time: float
    request_bytes: int
    sums_bytes: int


@dataclass(frozen=True)
class Network:
    """
    What is assumed of a network.

    Parameters
    ----------
    bandwidth
        Of each machine, bytes/s.
    latency
        Of a message, s.
    """

    bandwidth: float
    latency: float


@dataclass(frozen=True)
class Iteration:
    """
    An iteration: times in s, sizes in bytes.

    Attributes
    ----------
    total
        From the client's forms to the client's next ones.
    computing
        What the E-steps take if they are evenly divided.
    sending
        Until the last worker knows what is asked, and the scheduler has sent all tasks.
    reducing
        From the end of the last block to the sum at the client.
    moved
        Bytes that cross the network.
    n_tasks
        Tasks that the scheduler handles.
    """

    total: float
    computing: float
    sending: float
    reducing: float
    moved: int
    n_tasks: int


def simulated_iteration(
    constants: Constants, network: Network, n_rows: int, n_workers: int, seed: int = 0
) -> Iteration:
    """
    Simulate an iteration: blocks of files on workers, and the tree of their sums.

    The request is read by all from the one worker that has it, one after the other, the worst
    case. Each addition takes place where its first term is; the scheduler handles one task at a
    time, additions when both terms are there. The client's own time comes last.
    """
    generator = np.random.default_rng(seed)
    n_files = max(1, n_rows // constants.file_rows)
    sizes = [len(block) for block in aligned_blocks(range(n_files), BLOCKS_PER_WORKER * n_workers)]
    owner = [n_workers * number // len(sizes) for number in range(len(sizes))]
    message = network.latency + constants.request_bytes / network.bandwidth
    known = message * np.arange(1, n_workers + 1)
    free = known.copy()
    ends = []
    for number, size in enumerate(sizes):
        mean, spread = size * constants.file_time, constants.file_spread * np.sqrt(size)
        duration = max(0.0, mean + spread * constants.file_time * generator.normal())
        sent = constants.task_time * (number + 1)
        free[owner[number]] = max(free[owner[number]], sent) + duration
        ends.append(float(free[owner[number]]))
    reduced, moved = _reduced(constants, network, ends, owner)
    last = max(ends)
    return Iteration(
        total=reduced + constants.client_time,
        computing=n_files * constants.file_time / n_workers,
        sending=float(max(known[-1], constants.task_time * len(sizes))),
        reducing=reduced - last,
        moved=moved + (n_workers + 1) * constants.request_bytes,
        n_tasks=2 * len(sizes),
    )


def _reduced(
    constants: Constants, network: Network, ends: list[float], owner: list[int]
) -> tuple[float, int]:
    """When the client has the sum of all blocks, and how many bytes were sent for it."""
    terms: dict[int, tuple[int, int]] = {}
    numbers = count(len(ends))

    def add(left: int, right: int) -> int:
        node = next(numbers)
        terms[node] = left, right
        return node

    root = tree_sum(range(len(ends)), add)
    parent = {term: node for node, pair in terms.items() for term in pair}
    place, time = dict(enumerate(owner)), dict(enumerate(ends))
    queue = [(end, number) for number, end in enumerate(ends)]
    heapq.heapify(queue)
    arrived: set[int] = set()
    scheduler_free, moved = 0.0, 0
    while queue:
        end, node = heapq.heappop(queue)
        if node == root:
            break
        above = parent[node]
        if above not in arrived:
            arrived.add(above)
            continue
        left, right = terms[above]
        scheduler_free = max(scheduler_free, end) + constants.task_time
        time[above], place[above] = scheduler_free + constants.add_time, place[left]
        if place[left] != place[right]:
            time[above] += network.latency + constants.sums_bytes / network.bandwidth
            moved += constants.sums_bytes
        heapq.heappush(queue, (time[above], above))
    sent = network.latency + constants.sums_bytes / network.bandwidth
    return time[root] + sent, moved + constants.sums_bytes
