# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ilr_dynamics.exceptions import FileAccessError, RecordingError
from ilr_dynamics.recording import bag_digest, find_bags
from ilr_dynamics.recording.bag import read_annotations, read_bag


def make_bag(folder: Path) -> Path:
    """Make what counts as a bag here, as nothing of it is read."""
    folder.mkdir(parents=True)
    (folder / "metadata.yaml").touch()
    (folder / f"{folder.name}_0.mcap").touch()
    return folder


@pytest.fixture
def runs(tmp_path):
    """A folder with bags, some in other folders, a hidden one, and other files."""
    runs = tmp_path / "runs"
    for name in ("run10", "run2", "week1/run1", "week1/deep/run3", ".trash/run0"):
        make_bag(runs / name)
    (runs / "week2").mkdir()
    (runs / "notes.txt").touch()
    return runs


def found(runs, *patterns, **options):
    bags = find_bags([str(runs / pattern) for pattern in patterns], **options)
    return [str(Path(bag).relative_to(runs)) for bag in bags]


ALL = ["run2", "run10", "week1/deep/run3", "week1/run1"]


@pytest.mark.parametrize(
    "pattern, expected",
    [
        ("", ALL),
        ("run2", ["run2"]),
        ("run2/run2_0.mcap", ["run2/run2_0.mcap"]),
        ("week1", ["week1/deep/run3", "week1/run1"]),
        ("run*", ["run2", "run10"]),
        ("run[0-9]", ["run2"]),
        ("run??", ["run10"]),
        ("*", ALL),
        ("*/run1", ["week1/run1"]),
        ("**/run[13]", ["week1/run1", "week1/deep/run3"]),
        ("**", ALL),
        # Files in the folder of a bag are parts of it, unless the folder is not meant.
        ("**/*", ALL),
        ("**/*_0.mcap", [f"{bag}/{Path(bag).name}_0.mcap" for bag in ALL]),
        (".*", [".trash/run0"]),
    ],
)
def test_folders_and_globs_stand_for_bags_in_natural_order(runs, pattern, expected):
    assert found(runs, pattern) == expected


def test_a_bag_that_several_patterns_name_is_there_once(runs):
    (runs / "run2").rename(runs / "elsewhere")
    (runs / "run2").symlink_to(runs / "elsewhere")
    assert found(runs, "run10", "*", "run10/run10_0.mcap") == ["run10", "elsewhere", *ALL[2:]]


def test_paths_are_those_of_the_shell(runs, monkeypatch):
    monkeypatch.setenv("HOME", str(runs.parent))
    monkeypatch.chdir(runs)
    assert find_bags(["run?", "week1/"]) == ["run2", "week1/deep/run3", "week1/run1"]
    assert find_bags(["~/runs/run1*"]) == [str(runs / "run10")]


def test_a_name_with_brackets_that_exists_is_no_glob(runs):
    make_bag(runs / "run[1]")
    assert found(runs, "run[1]") == ["run[1]"]


def test_an_unfinished_recording_is_there_so_that_it_is_named(runs):
    (runs / "run2" / "metadata.yaml").unlink()
    assert found(runs, "") == ALL


def test_a_folder_may_be_called_like_a_file_of_messages(runs):
    (runs / "run10").rename(runs / "run10.mcap")
    assert found(runs, "run*") == found(runs, "")[:2] == ["run2", "run10.mcap"]


@pytest.mark.parametrize(
    "pattern, text",
    [
        ("week2", "holds no recording, nor do the folders in it; expected"),
        ("run3*", "no recording matches '.*/run3\\*'; expected a pattern"),
        ("notes.*", "no recording matches '.*/notes.\\*'"),
        ("run7", "'.*/run7' does not exist; expected"),
    ],
)
def test_what_stands_for_nothing_is_named(runs, pattern, text):
    with pytest.raises(RecordingError, match=text):
        found(runs, "run2", pattern)


def test_links_may_lead_round_in_circles(runs):
    (runs / "week1" / "up").symlink_to(runs)
    (runs / "week2" / "again").symlink_to(runs / "week1")
    assert sorted(found(runs, "")) == sorted(found(runs, "**")) == sorted(ALL)


