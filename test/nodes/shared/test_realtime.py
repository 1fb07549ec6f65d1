# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import gc
import subprocess
import sys
import time
import weakref

import pytest
import rclpy
from rclpy.node import Node
from std_msgs.msg import String

from ilr_dynamics.learning.process import CHRT
from ilr_dynamics.nodes.shared.realtime import (
    PriorityExecutor,
    ScheduledCollector,
    take_realtime_priority,
)

# In a process of its own: the priority of the tests must not change.
CHECK = """
import os, subprocess, sys, threading
from ilr_dynamics.nodes.shared.realtime import take_realtime_priority

waiting = threading.Event()
threading.Thread(target=waiting.wait).start()

print(take_realtime_priority({priority}))
print({{os.sched_getscheduler(int(t)) & 0xFF for t in os.listdir("/proc/self/task")}})
child = "import os; print(os.sched_getscheduler(0))"
print(subprocess.run([sys.executable, "-c", child], capture_output=True, text=True).stdout)
waiting.set()
"""


def check(priority):
    script = CHECK.format(priority=priority)
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60
    )
    assert result.returncode == 0, result.stderr
    refusal, policies, child = result.stdout.split("\n")[:3]
    return refusal, policies, child


def test_threads_have_the_priority_and_children_do_not():
    refusal, policies, child = check(5)
    if refusal:
        assert "expected rtprio to be allowed" in refusal
        assert policies == "{0}"
    else:
        assert policies == "{1}"
    assert child == "0"


def test_none_is_taken_unless_asked_for():
    assert check(0) == ("", "{0}", "0")
    assert take_realtime_priority(0) == ""


# A process with a priority and the flag that systemd's CPUSchedulingResetOnFork sets; without
# privileges it may keep both, and not drop the flag.
FORBIDDEN_TO_PASS_ON = """
import os
from ilr_dynamics.nodes.shared.realtime import take_realtime_priority

for thread in os.listdir("/proc/self/task"):
    policy = os.SCHED_FIFO | os.SCHED_RESET_ON_FORK
    os.sched_setscheduler(int(thread), policy, os.sched_param(5))
if os.geteuid() == 0:
    os.setuid(65534)
try:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(5))
except PermissionError:
    print(take_realtime_priority(5, inherited=True))
    print(os.sched_getscheduler(0) == policy)
"""


def test_priority_is_taken_where_it_must_not_be_passed_on():
    result = subprocess.run(
        [sys.executable, "-c", FORBIDDEN_TO_PASS_ON], capture_output=True, text=True, timeout=60
    )
    if "PermissionError" in result.stderr:
        pytest.skip("no real-time priority is allowed here")
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == ["", "True"]


# On one core: there nothing but the learner itself can give the priority back in time.
START_LEARNER = """
import os, subprocess, sys, time
from ilr_dynamics.learning import LearnerProcess, SaveJob
from ilr_dynamics.nodes.shared.realtime import take_realtime_priority

def scheduler(form):
    return [sys.executable, "-c", f"import json, os; print({form})"]

os.sched_setaffinity(0, list(os.sched_getaffinity(0))[:1])
print(take_realtime_priority(5, inherited=True))
print(subprocess.run(scheduler("os.sched_getscheduler(0)"), capture_output=True, text=True).stdout)
event = 'json.dumps({"event": "error", "message": str(os.sched_getscheduler(0))})'
learner = LearnerProcess(SaveJob("", "", None), scheduler(event))
events = []
while not learner.ended:
    time.sleep(0.01)
    events += learner.poll()
print(*[event.message for event in events])
"""


@pytest.mark.skipif(CHRT is None, reason="chrt of util-linux is not installed")
def test_learner_gives_an_inherited_priority_back_before_anything_else():
    result = subprocess.run(
        [sys.executable, "-c", START_LEARNER], capture_output=True, text=True, timeout=60
    )
    assert result.returncode == 0, result.stderr
    refusal, child, _, learner = result.stdout.splitlines()
    assert child == ("0" if refusal else "1")
    assert learner == "0"


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


@pytest.fixture
def node():
    context = rclpy.Context()
    rclpy.init(context=context)
    node = Node("loop", context=context)
    yield node
    node.destroy_node()
    rclpy.shutdown(context=context)


def test_work_in_parts_takes_no_turn_from_requests(node):
    done = []
    loop = node.create_subscription(String, "state", lambda _: done.append("state"), 10)
    node.create_subscription(String, "request", lambda _: done.append("request"), 10)
    states, requests = (node.create_publisher(String, name, 10) for name in ("state", "request"))
    executor = PriorityExecutor(node, lambda: done.append("part"))
    turns = []
    deadline = time.monotonic() + 30.0
    # States are always there, and so is work in parts.
    while turns.count(("request",)) < 2 and time.monotonic() < deadline:
        states.publish(String())
        requests.publish(String())
        done.clear()
        executor.spin_once(loop, 1.0)
        turns.append(tuple(done))
    executor.shutdown()
    assert turns.count(("request",)) == 2
    # Where no request is there yet, a state may take its turn.
    assert set(turns) <= {("state", "part"), ("part",), ("request",), ("state",), ()}
    assert ("state", "part") in turns


def test_work_in_parts_is_done_where_there_are_no_states_yet(node):
    done = []
    executor = PriorityExecutor(node, lambda: done.append("part"))
    executor.spin_once(None, 0.0)
    executor.spin_once(None, 0.0)
    executor.shutdown()
    assert done == ["part", "part"]
