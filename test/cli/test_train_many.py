# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Folders and globs of recordings on the command line; test_training.py has what is learned."""

from __future__ import annotations

import io
import math
import re
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from ilr_dynamics.cli.train import ProgressBar, main
from ilr_dynamics.regression import load_snapshot

ARM = ["--joints", "j1", "j2", "--components", "4", "--sample-rate", "0"]


@pytest.fixture(scope="module")
def recorded(record_motion, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for name, amplitude in (("run2", 0.4), ("run10", 0.8), ("week2/run1", 0.6)):
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.move(record_motion(amplitude, n_states=400), folder / name)
    return folder


@pytest.fixture
def runs(recorded, tmp_path):
    return shutil.copytree(recorded, tmp_path / "runs")


def learn_to(output, *arguments):
    return main([*map(str, arguments), "-o", str(output), *ARM])


def test_a_folder_is_learned_and_what_each_recording_added_is_said(runs, tmp_path, capsys):
    assert learn_to(tmp_path / "model.npz", runs) == 0
    shown, bars = capsys.readouterr()
    model = load_snapshot(tmp_path / "model.npz")
    uris = [str(runs / name) for name in ("run2", "run10", "week2/run1")]
    assert model.metadata_["recordings"] == uris
    rows = [line.split() for line in shown.splitlines() if str(runs) in line]
    assert [row[0] for row in rows] == uris
    gains = [entry["gain"] for entry in model.metadata_["learned"].values()]
    assert [row[1] for row in rows] == ["-", *(f"{gain:+.2f}" for gain in gains[1:])]
    # One line a stage, whatever the number of recordings.
    assert re.fullmatch(r"reading +100%\nlearning +100%\n", bars)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.npz", "runs"]


def test_bad_recordings_are_named_and_all_is_refused_or_they_are_left_out(runs, tmp_path, capsys):
    (runs / "run10" / "metadata.yaml").unlink()
    output = tmp_path / "model.npz"
    for more in ([], ["--accept-worse"]):
        assert learn_to(output, runs, *more) == 1
        lines, bars = capsys.readouterr().err.splitlines(), []
        assert not any(line.startswith("learning") for line in lines)
        assert lines[-2].endswith(
            "1 of 3 recordings are not fit to learn, and nothing was learned; expected all to be, "
            "or --skip-bad:"
        )
        assert lines[-1].startswith(
            f"  {runs / 'run10'}: recording {runs / 'run10'} is unfinished"
        )
        assert bars == [] and not output.exists()
    assert learn_to(output, runs, "--skip-bad") == 0
    shown, lines = capsys.readouterr()
    assert f"train: {runs / 'run10'} is left out: recording" in lines
    assert str(runs / "run10") not in shown
    uris = [str(runs / name) for name in ("run2", "week2/run1")]
    assert load_snapshot(output).metadata_["recordings"] == uris
    for name in ("run2", "week2/run1"):
        (runs / name / "metadata.yaml").unlink()
    assert learn_to(output, runs, "--skip-bad") == 1
    assert "no recording is left to learn from" in capsys.readouterr().err


@pytest.mark.parametrize(
    "name, text", [("empty", "empty holds no recording, nor"), ("run?x", "no recording matches")]
)
def test_a_pattern_of_nothing_is_named(runs, tmp_path, capsys, name, text):
    (tmp_path / "empty").mkdir()
    assert learn_to(tmp_path / "model.npz", runs, tmp_path / name, "--skip-bad") == 1
    assert text in capsys.readouterr().err
    assert not (tmp_path / "model.npz").exists()


# Training that is killed as soon as its second recording is learned.
KILLED = """
import os
import signal
from ilr_dynamics.cli.train import main
from ilr_dynamics.learning.unfinished import Unfinished

save = Unfinished.save

def save_and_end(self, model, newest):
    save(self, model, newest)
    if len(model.metadata_["learned"]) == 2:
        os.kill(os.getpid(), signal.SIGKILL)

Unfinished.save = save_and_end
main()
"""


def test_a_training_that_was_killed_goes_on_without_loss(runs, tmp_path, capsys):
    assert learn_to(tmp_path / "whole.npz", runs) == 0
    capsys.readouterr()
    folder = tmp_path / "out"
    folder.mkdir()
    arguments = [str(runs), *ARM, "-o", str(folder / "model.npz")]
    done = subprocess.run([sys.executable, "-P", "-c", KILLED, *arguments], timeout=120.0)
    assert done.returncode == -signal.SIGKILL
    (left,) = folder.iterdir()
    assert left.name.startswith("unfinished-")
    kept = shutil.copy(left, tmp_path)
    # The last one is no more: nothing is left to learn, and all that was learned is told.
    (runs / "week2").rename(tmp_path / "week2")
    assert learn_to(folder / "model.npz", runs) == 0
    shown, lines = capsys.readouterr()
    assert "train: goes on after what it had learned, 2 of 2:" in lines
    assert re.search(r"\nj1( +\d\S+){2} *\nj2( +\d\S+){2}", shown)
    assert [path.name for path in folder.iterdir()] == ["model.npz"]
    shutil.copy(kept, left)
    (tmp_path / "week2").rename(runs / "week2")
    assert learn_to(folder / "model.npz", runs) == 0
    shown, lines = capsys.readouterr()
    assert re.search(r"train: goes on after what it had learned, 2 of 3: .*unfinished-", lines)
    assert [path.name for path in folder.iterdir()] == ["model.npz"]
    whole, resumed = load_snapshot(tmp_path / "whole.npz"), load_snapshot(folder / "model.npz")
    np.testing.assert_array_equal(resumed.statistics_, whole.statistics_)
    assert resumed.metadata_ == whole.metadata_
    assert all(str(runs / name) in shown for name in ("run2", "run10", "week2/run1"))


def test_an_interruption_is_a_line(runs, tmp_path, capsys, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("ilr_dynamics.cli.train.learn_recordings", interrupt)
    assert learn_to(tmp_path / "model.npz", runs) == 130
    line = capsys.readouterr().err.splitlines()[-1]
    assert line == "train: interrupted; the same command goes on where it was (by a cluster: anew)"


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_shows_how_long_it_still_takes(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with ProgressBar() as progress:
        progress("learning", 0.0, math.nan)
        begin = time.monotonic()
        time.sleep(1.1)
        progress("learning", 0.1, math.nan)
        passed = time.monotonic() - begin
    (line,) = (line for line in terminal.getvalue().split("\r") if " 10%" in line)
    minutes, seconds = re.search(r"(\d\d):(\d\d) left", line).groups()
    assert 9 <= 60 * int(minutes) + int(seconds) <= 9.0 * passed + 1.0
