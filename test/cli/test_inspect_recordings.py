# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The command, on real recordings."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ilr_dynamics.cli.inspect_recordings import main
from ilr_dynamics.recording import RecordingWriter


@pytest.fixture
def write(tmp_path):
    """A joint that swings, with measured efforts as they are or none."""

    def write(effort=1.0, name="bag"):
        time = 0.002 * np.arange(2000)
        q, qd = 0.4 * np.sin(5.0 * time), 2.0 * np.cos(5.0 * time)
        with RecordingWriter(tmp_path / name) as writer:
            for k in range(2000):
                at = (10**18 + 2_000_000 * k, ["<j1>"])
                force = effort * (2.0 * np.sin(q[k]) + 0.3 * qd[k])
                writer.write_joint_state(
                    "/joint_states", *at, q[k : k + 1], qd[k : k + 1], [force]
                )
        return str(tmp_path / name)

    return write


def test_a_sound_recording_exits_with_0_and_says_what_it_holds(write, capsys):
    assert main([write(), "--joints", "<j1>"]) == 0
    out = capsys.readouterr().out
    assert "500 states a second" in out and "<j1> moves from -0.40 to 0.40 rad" in out


def test_findings_come_as_json_and_as_a_page_and_exit_with_1(write, tmp_path, capsys):
    page = tmp_path / "report.html"
    arguments = [write(), write(0.0, "zero"), "--joints", "<j1>", "--json", "--html", str(page)]
    assert main(arguments) == 1
    sound, zero = json.loads(capsys.readouterr().out)
    assert {finding["severity"] for finding in sound["findings"]} == {"info"}
    (error,) = [f for f in zero["findings"] if f["severity"] == "error"]
    assert error["kind"] == "zero_effort" and error["joint"] == "<j1>"
    text = page.read_text()
    assert "&lt;j1&gt;" in text and "<j1>" not in text


def test_what_cannot_be_read_exits_with_2(write, tmp_path, capsys):
    sound, cut = write(), write(name="cut")
    (storage,) = Path(cut).glob("*.mcap")
    storage.write_bytes(storage.read_bytes()[:5000])
    assert main([sound, cut, "--joints", "<j1>"]) == 2
    assert "unreadable" in capsys.readouterr().out
    assert main([sound, str(tmp_path / "none"), "--joints", "<j1>"]) == 2
    assert "does not exist" in capsys.readouterr().err
    assert main([write(name="again"), "--robot", "no_such_arm"]) == 2
    assert "inspect: " in capsys.readouterr().err


def test_a_folder_and_a_glob_stand_for_their_recordings(write, tmp_path, capsys):
    for name in ("run2", "run10", "other"):
        write(name=name)
    for pattern, names in (("", ["other", "run2", "run10"]), ("run*", ["run2", "run10"])):
        assert main([str(tmp_path / pattern), "--joints", "<j1>", "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert [Path(entry["recording"]).name for entry in found] == names


def test_joints_are_those_of_the_arm_that_is_named(write, capsys):
    assert main([write(), "--robot", "wam4"]) == 2
    assert "expected j1, j2, j3, j4" in " ".join(capsys.readouterr().out.split())


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("bag/metadata.yaml", "lies in the recording"),
        ("bag/report.html", "lies in the recording"),
        ("bag/pages/report.html", "lies in the recording"),
        ("other/report.html", "lies in the recording"),
        ("notes.html", "did not write it; expected a new name"),
        ("link.html", "did not write it; expected a new name"),
        ("bag", "expected a file in an existing folder"),
        ("none/report.html", "existing folder"),
        ("/proc/self/report.html", "that this program may write to"),
    ],
)
def test_a_report_overwrites_nothing_but_a_report(write, tmp_path, capsys, target, reason):
    bag = write()
    write(name="other")
    (tmp_path / "bag" / "pages").mkdir()
    (tmp_path / "notes.html").write_text("<!DOCTYPE html>\n<p>by hand</p>")
    (tmp_path / "link.html").symlink_to(tmp_path / "nowhere.html")
    before = contents(tmp_path)
    assert main([bag, "--joints", "<j1>", "--html", str(tmp_path / target)]) == 2
    said = capsys.readouterr()
    assert reason in " ".join(said.err.split()) and said.out == ""
    assert contents(tmp_path) == before and (tmp_path / "link.html").is_symlink()


def test_a_report_replaces_an_earlier_one(write, tmp_path):
    arguments = [write(), "--joints", "<j1>", "--html", str(tmp_path / "report.html")]
    assert main(arguments) == 0 and main(arguments) == 0
