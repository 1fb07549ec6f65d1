# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""BLAS has one thread inside learning and prediction, and outside what it had before."""

from __future__ import annotations

import linecache
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import threadpoolctl

from ilr_dynamics.blas_threads import one_blas_thread
from ilr_dynamics.regression import ILR, BatchInference
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.identified_dynamics import IdentifiedDynamics

GENERATOR = np.random.default_rng(0)
X, Y = GENERATOR.normal(size=(60, 2)), GENERATOR.normal(size=(60, 1))
# Of what has no thread of its own, as some builds of BLAS: then there is nothing to see.
pytestmark = pytest.mark.skipif(
    not threadpoolctl.ThreadpoolController().select(user_api="blas").lib_controllers,
    reason="this machine's BLAS has no threads to set",
)


def threads_of_blas():
    return {info["num_threads"] for info in threadpoolctl.threadpool_info() if is_blas(info)}


def is_blas(info):
    return info["user_api"] == "blas"


@pytest.fixture(autouse=True)
def two_threads():
    """What a user has, also on a machine of one core."""
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        yield


@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
def test_learning_has_one_thread_and_gives_the_others_back(learn):
    model, seen = ILR(3, random_state=0).fit(X, Y), []
    getattr(model, learn)(X, Y, callback=lambda *_: seen.append(threads_of_blas()))
    assert seen and all(threads == {1} for threads in seen)
    assert threads_of_blas() == {2}


def test_densities_of_many_have_one_thread(monkeypatch):
    """What is compiled has no BLAS; densities of what it says do."""
    model, seen = ILR(3, random_state=0).fit(X, Y), []
    kind = type(model._predictive)
    asked = kind.log_density
    monkeypatch.setattr(
        kind, "log_density", lambda *a: seen.append(threads_of_blas()) or asked(*a)
    )
    model.log_predictive_density(X, Y)
    assert seen == [{1}]
    assert threads_of_blas() == {2}


def test_identified_dynamics_have_one_thread_for_many_samples(monkeypatch):
    dynamics, seen = IdentifiedDynamics.from_description(load_description("wam4")), []
    kind = type(dynamics.regressor)
    asked = kind.__call__
    monkeypatch.setattr(kind, "__call__", lambda *a: seen.append(threads_of_blas()) or asked(*a))
    states = GENERATOR.normal(size=(20, 12))
    dynamics.updated(states, states[:, :4], np.ones(20)).predict(states)
    assert seen and all(threads == {1} for threads in seen)
    assert threads_of_blas() == {2}


def test_threads_come_back_after_an_error():
    with pytest.raises(ValueError, match="inside"), one_blas_thread:
        raise ValueError("inside")
    assert threads_of_blas() == {2}


class RaisedAt:
    """Raise in the n-th line of entering and leaving, as the handler of a signal may."""

    CODES = tuple(
        getattr(type(one_blas_thread), name).__code__
        for name in ("__enter__", "__exit__", "_limit", "_restore")
    )

    def __init__(self, n):
        self.left = n

    def __call__(self, frame, event, _):
        if frame.f_code not in self.CODES:
            return None
        # Python looks for signals after calls: not before `try`, nor between a lock and its block.
        line = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
        if event == "line" and not line.startswith(("entered =", "left =", "try:", "with")):
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
        return self

    def run(self):
        """Whether anything was raised at all."""
        sys.settrace(self)
        try:
            with one_blas_thread:
                pass
        except KeyboardInterrupt:
            return True
        finally:
            sys.settrace(None)
        return False


def test_threads_come_back_wherever_a_signal_interrupts():
    lines = 0
    while RaisedAt(lines + 1).run():
        lines += 1
        assert threads_of_blas() == {2}, f"after line {lines}"
        with one_blas_thread:
            assert threads_of_blas() == {1}
        assert threads_of_blas() == {2}
    assert lines > 10


def test_a_number_that_was_not_restored_is_restored_the_next_time():
    """Two signals, the second while the first one's damage is mended."""
    one_blas_thread._limit()
    assert threads_of_blas() == {1}
    with one_blas_thread:
        pass
    assert threads_of_blas() == {2}


def test_the_last_to_leave_gives_the_threads_back():
    """Two fits in two Python threads, the first to begin being the first to end."""
    first_inside, second_inside, first_left = (threading.Event() for _ in range(3))
    seen = []

    def first():
        with one_blas_thread:
            first_inside.set()
            second_inside.wait()
        first_left.set()

    def second():
        first_inside.wait()
        with one_blas_thread:
            second_inside.set()
            first_left.wait()
            seen.append(threads_of_blas())

    workers = [threading.Thread(target=target) for target in (first, second)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert seen == [{1}]
    assert threads_of_blas() == {2}


def test_a_fit_is_the_same_to_the_bit_whatever_the_number_of_threads():
    X = GENERATOR.normal(size=(2000, 3))
    first, second = (fitted(X, threads) for threads in (1, 2))
    np.testing.assert_array_equal(first.lower_bounds_, second.lower_bounds_)
    np.testing.assert_array_equal(first.predict(X), second.predict(X))


def fitted(X, threads):
    with threadpoolctl.threadpool_limits(threads, user_api="blas"):
        return ILR(30, random_state=0, inference=BatchInference(max_iterations=10)).fit(
            X, np.sin(X)
        )


def test_one_query_needs_no_second_thread():
    """So that the control loop need not ask for what a query of many components costs."""
    X = GENERATOR.normal(size=(4000, 12))
    predictor = (
        ILR(1000, random_state=0, inference=BatchInference(max_iterations=2))
        .fit(X, X[:, :4])
        .predictor()
    )
    np.ones((400, 400)) @ np.ones((400, 400))  # the other threads are there
    others = [task for task in Path("/proc/self/task").iterdir() if task.name != own_task()]
    time.sleep(0.2)  # and have stopped waiting for more of it
    before = sum(map(processor_time, others))
    start = processor_time(Path("/proc/self/task") / own_task())
    for x in np.concatenate([X, 10.0 * X]):
        predictor(x)
    used = processor_time(Path("/proc/self/task") / own_task()) - start
    assert used > 10
    assert sum(map(processor_time, others)) - before < 0.1 * used


def own_task():
    return str(threading.get_native_id())


def processor_time(task):
    """Of a thread, in ticks of the clock."""
    return sum(map(int, (task / "stat").read_text().rsplit(")", 1)[1].split()[11:13]))


def test_without_threadpoolctl_learning_goes_on_and_says_what_is_missing():
    code = """
import sys
sys.modules["threadpoolctl"] = None
import numpy as np
from ilr_dynamics.regression import BatchInference, ILR
x = np.linspace(0.0, 1.0, 20)[:, None]
print(ILR(2).fit(x, x).predict(x).shape)
"""
    run = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "(20, 1)"
    assert "threadpoolctl is not installed" in run.stderr
