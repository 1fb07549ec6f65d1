# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Training from several recordings: what is learned, in which order, and after an interruption."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ilr_dynamics.exceptions import (
    FileAccessError,
    LearnerError,
    RecordingError,
    SnapshotError,
)
from ilr_dynamics.learning import UpdateJob, learn, read_samples
from ilr_dynamics.learning.learn import ignore_progress
from ilr_dynamics.learning.learned_recording import (
    LEARNED,
    learned_before_change,
    learned_recordings,
)
from ilr_dynamics.learning.sequential_training import learn_recordings
from ilr_dynamics.learning.training import prepare_training
from ilr_dynamics.learning.unfinished import Unfinished
from ilr_dynamics.learning.worker import run_job
from ilr_dynamics.regression import load_snapshot
from ilr_dynamics.robot.description import DESCRIPTION_FOLDER

AMPLITUDES = {"run1": 0.4, "run2": 0.8, "run10": 0.4001}


@pytest.fixture(scope="module")
def recorded(record_motion, tmp_path_factory):
    """A folder of three recordings; the last repeats the first but for next to nothing."""
    folder = tmp_path_factory.mktemp("runs")
    for name, amplitude in AMPLITUDES.items():
        shutil.move(record_motion(amplitude, n_states=400), folder / name)
    return folder


@pytest.fixture(scope="module")
def small_settings(arm_settings):
    return replace(arm_settings, model={"n_components": 4, "random_state": 0})


@pytest.fixture
def runs(recorded, tmp_path):
    return shutil.copytree(recorded, tmp_path / "runs")


@pytest.fixture
def train(small_settings, tmp_path):
    """Train on patterns; return the training, the model and the report."""

    def run(*patterns, snapshot=None, progress=ignore_progress, **options):
        patterns = [str(pattern) for pattern in patterns]
        training = prepare_training(patterns, small_settings, snapshot, tmp_path, **options)
        return training, *learn_recordings(training, small_settings, progress)

    return run


@pytest.fixture(scope="module")
def uninterrupted(recorded, small_settings, tmp_path_factory):
    folder = tmp_path_factory.mktemp("uninterrupted")
    training = prepare_training([str(recorded)], small_settings, None, folder)
    return learn_recordings(training, small_settings)


def test_recordings_are_learned_one_after_the_other(recorded, small_settings, uninterrupted):
    model, report = uninterrupted
    expected, reports = None, []
    uris = [str(recorded / name) for name in ("run1", "run2", "run10")]
    for uri in uris:
        samples = read_samples(uri, small_settings)
        expected, one = learn(samples, small_settings, expected, recordings=[uri])
        reports.append(one)
    np.testing.assert_array_equal(model.statistics_, expected.statistics_)
    assert model.metadata_["recordings"] == list(report.gains) == uris
    assert report.samples_used == report.samples_total == sum(one.samples_used for one in reports)
    assert Counter(report.rejected) == sum((Counter(r.rejected) for r in reports), Counter())
    assert list(report.gains.values()) == [one.gain for one in reports]
    assert (report.components_before, report.components_after) == (0, model.n_active_)
    assert (report.error_before, report.error_after) == (one.error_before, one.error_after)


