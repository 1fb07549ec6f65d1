# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import resource

import pytest

from ilr_dynamics.exceptions import RecordingError
from ilr_dynamics.recording.bag import read_bag
from ilr_dynamics.recording.writer import STORAGES, RecordingWriter


def test_counts_include_topics_without_messages(tmp_path):
    with RecordingWriter(tmp_path / "bag") as writer:
        writer.add_topic("/joint_states")
        writer.add_topic("/joint_torque_command")
        writer.write_joint_state("/joint_states", 5, ["j1"], [0.1])
    assert writer.counts == {"/joint_states": 1, "/joint_torque_command": 0}
    assert set(read_bag(writer.path, {}).types) == {"/joint_states", "/joint_torque_command"}


def test_error_leaves_an_unfinished_bag(tmp_path):
    with pytest.raises(ZeroDivisionError), RecordingWriter(tmp_path / "bag") as writer:
        writer.write_joint_state("/joint_states", 5, ["j1"], [1 / 0])
    with pytest.raises(RecordingError, match="unfinished"):
        read_bag(tmp_path / "bag", {})


def test_existing_recording_is_not_overwritten(tmp_path):
    with RecordingWriter(tmp_path / "bag") as writer:
        writer.write_joint_state("/joint_states", 5, ["j1"], [0.1])
    with pytest.raises(RecordingError, match="exists already"):
        RecordingWriter(tmp_path / "bag")


@pytest.mark.parametrize("uri", ["", "/proc/bag", "/dev/null/bag"])
def test_folder_that_cannot_be_written_is_named(uri):
    with pytest.raises(RecordingError, match="expected a (new )?folder"):
        RecordingWriter(uri)


def test_unknown_storage_is_refused(tmp_path):
    with pytest.raises(RecordingError, match="'rosbag1'; expected sqlite3 or mcap"):
        RecordingWriter(tmp_path / "bag", storage="rosbag1")


@pytest.fixture
def small_disk():
    """Let no file of this process grow beyond 100 kB."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.parametrize("storage", STORAGES)
def test_full_disk_is_reported_and_leaves_an_unfinished_bag(tmp_path, small_disk, storage):
    message = r"recording .*bag cannot be (written|finished): "
    with (
        pytest.raises(RecordingError, match=message),
        RecordingWriter(tmp_path / "bag", storage) as writer,
    ):
        for stamp in range(5000):
            writer.write("/joint_states", stamp, bytes(1000))
    with pytest.raises(RecordingError, match="unfinished"):
        read_bag(tmp_path / "bag", {})
