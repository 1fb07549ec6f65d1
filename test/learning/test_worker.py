# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ilr_dynamics.exceptions import FileAccessError, RecordingError, SnapshotError
from ilr_dynamics.learning import LoadJob, SaveJob, UpdateJob, learn, read_samples
from ilr_dynamics.learning.protocol import encode_job
from ilr_dynamics.learning.worker import run_job
from ilr_dynamics.regression import Predictor, load_snapshot


def run_worker(line, file_size=None):
    """Run the real process, if asked with a limit of file sizes; return events, code and log."""

    def limit():
        if file_size is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, file_size)

    done = subprocess.run(
        [sys.executable, "-m", "ilr_dynamics.learning.worker"],
        input=line + "\n",
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=limit,
    )
    return [json.loads(line) for line in done.stdout.splitlines()], done.returncode, done.stderr


def ignore(*_):
    pass


@pytest.fixture(scope="module")
def model(bag, arm_settings):
    return learn(read_samples(bag, arm_settings), arm_settings, recordings=[bag])[0]


@pytest.fixture
def snapshot(model, tmp_path):
    path = tmp_path / "known.npz"
    model.save(path)
    return path


def test_update_leaves_snapshot_and_predictor_of_the_model_that_the_function_gives(
    bag, arm_settings, tmp_path, model
):
    events, exit_code, _ = run_worker(encode_job(UpdateJob(str(bag), str(tmp_path), arm_settings)))
    assert exit_code == 0
    assert {event["event"] for event in events[:-1]} == {"progress"}
    assert [event["stage"] for event in events[:-1]][-1] == "saving"
    result = events[-1]
    assert result["event"] == "result"
    assert result["samples_used"] == result["samples_total"] > 700
    learned, predictor = load_snapshot(result["snapshot"]), Predictor.open(result["predictor"])
    np.testing.assert_allclose(learned.statistics_, model.statistics_, rtol=1e-9, atol=1e-12)
    assert result["components_after"] == learned.n_active_
    x = np.full(6, 0.1)
    np.testing.assert_allclose(predictor(x)[0], learned.predict(x[np.newaxis])[0], rtol=1e-9)
    assert len(list(tmp_path.iterdir())) == 2


def test_bad_bag_gives_one_error_line_and_no_files(arm_settings, tmp_path):
    job = UpdateJob("/nowhere/bag", str(tmp_path), arm_settings)
    events, exit_code, log = run_worker(encode_job(job))
    assert exit_code == 1
    (error,) = [event for event in events if event["event"] != "progress"]
    assert error["event"] == "error"
    assert error["message"].startswith("recording '/nowhere/bag' does not exist; expected")
    assert log == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("line", ["garbage", "[" * 100000])
def test_garbage_gives_one_error_line(line):
    events, exit_code, _ = run_worker(line)
    assert exit_code == 1
    (event,) = events
    assert event["event"] == "error"


def test_update_saves_where_it_is_told(bag, arm_settings, tmp_path):
    target = tmp_path / "mine.npz"
    job = UpdateJob(str(bag), str(tmp_path), arm_settings, snapshot_uri=str(target))
    result = run_job(job, ignore)
    assert result.snapshot == str(target)
    assert load_snapshot(target).n_samples_ == result.samples_total


def test_update_keeps_a_copy_of_its_own_to_build_on(bag, arm_settings, tmp_path):
    target, folder = tmp_path / "mine.npz", tmp_path / "own"
    folder.mkdir()
    job = UpdateJob(str(bag), str(folder), arm_settings, snapshot_uri=str(target))
    result = run_job(job, ignore)
    assert {path.parent for path in (Path(result.base), Path(result.predictor))} == {folder}
    target.unlink()
    assert load_snapshot(result.base).n_samples_ == result.samples_total


def test_update_does_not_replace_a_file(bag, arm_settings, tmp_path, snapshot):
    before = snapshot.read_bytes()
    job = UpdateJob(str(bag), str(tmp_path), arm_settings, snapshot_uri=str(snapshot))
    with pytest.raises(SnapshotError, match="exists; expected a new name"):
        run_job(job, ignore)
    assert snapshot.read_bytes() == before


