# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Learning by a Dask cluster of processes: the model of one process, also if one is killed."""

from __future__ import annotations

import io
import logging
import os
import shutil
import signal
import sys
import threading
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from ilr_dynamics.cli.train import main
from ilr_dynamics.exceptions import InvalidParameterError, LearnerError, RecordingError
from ilr_dynamics.learning import cluster, prior
from ilr_dynamics.learning.cluster import open_cluster
from ilr_dynamics.learning.joint_training import STOCHASTIC, learn_together
from ilr_dynamics.learning.training import prepare_training
from ilr_dynamics.regression import ILR, BatchInference, fit_files, load_snapshot, write_samples
from ilr_dynamics.regression.shared.map_reduce import OneProcess


@pytest.fixture(scope="module")
def workers():
    pytest.importorskip(
        "distributed", reason="distributed is not installed (pip install distributed)"
    )
    with open_cluster("local:2") as mapper:
        yield mapper


@pytest.fixture(scope="module")
def recorded(record_motion, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for name, amplitude in (("run1", 0.4), ("run2", 0.8), ("run3", 0.6)):
        shutil.move(record_motion(amplitude, n_states=400), folder / name)
    return folder


def test_a_worker_that_is_killed_changes_nothing(workers, tmp_path):
    generator = np.random.default_rng(0)
    X = generator.uniform(-2.0, 2.0, (3000, 3))
    Y = np.sin(X[:, :2] * X[:, 1:])
    # Few: each costs some messages between processes in each iteration.
    files = [write_samples(tmp_path / f"{k}.npy", X[k::4], Y[k::4]) for k in range(4)]
    first, _ = before = list(workers.client.run(os.getpid).values())
    killed = []

    def kill(iteration, max_iterations, bound):
        if iteration == 2:
            killed.append(threading.Timer(0.02, os.kill, (first, signal.SIGKILL)))
            killed[0].start()

    def learn(mapper, callback=None):
        model = ILR(30, inference=BatchInference(6))
        return fit_files(model, files, mapper=mapper, callback=callback)

    found, expected = learn(workers, kill), learn(OneProcess())
    killed[0].join()
    np.testing.assert_array_equal(found.lower_bounds_, expected.lower_bounds_)
    np.testing.assert_allclose(found.predict(X), expected.predict(X), rtol=1e-8, atol=1e-12)
    assert first in before and first not in workers.client.run(os.getpid).values()


def test_ctrl_c_is_for_the_program_and_not_for_its_workers(workers):
    """A terminal sends it to all processes, and each would print where it was."""
    before = workers.client.run(os.getpid)
    for process in before.values():
        os.kill(process, signal.SIGINT)
    assert workers.map(divmod, [7, 8], 3) == [(2, 1), (2, 2)]
    # One that another test has killed may have come back meanwhile.
    assert before.items() <= workers.client.run(os.getpid).items()
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


@pytest.mark.parametrize("stochastic", [False, True], ids=["batch", "stochastic"])
def test_train_with_a_cluster_learns_what_one_process_learns(
    workers, recorded, arm_settings, tmp_path, capsys, monkeypatch, stochastic
):
    # Some iterations tell as much as all.
    monkeypatch.setattr(prior, "INFERENCE", replace(prior.INFERENCE, max_iterations=5))
    few = replace(STOCHASTIC, max_iterations=3)
    monkeypatch.setattr("ilr_dynamics.cli.train.STOCHASTIC", few)
    output, samples = tmp_path / "model.npz", tmp_path / "samples"
    samples.mkdir()
    arm = ["--joints", *arm_settings.joint_names, "--components", "6", "--sample-rate", "0"]
    more = ["--stochastic"] if stochastic else []
    address = workers.client.scheduler.address
    assert main([str(recorded), "-o", str(output), *arm, "--cluster", address, *more]) == 0
    shown = capsys.readouterr().out
    uris = [str(recorded / name) for name in ("run1", "run2", "run3")]
    assert all(uri in shown for uri in uris)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.npz", "samples"]
    settings = replace(arm_settings, model={**arm_settings.model, "n_components": 6})
    training = prepare_training([str(recorded)], settings, None, tmp_path)
    model, report = learn_together(
        training,
        settings,
        OneProcess(),
        samples,
        inference=few if stochastic else None,
    )
    found = load_snapshot(output)
    np.testing.assert_array_equal(found.statistics_, model.statistics_)
    assert found.metadata_ == model.metadata_ and model.metadata_["recordings"] == uris
    assert report.samples_used == found.n_samples_ == sum(c.n_samples for c in training.candidates)
    # What a model has learned at once it does not learn again.
    with pytest.raises(LearnerError, match="has learned .* already"):
        prepare_training([str(recorded / "run2")], settings, output, tmp_path)
    # On the newest tenths, which the first model has not seen.
    scale = np.std(np.concatenate([c.samples.Y for c in training.candidates if c.samples]), axis=0)
    assert np.all(np.sqrt(report.error_after) < 0.2 * scale)


def test_a_recording_that_is_gone_is_named_or_left_out(recorded, arm_settings, tmp_path):
    runs = shutil.copytree(recorded, tmp_path / "runs")
    training = prepare_training([str(runs)], arm_settings, None, tmp_path)
    shutil.rmtree(runs / "run2")
    samples = tmp_path / "samples"
    samples.mkdir()
    learn = partial(learn_together, training, arm_settings, OneProcess(), samples)
    with pytest.raises(RecordingError, match="run2 is gone since it was inspected"):
        learn()
    few = replace(STOCHASTIC, max_iterations=1)
    model, report = learn(inference=few, skip_bad=True)
    left = [str(runs / "run1"), str(runs / "run3")]
    assert sorted(report.gains) == model.metadata_["recordings"] == left
    assert "run2 is left out" in report.notes[-1]
    for uri in left:
        shutil.rmtree(uri)
    with pytest.raises(LearnerError, match="no recording is left .*run1 is gone .*run3 is gone"):
        learn(skip_bad=True)


def test_a_folder_that_workers_do_not_see_is_named(workers, tmp_path):
    with workers.samples_folder(tmp_path) as folder:
        assert folder.parent == tmp_path
    descriptor = os.open(tmp_path, os.O_RDONLY)
    # The same name leads each process to a folder of its own, or to none.
    private = Path(f"/proc/self/fd/{descriptor}")
    with (
        pytest.raises(LearnerError, match=f"tcp.* do not see the folder {private}"),
        workers.samples_folder(private),
    ):
        pass
    os.close(descriptor)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_refused(workers):
    with (
        pytest.raises(LearnerError, match=r"no folder for samples can be made in /proc/self \("),
        workers.samples_folder(Path("/proc/self")),
    ):
        pass
    found = workers.client.run(cluster.objection_to, "/proc/self")
    with pytest.raises(LearnerError, match=r"tcp.* \(.*\) cannot write to the folder /proc/self"):
        cluster.check_seen(Path("/proc/self"), found)


def test_errors_of_workers_are_told(workers):
    def fail(item, shared):
        raise shared(f"item {item} is bad")

    with pytest.raises(InvalidParameterError, match="item 3 is bad"):
        workers.map(fail, [3], InvalidParameterError)
    with pytest.raises(LearnerError, match=r"cluster failed: ZeroDivisionError: item 3 is bad"):
        workers.sum(fail, [3], ZeroDivisionError)


@pytest.fixture
def elsewhere(workers, monkeypatch):
    """A cluster that runs by itself, in a thread: its scheduler, and one worker."""
    import distributed

    monkeypatch.setattr(cluster, "LOOK_PERIOD", 0.05)
    monkeypatch.setattr(cluster, "TOLD_AFTER", 0.0)
    with distributed.LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        processes=False,
        protocol="tcp://",
        dashboard_address=":0",
        silence_logs=False,
    ) as running:
        yield running


