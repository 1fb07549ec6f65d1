# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import re

import numpy as np
import pytest

from ilr_dynamics.cli.evaluate import main
from ilr_dynamics.learning import learn, read_samples


@pytest.fixture(scope="module")
def model(bag, arm_settings):
    return learn(read_samples(bag, arm_settings), arm_settings)[0]


@pytest.fixture
def snapshot(model, tmp_path):
    model.save(tmp_path / "model.npz")
    return tmp_path / "model.npz"


def test_table_shows_errors_and_coverage_of_each_joint(model, snapshot, bag, arm_settings, capsys):
    assert main([str(snapshot), str(bag), "--sample-rate", "0"]) == 0
    rows = {
        line.split()[0]: line.split()[1:] for line in capsys.readouterr().out.splitlines()[2:5]
    }
    samples = read_samples(bag, arm_settings)
    error = np.mean((model.predict(samples.X) - samples.Y) ** 2, axis=0)
    lower, upper = model.predict_interval(samples.X, 0.95)
    covered = np.mean((lower <= samples.Y) & (samples.Y <= upper), axis=0)
    for k, joint in enumerate(("j1", "j2")):
        rms, normalized, worst, begin, unit, coverage = rows[joint]
        squares = (model.predict(samples.X) - samples.Y)[:, k] ** 2
        second = (samples.time >= float(begin) - 0.006) & (samples.time < float(begin) + 1.006)
        assert float(worst) == pytest.approx(np.sqrt(squares[second].mean()), rel=0.02)
        assert unit == "s"
        assert float(rms) == pytest.approx(np.sqrt(error[k]), rel=0.01)
        assert float(normalized) == pytest.approx(error[k] / samples.Y[:, k].var(), rel=0.01)
        assert float(coverage.rstrip("%")) == pytest.approx(100.0 * covered[k], abs=0.1)
    assert set(rows) == {"j1", "j2", "all"}


@pytest.mark.parametrize("option", [["--picture", "torques.png"], ["--picture"], ["--picture="]])
def test_who_wants_a_picture_is_told_where_they_are(
    option, snapshot, bag, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main([str(snapshot), str(bag), *option])
    assert ended.value.code == 2
    assert "`report [MODEL] BAG --html FILE` has the pictures" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["model.npz"]


def test_several_recordings_have_a_table_each_and_one_for_all(
    snapshot, record_motion, tmp_path, capsys
):
    (tmp_path / "runs").mkdir()
    for name, amplitude in (("run2", 0.3), ("run10", 0.4)):
        record_motion(amplitude).rename(tmp_path / "runs" / name)
    assert main([str(snapshot), str(tmp_path / "runs")]) == 0
    shown = capsys.readouterr().out
    places = [shown.index(f"runs/{name}\n") for name in ("run2", "run10")]
    assert places[0] < places[1] < shown.index("all 2 recordings\n")
    counts = [int(count) for count in re.findall(r"(\d+) samples; a constant", shown)]
    assert len(counts) == 3 and counts[2] == counts[0] + counts[1]
    assert main([str(tmp_path / "runs" / "run*"), "--controller-state", "/none"]) == 1
    assert "expected the topic /none" in capsys.readouterr().err


def test_a_model_may_come_after_options_and_need_not_end_in_npz(snapshot, bag, tmp_path, capsys):
    other = snapshot.rename(tmp_path / "model")
    assert main(["--sample-rate", "0", str(other), "--torque", "effort", str(bag)]) == 1
    assert "effort" in capsys.readouterr().err
    assert main(["--sample-rate", "0", str(other), "--prefix", "", str(bag)]) == 0


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["/nowhere/model.npz", "/nowhere/bag"], "there is no snapshot /nowhere/model.npz"),
        (["{snapshot}", "/nowhere/bag"], "recording '/nowhere/bag' does not exist"),
    ],
)
def test_what_is_wrong_is_said(arguments, message, snapshot, bag, capsys):
    assert main([word.format(snapshot=snapshot, bag=bag) for word in arguments]) == 1
    assert message in capsys.readouterr().err


def test_snapshot_that_names_no_arm_is_refused(model, bag, tmp_path, capsys):
    model.save(tmp_path / "anonymous.npz", {})
    assert main([str(tmp_path / "anonymous.npz"), str(bag)]) == 1
    assert "expected joint_names and driver_compensates_gravity" in capsys.readouterr().err
