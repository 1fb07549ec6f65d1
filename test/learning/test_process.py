# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from ilr_dynamics.exceptions import LearnerError
from ilr_dynamics.learning import (
    Failed,
    LearnerLimits,
    LearnerProcess,
    LearningReport,
    Progressed,
    SaveJob,
    UpdateJob,
    learn,
    read_samples,
)
from ilr_dynamics.learning.process import NICENESS
from ilr_dynamics.learning.protocol import encode_job
from ilr_dynamics.regression import load_snapshot

TIMEOUT = 60.0


def wait(condition):
    """Wait for a condition, as a timer of a control loop would."""
    deadline = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.005)


def collect(learner):
    """All events of a learner."""
    events = []
    wait(lambda: events.extend(learner.poll()) or learner.ended)
    assert learner.poll() == []
    return events


def is_running(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def python(code):
    return [sys.executable, "-c", code]


@pytest.fixture
def job(bag, arm_settings, tmp_path):
    return UpdateJob(str(bag), str(tmp_path), arm_settings)


@pytest.fixture
def long_job(bag, arm_settings, tmp_path):
    """A job that is at work for many seconds."""
    model = {"n_components": 300, "max_iterations": 100_000, "tolerance": 1e-300}
    return UpdateJob(str(bag), str(tmp_path), replace(arm_settings, model=model))


@pytest.fixture
def busy_learner(long_job):
    """A learner in the middle of its work."""
    learner = LearnerProcess(long_job)
    events = []
    wait(lambda: events.extend(learner.poll()) or any(e.stage == "learning" for e in events))
    yield learner
    learner.close()


def test_good_job_reports_progress_and_ends_with_its_result(job):
    learner = LearnerProcess(job)
    *progress, last = collect(learner)
    assert all(isinstance(event, Progressed) for event in progress)
    assert [event.stage for event in progress][0] == "reading"
    assert isinstance(last, LearningReport)
    assert Path(last.snapshot).exists() and Path(last.predictor).exists()
    # After the end nothing changes that.
    learner.cancel()
    learner.kill()
    assert learner.poll() == []


def test_bad_job_ends_with_the_reason(job):
    *_, last = collect(LearnerProcess(replace(job, bag_uri="/nowhere/bag")))
    assert isinstance(last, Failed)
    assert "'/nowhere/bag' does not exist; expected" in last.message


def test_starting_and_polling_wait_for_nothing(job, tmp_path):
    # A program that neither reads its job, ten times what a pipe holds, nor says a word before
    # this test goes on.
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    learner = LearnerProcess(
        replace(job, bag_uri="x" * 655_360),
        python(f"import sys; open({str(gate)!r}); print(len(sys.stdin.readline()) > 655_360)"),
    )
    assert not any(learner.poll() for _ in range(300))
    gate.open("w").close()
    last = collect(learner)[-1]
    assert isinstance(last, Failed)
    assert "the learner printed b'True'" in last.message


def test_learner_yields_to_the_controller_in_a_session_of_its_own(busy_learner):
    pid = busy_learner.pid
    assert os.getpriority(os.PRIO_PROCESS, pid) == os.getpriority(os.PRIO_PROCESS, 0) + NICENESS
    assert os.getsid(pid) == os.getpgid(pid) == pid != os.getsid(0)
    # Where the kernel divides time among sessions.
    autogroup = Path(f"/proc/{pid}/autogroup")
    if autogroup.exists() and autogroup.read_text():
        assert autogroup.read_text().split()[-1] == str(NICENESS)
    threads = len(list(Path(f"/proc/{pid}/task").iterdir()))
    assert threads == 1
    # The kernel, short of memory, kills it before the controller.
    assert Path(f"/proc/{pid}/oom_score_adj").read_text().strip() == "1000"


def test_cancelled_learner_ends_and_leaves_nothing(busy_learner, tmp_path):
    busy_learner.cancel()
    *_, last = collect(busy_learner)
    assert last == Failed("learning was cancelled")
    assert not is_running(busy_learner.pid)
    assert list(tmp_path.iterdir()) == []


def test_killed_learner_ends_and_leaves_nothing(busy_learner, tmp_path):
    busy_learner.kill()
    assert collect(busy_learner)[-1] == Failed("learning was cancelled")
    assert list(tmp_path.iterdir()) == []


def test_learner_killed_by_someone_else_is_a_failure(busy_learner, tmp_path):
    os.kill(busy_learner.pid, signal.SIGKILL)
    last = collect(busy_learner)[-1]
    assert isinstance(last, Failed)
    assert "ended without a result (signal SIGKILL" in last.message
    assert list(tmp_path.iterdir()) == []


def test_learner_that_hangs_is_killed(job):
    code = "print('{}', flush=True); import time; time.sleep(60)"
    progress = '{"event": "progress", "stage": "reading", "fraction": 0.5, "lower_bound": null}'
    limits = LearnerLimits(timeout=2.0)
    learner = LearnerProcess(job, python(code.format(progress)), limits)
    *progress, last = collect(learner)
    assert all(isinstance(event, Progressed) for event in progress)
    assert isinstance(last, Failed)
    assert "made no progress for 2 s and was killed" in last.message
    assert not is_running(learner.pid)


def test_learner_that_does_not_stop_when_asked_to_is_killed(busy_learner):
    os.kill(busy_learner.pid, signal.SIGSTOP)
    busy_learner.cancel()
    assert collect(busy_learner)[-1] == Failed("learning was cancelled")
    assert not is_running(busy_learner.pid)


def test_learner_that_needs_too_much_memory_says_so(bag, arm_settings, tmp_path):
    # 923 terms, whose products take 7 MB for each component.
    huge = replace(arm_settings, model={"n_components": 99, "features": "polynomial", "degree": 6})
    job = UpdateJob(str(bag), str(tmp_path), huge)
    last = collect(LearnerProcess(job, limits=LearnerLimits(memory=400e6)))[-1]
    assert isinstance(last, Failed)
    assert "ran out of memory" in last.message
    assert "a higher learning.memory_limit" in last.message
    assert list(tmp_path.iterdir()) == []


def test_snapshot_survives_a_kill_in_the_middle_of_saving(bag, arm_settings, tmp_path):
    snapshot = tmp_path / "model.npz"
    model, _ = learn(read_samples(bag, arm_settings), arm_settings)
    model.save(snapshot)
    again = encode_job(SaveJob(str(snapshot), str(snapshot), arm_settings, overwrite=True))
    code = f"""
from ilr_dynamics.learning.protocol import decode_job
from ilr_dynamics.learning.worker import run_job
job = decode_job({again!r})
while True:
    run_job(job, None)
    print("saved", flush=True)
"""
    for delay in (0.0, 0.004):
        saver = subprocess.Popen(python(code), stdout=subprocess.PIPE, text=True)
        assert saver.stdout.readline() == "saved\n"
        time.sleep(delay)
        saver.kill()
        saver.communicate()
        assert load_snapshot(snapshot).n_samples_ > 700


@pytest.mark.parametrize(
    "code, message",
    [
        ("print('hello')", "the learner printed b'hello'; expected a JSON event"),
        ("print('{}', flush=True); import time; time.sleep(60)", "printed b'{}'"),
        ("print('[1]')", "printed b'[1]'"),
        ("print('[' * 100_000)", "printed b'[[["),
        ('print(\'{"event": "result", "mood": "good"}\')', "expected a JSON event"),
        ('print(\'{"event": "progress"}\')', "expected a JSON event"),
        ("import sys; sys.stdout.write('x' * 3_000_000)", "printed b'xxx"),
        ("import sys; sys.stdout.buffer.write(bytes(range(256)))", "expected a JSON event"),
        ("", "ended without a result (exit code 0; nothing in its log)"),
        ("raise SystemExit('no licence')", "(exit code 1; no licence)"),
        ("1 / 0", "ZeroDivisionError"),
        ("import os; os.abort()", "signal SIGABRT"),
    ],
)
def test_process_that_is_no_learner_is_a_failure(job, code, message):
    last = collect(LearnerProcess(job, python(code)))[-1]
    assert isinstance(last, Failed)
    assert message in last.message


def test_log_does_not_block_the_learner(job):
    code = "import sys; sys.stderr.write('x' * 1_000_000); print('{\"event\": \"result\"}')"
    assert collect(LearnerProcess(job, python(code)))[-1] == LearningReport()


def test_program_that_cannot_be_started_is_an_error(job):
    with pytest.raises(LearnerError, match="cannot be started"):
        LearnerProcess(job, ["/nowhere/python"])


def test_learner_ends_with_its_parent(long_job, tmp_path):
    code = f"""
import time
from ilr_dynamics.learning import LearnerProcess
from ilr_dynamics.learning.protocol import decode_job
learner = LearnerProcess(decode_job({encode_job(long_job)!r}))
while not any(event.stage == "learning" for event in learner.poll()):
    time.sleep(0.005)
print(learner.pid, flush=True)
time.sleep(60)
"""
    parent = subprocess.Popen(python(code), stdout=subprocess.PIPE, text=True)
    pid = int(parent.stdout.readline())
    assert is_running(pid)
    parent.kill()
    parent.communicate()
    wait(lambda: not is_running(pid))
    assert list(tmp_path.iterdir()) == []