def without_workers(elsewhere, mapper):
    elsewhere.scale(0)
    while mapper.client.nthreads():
        time.sleep(0.01)
    return mapper


def test_a_cluster_whose_workers_are_all_gone_is_waited_for_and_then_given_up(
    elsewhere, monkeypatch
):
    monkeypatch.setattr(cluster, "GIVEN_UP_AFTER", 0.2)
    told = []
    with open_cluster(elsewhere.scheduler_address, told.append) as mapper:
        without_workers(elsewhere, mapper)
        for ask in (mapper.map, mapper.sum):
            with pytest.raises(LearnerError, match="has had no workers for 0 s; expected at"):
                ask(divmod, [7], 3)
            assert told == ["the cluster has no workers left; waits up to 0 s for one"]
            told.clear()


def test_a_cluster_that_gets_workers_again_goes_on(elsewhere):
    with open_cluster(elsewhere.scheduler_address, lambda _: elsewhere.scale(1)) as mapper:
        assert without_workers(elsewhere, mapper).map(divmod, [7], 3) == [(2, 1)]


def test_a_scheduler_that_is_gone_is_named_and_nothing_else_said(elsewhere):
    log = logging.StreamHandler(io.StringIO())
    logging.getLogger("distributed").addHandler(log)
    address = elsewhere.scheduler_address
    with open_cluster(address, lambda _: elsewhere.close()) as mapper:
        without_workers(elsewhere, mapper)
        for ask in (mapper.map, mapper.sum):
            with pytest.raises(LearnerError, match=f"the Dask scheduler at {address} is gone"):
                ask(divmod, [7], 3)
    logging.getLogger("distributed").removeHandler(log)
    assert log.stream.getvalue() == ""


@pytest.mark.parametrize("address", ["local", "local:", "local:0", "local:-1", "local:two", " "])
def test_a_cluster_that_is_none_is_refused(address):
    with pytest.raises(InvalidParameterError, match="expected local:N"), open_cluster(address):
        pass


def test_more_processes_than_the_machine_could_run_are_refused():
    """As of a port that was meant."""
    with pytest.raises(InvalidParameterError, match=r"'local:8786', .* expected at most \d+, or"):
        with open_cluster("local:8786"):
            pass


def test_a_scheduler_that_does_not_answer_is_named(workers, monkeypatch):
    monkeypatch.setattr(cluster, "CONNECT_TIMEOUT", 0.3)
    address = "tcp://127.0.0.1:1"
    answers = pytest.raises(LearnerError, match=f"no Dask scheduler answers at {address}")
    with answers, open_cluster(address):
        pass


def test_without_distributed_train_says_what_to_install(recorded, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    arguments = [str(recorded), "-o", str(tmp_path / "model.npz"), "--joints", "j1", "j2"]
    assert main([*arguments, "--cluster", "local:2"]) == 1
    assert "pip install distributed" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
    for more, text in (
        (["--stochastic"], "--stochastic is for --cluster"),
        (["--cluster", "local:2", "--snapshot", "old.npz"], "expected no --snapshot, got old.npz"),
    ):
        assert main([*arguments, *more]) == 1
        assert text in capsys.readouterr().err