def test_nothing_outside_the_allowed_directories_is_found_or_looked_into(runs, tmp_path):
    outside = make_bag(tmp_path / "outside" / "run5").parent
    inside = [str(runs)]
    for pattern in ("../outside", "../outside/*", "../outside/run5", "*/../../outside/*"):
        with pytest.raises(FileAccessError, match="outside the allowed directories"):
            found(runs, pattern, directories=inside)
    assert found(runs, "", directories=inside) == ALL
    (runs / "link").symlink_to(outside)
    # What is named, and all that there is, are errors; what lies on the way is not.
    text = "link.* leads to .*/outside.* outside the all"
    for pattern in ("link", "link/*", "*/run5", "**/run5"):
        with pytest.raises(FileAccessError, match=text):
            found(runs, pattern, directories=inside)
    for pattern, bags in (("", ALL), ("*", ALL), ("**", ALL), ("**/run1?", ["run10"])):
        notes = []
        assert found(runs, pattern, directories=inside, note=notes.append) == bags
        (note,) = notes
        assert note.startswith("passed by: ") and re.search(text, note)
    assert "link/run5" in found(runs, "", directories=[str(tmp_path)])


def test_a_link_that_leads_to_itself_is_passed_by(runs):
    (runs / "loop1").symlink_to(runs / "loop2")
    (runs / "loop2").symlink_to(runs / "loop1")
    for pattern in ("", "*", "**"):
        assert found(runs, pattern) == ALL
    for pattern in ("loop?", "*/loop?"):
        with pytest.raises((FileAccessError, RecordingError), match="loop"):
            found(runs, pattern)


@contextlib.contextmanager
def nobody():
    """Be somebody who may not read everything."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize("mode", [0o000, 0o444], ids=["unreadable", "not to be entered"])
def test_a_folder_that_must_not_be_read_is_named_and_passed_by_on_the_way(mode):
    with tempfile.TemporaryDirectory() as folder:
        runs = Path(folder)
        for name in ("run1", "week1/run2", "lost+found/run3"):
            make_bag(runs / name)
        runs.chmod(0o755)
        locked = runs / "lost+found"
        locked.chmod(mode)
        try:
            for pattern in ("", "*", "**", "*/run2", "**/*", "**/run2"):
                notes = []
                with nobody():
                    bags = found(runs, pattern, note=notes.append)
                assert bags == (["week1/run2"] if "run2" in pattern else ["run1", "week1/run2"])
                assert all(note.startswith("passed by: ") for note in notes)
                assert any(str(locked) in n and "Permission denied" in n for n in notes)
            for pattern in ("lost+found", "lost+found/*", "lost*", "lost*/run3", "*/run3"):
                with nobody(), pytest.raises(FileAccessError, match=r"lost\+found.*Permission"):
                    found(runs, pattern)
        finally:
            locked.chmod(0o755)


@pytest.mark.parametrize("name", ["bag.mcap", "metadata.yaml"])
def test_a_recording_that_must_not_be_read_is_not_called_damaged(bag, name):
    with tempfile.TemporaryDirectory() as folder:
        runs = Path(folder)
        runs.chmod(0o755)
        copy = shutil.copytree(bag, runs / "run1")
        (copy / name).chmod(0)
        for read in (lambda uri: read_bag(uri, {}), *[read_annotations] * (name != "bag.mcap")):
            with nobody(), pytest.raises(RecordingError, match=f"run1 may not be read .*{name}"):
                read(copy)


NAMES = st.text("ab19.", min_size=1, max_size=3).filter(lambda name: name.strip("."))


@settings(max_examples=30)
@given(st.sets(st.lists(NAMES, min_size=1, max_size=3).map("/".join), max_size=8))
def test_a_folder_stands_for_every_visible_bag_in_it_and_no_other(places):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        for place in places:
            (root / place).mkdir(parents=True, exist_ok=True)
            (root / place / "metadata.yaml").touch()
        expected = {
            place
            for place in places
            if not any(part.startswith(".") for part in place.split("/"))
            and not any(str(parent) in places for parent in Path(place).parents)
        }
        if expected:
            assert set(found(root, "")) == set(found(root, "**")) == expected
            assert len(found(root, "")) == len(expected)
        else:
            with pytest.raises(RecordingError, match="holds no recording"):
                found(root, "")


def test_a_bag_is_known_by_its_content(bag, record_motion, tmp_path):
    copy = shutil.copytree(bag, tmp_path / "copy")
    assert bag_digest(bag) == bag_digest(copy) == bag_digest(copy / "bag.mcap")
    assert bag_digest(record_motion(amplitude=0.5)) != bag_digest(bag)
    with open(copy / "bag.mcap", "ab") as file:
        file.write(b"\0")
    assert bag_digest(copy) != bag_digest(bag)


def test_what_is_no_bag_has_no_digest(bag, tmp_path):
    with pytest.raises(RecordingError, match="does not exist"):
        bag_digest(tmp_path / "missing")
    with pytest.raises(FileAccessError, match="outside the allowed directories"):
        bag_digest(bag, [tmp_path])
    with pytest.raises(FileAccessError, match="expected at most 10"):
        bag_digest(bag, max_bytes=10)