def test_gain_is_the_rise_of_the_density_of_what_was_held_out(recorded, small_settings):
    samples = [read_samples(recorded / name, small_settings) for name in ("run1", "run2")]
    equal = replace(small_settings, effective_samples=False)
    model, first = learn(samples[0], equal)
    _, second = learn(samples[1], equal, model)
    n_older = samples[1].n_used - -(-samples[1].n_used // 10)
    older, newest = ((samples[1].X[part], samples[1].Y[part]) for part in _halves(n_older))
    before = np.mean(model.log_predictive_density(*newest))
    model.partial_fit(*older)
    assert first.gain is None
    assert second.gain == pytest.approx(np.mean(model.log_predictive_density(*newest)) - before)


def _halves(n):
    return slice(n), slice(n, None)


def test_a_motion_that_is_new_adds_more_than_one_that_repeats(uninterrupted):
    first, new, repeated = uninterrupted[1].gains.values()
    assert first is None
    assert new > 1.0
    assert abs(repeated) < 0.2 * new


class Stop(Exception):
    pass


@pytest.mark.parametrize(("stop_at", "n_learned"), [(0.2, 0), (0.5, 1), (0.8, 2)])
def test_a_training_that_was_stopped_goes_on_without_loss(
    runs, recorded, train, uninterrupted, stop_at, n_learned
):
    def stop(stage, fraction, bound):
        if fraction > stop_at:
            raise Stop

    with pytest.raises(Stop):
        train(runs, progress=stop)
    training, model, report = train(runs)
    assert len(training.learned) == n_learned
    assert len(training.candidates) == 3 - n_learned
    assert [note.split(":")[0] for note in training.notes] == (
        [f"goes on after what it had learned, {n_learned} of 3"] if n_learned else []
    )
    expected, whole = uninterrupted
    np.testing.assert_array_equal(model.statistics_, expected.statistics_)
    assert list(report.gains.values()) == list(whole.gains.values())
    assert report.samples_used == whole.samples_used
    assert report.rejected == whole.rejected
    assert report.components_before == 0
    assert training.unfinished.path.exists()
    training.unfinished.remove()


@settings(max_examples=4)
@given(st.lists(st.floats(0.0, 0.8), max_size=3))
def test_a_training_may_be_stopped_anywhere_and_often(
    recorded, small_settings, uninterrupted, stops
):
    with tempfile.TemporaryDirectory() as folder:
        for stop_at in [*stops, 1.0]:

            def stop(stage, fraction, bound, stop_at=stop_at):
                if fraction > stop_at:
                    raise Stop

            with contextlib.suppress(Stop):
                training = prepare_training([str(recorded)], small_settings, None, Path(folder))
                model, report = learn_recordings(training, small_settings, stop)
    np.testing.assert_array_equal(model.statistics_, uninterrupted[0].statistics_)
    assert model.metadata_ == uninterrupted[0].metadata_


def stop_after_half(stage, fraction, bound):
    if fraction > 0.6:
        raise Stop


def stop_after_the_second(stage, fraction, bound):
    if fraction > 0.8:
        raise Stop


@pytest.mark.parametrize("change", ["removed", "written to"])
def test_a_training_begins_anew_where_a_recording_it_had_learned_is_no_more(
    runs, train, record_motion, change
):
    with pytest.raises(Stop):
        train(runs, progress=stop_after_the_second)
    shutil.rmtree(runs / "run1")
    if change == "written to":
        shutil.move(record_motion(0.6, n_states=400), runs / "run1")
    training, model, _ = train(runs)
    assert f"begins anew: it had learned {runs / 'run1'}, which" in training.notes[0]
    assert model.metadata_["recordings"] == [c.uri for c in training.candidates]
    assert len(training.candidates) == (2 if change == "removed" else 3)


def test_another_training_does_not_go_on_with_it(runs, train, small_settings, tmp_path):
    with pytest.raises(Stop):
        train(runs, progress=stop_after_the_second)
    (kept,) = tmp_path.glob("unfinished-*.npz")
    snapshot = tmp_path / "old.npz"
    other = replace(small_settings, model={"n_components": 5, "random_state": 0})
    load_snapshot(kept).save(snapshot, {**load_snapshot(kept).metadata_, "learned": {}})
    for patterns, chosen, options in (
        ([f"{runs}/*"], small_settings, {}),
        ([str(runs)], other, {}),
        ([str(runs)], small_settings, {"accept_worse": True}),
        ([str(runs)], small_settings, {"snapshot": snapshot}),
    ):
        snapshot_of = options.pop("snapshot", None)
        training = prepare_training(patterns, chosen, snapshot_of, tmp_path, **options)
        assert (training.learned, training.notes, len(training.candidates)) == ({}, (), 3)
    kept.write_bytes(kept.read_bytes()[:-100])
    training = prepare_training([str(runs)], small_settings, None, tmp_path)
    assert (training.model, training.learned, len(training.candidates)) == (None, {}, 3)
    (note,) = training.notes
    assert note.startswith("begins anew: what it had learned cannot be used (")
    assert str(kept) in note


def test_a_training_begins_anew_with_another_description_or_package(
    uninterrupted, small_settings, tmp_path
):
    model, report = uninterrupted
    urdf = shutil.copy(DESCRIPTION_FOLDER / "wam4.urdf", tmp_path / "arm.urdf")
    arm = replace(small_settings, robot=str(urdf))

    def unfinished():
        return Unfinished(tmp_path, arm, ["runs"], None, False)

    unfinished().save(model, report)
    again, told = unfinished().load()
    assert (again.metadata_, told) == (model.metadata_, report)
    urdf.write_text(urdf.read_text().replace("<inertial>", "<inertial> ", 1))
    with pytest.raises(SnapshotError, match=r"description .*arm\.urdf has changed since the"):
        unfinished().load()
    unfinished().save(model, report)
    path = unfinished().path
    kept = load_snapshot(path)
    kept.metadata_["learned_with"]["package ilr_dynamics"] = "0.0.1"
    kept.save(path)
    with pytest.raises(SnapshotError, match=r"the package ilr_dynamics has changed since"):
        unfinished().load()


def test_a_training_goes_on_on_a_copy_of_its_old_model(runs, train, small_settings, tmp_path):
    """As the node has one after each start."""
    old, copy = tmp_path / "old.npz", tmp_path / "copy.npz"
    train(runs / "run1")[1].save(old)
    load_snapshot(old).save(copy)
    with pytest.raises(Stop):
        train(runs / "*", snapshot=old, progress=stop_after_half)
    training = prepare_training([f"{runs}/*"], small_settings, copy, tmp_path)
    assert list(training.learned) == [str(runs / "run2")]


def test_nothing_is_learned_twice(runs, train, tmp_path):
    shutil.copytree(runs / "run1", runs / "copy")
    (runs / "link").symlink_to(runs / "run2")
    training, model, report = train(runs / "run1", runs, runs / "run1")
    assert [c.uri for c in training.candidates] == [
        str(runs / n) for n in ("run1", "link", "run10")
    ]
    (note,) = training.notes
    assert note == f"{runs / 'copy'} is left out, as it is the same recording as {runs / 'run1'}"
    snapshot = tmp_path / "model.npz"
    model.save(snapshot)
    (runs / "run1").rename(runs / "run7")
    with pytest.raises(LearnerError, match="has learned .*run7.* already; expected another"):
        train(runs / "run7", snapshot=snapshot)


def test_what_an_old_model_has_learned_is_left_out(runs, train, tmp_path):
    _, model, first = train(runs / "run1")
    model.save(tmp_path / "old.npz")
    training, model, report = train(runs, snapshot=tmp_path / "old.npz")
    assert [c.uri for c in training.candidates] == [str(runs / name) for name in ("run2", "run10")]
    assert training.notes == (f"{runs / 'run1'} is left out, as the model has learned it already",)
    assert list(report.gains) == [str(runs / name) for name in ("run2", "run10")]
    assert all(gain is not None for gain in report.gains.values())
    assert report.samples_used == report.samples_total - first.samples_used
    assert len(learned_recordings(model.metadata_)) == 3


@pytest.fixture
def changed(runs, train, tmp_path):
    """What has learned run1, and run2 after the arm had become another one."""
    _, model, _ = train(runs / "run1")
    model.metadata_ = {**model.metadata_, LEARNED: learned_before_change(model.metadata_)}
    path = tmp_path / "changed.npz"
    model.save(path)
    _, model, _ = train(runs / "run2", snapshot=path)
    learned = learned_recordings(model.metadata_).values()
    assert [entry.before_change for entry in learned] == [True, False]
    model.save(path)
    return path


def test_a_recording_from_before_the_arm_changed_is_learned_again_if_named(runs, train, changed):
    training, model, report = train(runs / "run1", snapshot=changed)
    assert [c.uri for c in training.candidates] == list(report.gains) == [str(runs / "run1")]
    assert not training.unfit(accept_worse=False)
    learned = learned_recordings(model.metadata_).values()
    assert [Path(entry.path).name for entry in learned] == ["run2", "run1"]
    assert not any(entry.before_change for entry in learned)
    model.save(changed)
    for name in ("run1", "run2"):
        with pytest.raises(LearnerError, match="already; expected another recording$"):
            train(runs / name, snapshot=changed)


def test_a_folder_brings_nothing_back_from_before_the_arm_changed(runs, train, changed):
    training, _, _ = train(runs, snapshot=changed)
    assert [Path(c.uri).name for c in training.candidates] == ["run10"]
    shutil.rmtree(runs / "run10")
    with pytest.raises(LearnerError, match="run1 will be learned again if named by itself"):
        train(runs, snapshot=changed)


def test_an_interrupted_training_knows_what_it_has_learned_again(
    runs, small_settings, changed, tmp_path
):
    patterns = [str(runs / "run1"), str(runs / "run10")]
    training = prepare_training(patterns, small_settings, changed, tmp_path)
    halfway = replace(training, candidates=training.candidates[:1])
    training.unfinished.save(*learn_recordings(halfway, small_settings))
    rest = prepare_training(patterns, small_settings, changed, tmp_path)
    assert [c.uri for c in rest.candidates] == [str(runs / "run10")]
    assert list(rest.learned) == [str(runs / "run1")]


def test_a_recording_that_changed_since_it_was_learned_is_not_fit(
    runs, train, record_motion, tmp_path
):
    _, model, _ = train(runs / "run1")
    model.save(tmp_path / "old.npz")
    shutil.rmtree(runs / "run1")
    shutil.move(record_motion(0.6, n_states=400), runs / "run1")
    training, _, _ = train(runs / "run1", runs / "run2", snapshot=tmp_path / "old.npz")
    ((uri, reason),) = training.unfit(accept_worse=False).items()
    assert uri == str(runs / "run1")
    assert "run1 has changed since the model learned it" in reason
    assert training.unfit(accept_worse=True) == {}


def test_a_recording_that_changes_after_its_inspection_is_not_learned(
    runs, small_settings, tmp_path
):
    training = prepare_training([str(runs)], small_settings, None, tmp_path)
    with open(runs / "run2" / "bag.mcap", "ab") as file:
        file.write(b"\0")
    with pytest.raises(RecordingError, match="run2 has changed since it was inspected"):
        learn_recordings(training, small_settings)
    _, report = learn_recordings(training, small_settings, skip_bad=True)
    assert list(report.gains) == [str(runs / "run1"), str(runs / "run10")]


@pytest.mark.parametrize("gone", ["run2", "run10"])
def test_a_recording_that_is_gone_is_named_or_left_out(runs, small_settings, tmp_path, gone):
    training = prepare_training([str(runs)], small_settings, None, tmp_path)
    shutil.rmtree(runs / gone)
    with pytest.raises(RecordingError, match=f"{gone} is gone since it was inspected"):
        learn_recordings(training, small_settings)
    model, report = learn_recordings(training, small_settings, skip_bad=True)
    left = [str(runs / name) for name in AMPLITUDES if name != gone]
    assert list(report.gains) == model.metadata_["recordings"] == left
    assert len(report.error_after) == 2
    (note,) = report.notes
    assert note.startswith(f"{runs / gone} is left out: recording {runs / gone} is gone")
    only = training.without(dict.fromkeys(left, "of others"))
    with pytest.raises(LearnerError, match=f"no recording is left .*{gone} is gone"):
        learn_recordings(
            replace(only, candidates=(replace(only.candidates[0], samples=None),)),
            small_settings,
            skip_bad=True,
        )


def test_samples_of_one_recording_at_a_time_are_kept(runs, small_settings, tmp_path):
    training = prepare_training([str(runs)], small_settings, None, tmp_path)
    assert [c.samples is not None for c in training.candidates] == [True, False, False]


def test_a_bad_recording_amid_good_ones_is_named_before_anything_is_learned(
    runs, record_motion, small_settings, tmp_path
):
    (runs / "run2" / "metadata.yaml").unlink()
    training = prepare_training([str(runs)], small_settings, None, tmp_path)
    assert list(training.unfit(accept_worse=True)) == [str(runs / "run2")]
    assert any(text.startswith(f"{runs / 'run2'}: error (unread") for text in training.findings)
    left = training.without(training.unfit(accept_worse=True))
    model, report = learn_recordings(left, small_settings)
    assert list(report.gains) == [str(runs / "run1"), str(runs / "run10")]
    with pytest.raises(LearnerError, match="no recording is left"):
        learn_recordings(left.without(dict.fromkeys(report.gains, "bad")), small_settings)


def test_the_service_refuses_all_if_one_is_bad_and_learns_none(runs, small_settings, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (runs / "run2" / "metadata.yaml").unlink()
    stages = []
    result = run_job(
        UpdateJob(str(runs), str(out), small_settings), lambda stage, *_: stages.append(stage)
    )
    assert result.refusal.startswith("1 of 3 recordings are not fit to learn: ")
    assert "run2 is unfinished" in result.refusal
    assert set(stages) == {"reading"}
    assert list(out.iterdir()) == []


def test_the_service_leaves_bad_recordings_out_where_that_is_asked_for(
    runs, small_settings, tmp_path
):
    out = tmp_path / "out"
    out.mkdir()
    (runs / "run2" / "metadata.yaml").unlink()
    job = UpdateJob(str(runs), str(out), small_settings, skip_bad=True)
    result = run_job(job, lambda *_: None)
    assert not result.refusal
    assert list(result.gains) == [str(runs / "run1"), str(runs / "run10")]
    (note,) = result.notes
    assert note.startswith(f"{runs / 'run2'} is left out: ") and "run2 is unfinished" in note
    # Nothing that is left is no reason to write the model again.
    job = replace(job, snapshot=result.base)
    known = "is left out, as the model has learned it already"
    with pytest.raises(
        LearnerError,
        match=f"no recording is left .*run1 {known}; .*run10 {known}; .*run2 is left out: .*"
        "run2 is unfinished",
    ):
        run_job(job, lambda *_: None)
    assert len(list(out.iterdir())) == 2


def test_the_service_learns_a_folder_as_training_does(
    runs, small_settings, uninterrupted, tmp_path
):
    out = tmp_path / "out"
    out.mkdir()
    settings = replace(small_settings, directories=(str(runs),))
    seen = []
    result = run_job(
        UpdateJob(f"{runs}/run*", str(out), settings), lambda *event: seen.append(event[:2])
    )
    np.testing.assert_array_equal(
        load_snapshot(result.base).statistics_, uninterrupted[0].statistics_
    )
    assert list(result.gains.values()) == list(uninterrupted[1].gains.values())
    for stage in ("reading", "learning"):
        shares = [share for name, share in seen if name == stage]
        assert shares == sorted(shares)
    assert len(list(out.iterdir())) == 2
    for place in ("..", "../*", "run1/../../out/*"):
        with pytest.raises(FileAccessError, match="outside the allowed directories"):
            run_job(UpdateJob(f"{runs}/{place}", str(out), settings), ignore_progress)


def test_the_service_stops_at_the_recording_that_makes_the_model_worse(
    record_motion, arm_settings, tmp_path
):
    again = {"frequencies": (1.0, 2.0)}
    runs, out = tmp_path / "runs", tmp_path / "out"
    runs.mkdir()
    out.mkdir()
    shutil.move(record_motion(**again), runs / "run1")
    shutil.move(record_motion(**again, wrong_until=0.8), runs / "run2")
    result = run_job(UpdateJob(str(runs), str(out), arm_settings), ignore_progress)
    assert result.refusal.startswith(f"{runs / 'run2'}: the new model is worse on the newest")
    assert list(result.gains) == [str(runs / "run1"), str(runs / "run2")]
    # What it had learned before is kept, for a request without that recording.
    assert [file.name.split("-")[0] for file in out.iterdir()] == ["unfinished"]
    shutil.rmtree(runs / "run2")
    result = run_job(UpdateJob(str(runs), str(out), arm_settings), ignore_progress)
    assert "goes on after what it had learned, 1 of 1" in result.notes[0]
    assert result.samples_total == result.samples_used > 700
    # Nothing was left to learn: what had been said of the last one is said again.
    assert len(result.error_after) == 2 and result.learning_time > 0.0
    assert list(result.gains) == [str(runs / "run1")]
    assert not list(out.glob("unfinished-*"))


@pytest.mark.parametrize("learned", [[], {"ab": {}}, {"ab": {"path": "/a", "samples": "x"}}])
def test_a_snapshot_that_remembers_nonsense_is_refused(
    runs, train, small_settings, tmp_path, learned
):
    _, model, _ = train(runs / "run1")
    model.save(tmp_path / "odd.npz", {**model.metadata_, "learned": learned})
    with pytest.raises(SnapshotError, match="odd.npz cannot be used: learned is not of the form"):
        prepare_training([str(runs)], small_settings, tmp_path / "odd.npz", tmp_path)
