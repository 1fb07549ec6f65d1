# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest

from ilr_dynamics.cli.train import main
from ilr_dynamics.regression import load_snapshot

ARM = ["--joints", "j1", "j2", "--components", "8", "--sample-rate", "0"]


def test_recordings_become_a_snapshot(bag, record_motion, tmp_path, capsys):
    wide = record_motion(amplitude=0.8)
    output = tmp_path / "model.npz"
    assert main([str(bag), str(wide), "-o", str(output), *ARM]) == 0
    model = load_snapshot(output)
    shown, bars = capsys.readouterr()
    assert model.metadata_["joint_names"] == ["j1", "j2"]
    assert model.metadata_["recordings"] == [str(bag), str(wide)]
    assert f"{model.n_active_} local models (before: 0) from {model.n_samples_} samples" in shown
    assert "learning  100%" in bars


def test_snapshot_is_learned_on(bag, record_motion, tmp_path):
    first, second = tmp_path / "first.npz", tmp_path / "second.npz"
    wide = record_motion(amplitude=0.8)
    assert main([str(bag), "-o", str(first), *ARM]) == 0
    assert main([str(wide), "-o", str(second), "--snapshot", str(first), *ARM]) == 0
    older, newer = load_snapshot(first), load_snapshot(second)
    assert newer.n_samples_ == 2 * older.n_samples_
    assert newer.metadata_["recordings"] == [str(bag), str(wide)]


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["/nowhere/bag"], "train: recording '/nowhere/bag' does not exist"),
        (["/nowhere/bag", "--snapshot", "/nowhere/old.npz"], "/nowhere/old.npz"),
        (["/nowhere/bag", "-o", "/nowhere/model.npz"], "there is no folder /nowhere"),
        (["/nowhere/bag", "--joints", "j1", "j1"], "different names"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_written(arguments, message, tmp_path, capsys):
    assert main(["-o", str(tmp_path / "model.npz"), *arguments]) == 1
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