@pytest.mark.parametrize("target", ["/nowhere/model.npz", "/"])
def test_update_that_could_not_be_saved_is_refused_before_learning(
    bag, arm_settings, tmp_path, target
):
    job = UpdateJob(str(bag), str(tmp_path), arm_settings, snapshot_uri=target)
    stages = []
    with pytest.raises(SnapshotError, match="expected a"):
        run_job(job, lambda stage, *_: stages.append(stage))
    assert stages == []


def test_update_on_a_damaged_snapshot_changes_nothing(bag, arm_settings, tmp_path, snapshot):
    snapshot.write_bytes(snapshot.read_bytes()[:1000])
    job = UpdateJob(str(bag), str(tmp_path), arm_settings, str(snapshot))
    with pytest.raises(SnapshotError, match=str(snapshot)):
        run_job(job, ignore)
    assert list(tmp_path.iterdir()) == [snapshot]


def test_update_from_a_truncated_bag_changes_nothing(bag, arm_settings, tmp_path):
    copy = shutil.copytree(bag, tmp_path / "copy")
    file = copy / "bag.mcap"
    file.write_bytes(file.read_bytes()[:5000])
    folder = tmp_path / "out"
    folder.mkdir()
    with pytest.raises(RecordingError, match="cannot be read: it does not begin and end"):
        run_job(UpdateJob(str(copy), str(folder), arm_settings), ignore)
    assert list(folder.iterdir()) == []


def test_update_that_is_worse_leaves_no_files_and_says_why(record_motion, arm_settings, tmp_path):
    # A motion that passes the same states again, the second time with the right sign of torque.
    again = {"frequencies": (1.0, 2.0)}
    snapshot = tmp_path / "known.npz"
    known, _ = learn(read_samples(record_motion(**again), arm_settings), arm_settings)
    known.save(snapshot)
    spoilt_bag = record_motion(**again, wrong_until=0.8)
    folder = tmp_path / "out"
    folder.mkdir()
    job = UpdateJob(str(spoilt_bag), str(folder), arm_settings, str(snapshot))
    result = run_job(job, ignore)
    assert "worse on the newest tenth" in result.refusal
    assert result.worse and result.samples_used > 700
    assert list(folder.iterdir()) == []
    accepted = run_job(replace(job, accept_worse=True), ignore)
    assert accepted.worse and not accepted.refusal
    assert load_snapshot(accepted.snapshot).n_samples_ == accepted.samples_total


