# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from pathlib import Path

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


def test_table_shows_errors_and_coverage_of_each_joint(
    model, snapshot, bag, arm_settings, tmp_path, capsys
):
    picture = tmp_path / "torques.png"
    options = ["--sample-rate", "0", "--picture", str(picture)]
    assert main([str(snapshot), str(bag), *options]) == 0
    rows = {
        line.split()[0]: line.split()[1:] for line in capsys.readouterr().out.splitlines()[2:5]
    }
    samples = read_samples(bag, arm_settings)
    error = np.mean((model.predict(samples.X) - samples.Y) ** 2, axis=0)
    lower, upper = model.predict_interval(samples.X, 0.95)
    covered = np.mean((lower <= samples.Y) & (samples.Y <= upper), axis=0)
    for k, joint in enumerate(("j1", "j2")):
        rms, normalized, coverage = rows[joint]
        assert float(rms) == pytest.approx(np.sqrt(error[k]), rel=0.01)
        assert float(normalized) == pytest.approx(error[k] / samples.Y[:, k].var(), rel=0.01)
        assert float(coverage.rstrip("%")) == pytest.approx(100.0 * covered[k], abs=0.1)
    assert set(rows) == {"j1", "j2", "all"}
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["torques.png", "torques.svg"])
def test_a_picture_replaces_an_earlier_one_and_nothing_else(name, snapshot, bag, tmp_path, capsys):
    picture = tmp_path / name
    options = [str(snapshot), str(bag), "--picture", str(picture)]
    assert main(options) == 0 and main(options) == 0
    picture.write_bytes(b"drawn by hand")
    assert main(options) == 1
    assert "did not write it; expected a new name" in capsys.readouterr().err
    assert picture.read_bytes() == b"drawn by hand"
    metadata = Path(bag) / "metadata.yaml"
    before = metadata.read_bytes()
    assert main([str(snapshot), str(bag), "--picture", str(metadata)]) == 1
    assert "lies in the recording" in capsys.readouterr().err
    assert metadata.read_bytes() == before


def test_picture_is_optional(snapshot, bag, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main([str(snapshot), str(bag), "--picture", ""]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["model.npz"]


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["/nowhere/model.npz", "/nowhere/bag"], "there is no snapshot /nowhere/model.npz"),
        (["{snapshot}", "/nowhere/bag"], "recording '/nowhere/bag' does not exist"),
        (["{snapshot}", "{bag}", "--picture", "/nowhere/picture.png"], "cannot be written"),
        (["{snapshot}", "{bag}", "--picture", "{bag}.picture"], "cannot draw to"),
    ],
)
def test_what_is_wrong_is_said(arguments, message, snapshot, bag, capsys):
    assert main([word.format(snapshot=snapshot, bag=bag) for word in arguments]) == 1
    assert message in capsys.readouterr().err


def test_snapshot_that_names_no_arm_is_refused(model, bag, tmp_path, capsys):
    model.save(tmp_path / "anonymous.npz", {})
    assert main([str(tmp_path / "anonymous.npz"), str(bag)]) == 1
    assert "expected joint_names and driver_compensates_gravity" in capsys.readouterr().err