def test_disk_that_is_full_at_the_end_leaves_nothing(bag, arm_settings, tmp_path, snapshot):
    before = snapshot.read_bytes()
    folder = tmp_path / "out"
    folder.mkdir()
    # Files that may not grow further fail in the middle of writing, as on a full disk.
    full = (len(before) // 2, resource.RLIM_INFINITY)
    target = str(tmp_path / "new.npz")
    job = UpdateJob(str(bag), str(folder), arm_settings, snapshot_uri=target)
    events, exit_code, _ = run_worker(encode_job(job), full)
    assert exit_code == 1
    assert "cannot write" in events[-1]["message"]
    assert list(folder.iterdir()) == []
    job = SaveJob(str(snapshot), str(snapshot), arm_settings, overwrite=True)
    events, _, _ = run_worker(encode_job(job), full)
    assert events[-1]["event"] == "error"
    assert snapshot.read_bytes() == before
    assert set(tmp_path.iterdir()) == {snapshot, folder}


def test_load_leaves_a_copy_and_a_predictor(arm_settings, tmp_path, snapshot, model):
    folder = tmp_path / "out"
    folder.mkdir()
    result = run_job(LoadJob(str(snapshot), str(folder), arm_settings), ignore)
    assert (result.components_after, result.samples_total) == (model.n_active_, model.n_samples_)
    x = np.full(6, 0.1)
    expected = model.predictor()(x)
    np.testing.assert_array_equal(Predictor.open(result.predictor)(x), expected)
    np.testing.assert_array_equal(load_snapshot(result.base).predictor()(x), expected)


def test_model_has_one_path_however_its_load_was_asked_for(arm_settings, tmp_path, snapshot):
    (tmp_path / "link").symlink_to(snapshot.parent)
    for uri in (snapshot, tmp_path / "link" / snapshot.name, tmp_path / "x" / ".." / "link"):
        uri = uri if uri.suffix else uri / snapshot.name
        result = run_job(LoadJob(str(uri), str(tmp_path), arm_settings), ignore)
        assert result.snapshot == str(snapshot.resolve())


def test_save_copies_the_model_and_its_metadata(arm_settings, tmp_path, snapshot, model):
    target = tmp_path / "saved.npz"
    result = run_job(SaveJob(str(snapshot), str(target), arm_settings), ignore)
    assert result.snapshot == str(target)
    saved = load_snapshot(target)
    np.testing.assert_array_equal(saved.statistics_, model.statistics_)
    assert saved.metadata_ == model.metadata_


def test_save_replaces_a_snapshot_only_if_told(arm_settings, tmp_path, snapshot):
    target = tmp_path / "mine.npz"
    content = bytearray(snapshot.read_bytes())
    content[-3000] ^= 1  # A damaged one may be replaced too.
    target.write_bytes(content)
    with pytest.raises(SnapshotError, match="exists; expected a new name, or overwrite"):
        run_job(SaveJob(str(snapshot), str(target), arm_settings), ignore)
    assert target.read_bytes() == content
    run_job(SaveJob(str(snapshot), str(target), arm_settings, overwrite=True), ignore)
    assert load_snapshot(target).n_samples_ > 0


def test_save_replaces_nothing_but_snapshots(arm_settings, tmp_path, snapshot):
    (tmp_path / "notes.npz").write_text("precious")
    np.savez(tmp_path / "data.npz", a=np.zeros(3))
    os.mkfifo(tmp_path / "pipe.npz")
    for name in ("notes.npz", "data.npz", "pipe.npz"):
        job = SaveJob(str(snapshot), str(tmp_path / name), arm_settings, overwrite=True)
        with pytest.raises(SnapshotError, match=f"{name} is not a snapshot, and only"):
            run_job(job, ignore)
    assert (tmp_path / "notes.npz").read_text() == "precious"


@pytest.mark.parametrize("name", ["model", ".bashrc", "model.npz.txt"])
def test_snapshots_have_their_suffix(bag, arm_settings, tmp_path, snapshot, name):
    target = str(tmp_path / name)
    for job in (
        UpdateJob(str(bag), str(tmp_path), arm_settings, snapshot_uri=target),
        SaveJob(str(snapshot), target, arm_settings),
    ):
        with pytest.raises(SnapshotError, match=r"has no name that ends in \.npz"):
            run_job(job, ignore)


def test_only_files_in_the_allowed_directories_are_touched(bag, arm_settings, tmp_path, snapshot):
    folder = tmp_path / "allowed"
    folder.mkdir()
    (folder / "out").symlink_to(tmp_path)
    (folder / "bag").symlink_to(bag)
    settings = replace(arm_settings, directories=(str(folder),))
    # What the node keeps for itself may lie elsewhere.
    run_job(SaveJob(str(snapshot), str(folder / "mine.npz"), settings), ignore)
    run_job(LoadJob(str(folder / "mine.npz"), str(tmp_path), settings), ignore)
    before = sorted(tmp_path.rglob("*"))
    for target in (tmp_path / "new.npz", folder / "out" / "new.npz", folder / ".." / "new.npz"):
        for job in (
            SaveJob(str(snapshot), str(target), settings),
            SaveJob(str(snapshot), str(target), settings, overwrite=True),
            UpdateJob(str(bag), str(tmp_path), settings, snapshot_uri=str(target)),
        ):
            with pytest.raises(FileAccessError, match="outside the allowed directories"):
                run_job(job, ignore)
    for job in (
        LoadJob(str(snapshot), str(tmp_path), settings),
        LoadJob(str(folder / "out" / snapshot.name), str(tmp_path), settings),
        UpdateJob(str(bag), str(tmp_path), settings),
        UpdateJob(str(folder / "bag"), str(tmp_path), settings),
    ):
        with pytest.raises(FileAccessError, match="outside the allowed directories"):
            run_job(job, ignore)
    assert sorted(tmp_path.rglob("*")) == before
