# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import copy

import pytest
import yaml

from ilr_dynamics.exceptions import FileAccessError, RecordingError
from ilr_dynamics.recording.bag_metadata import read_metadata


@pytest.fixture
def path(motion, write_bag):
    return write_bag(motion.states()[:5], annotations={"arm": "left"}) / "metadata.yaml"


@pytest.fixture
def values(path):
    return yaml.safe_load(path.read_text())["rosbag2_bagfile_information"]


def write(path, values):
    path.write_text(yaml.safe_dump({"rosbag2_bagfile_information": values}))


def test_what_our_recorder_writes_is_read(path):
    found = read_metadata(path)
    assert (found.storage, found.files, found.compression) == ("mcap", ("bag.mcap",), "none")
    assert found.counts == {"/joint_states": 5}
    assert found.types == {"/joint_states": "sensor_msgs/msg/JointState"}
    assert found.annotations == {"arm": "left"}


def test_what_the_first_version_wrote_is_read(path, values):
    old = copy.deepcopy(values)
    for name in ("custom_data", "files", "ros_distro", "compression_mode", "compression_format"):
        old.pop(name, None)
    old["version"] = 1
    old["relative_file_paths"] = ["run/bag.mcap"]
    write(path, old)
    assert read_metadata(path).files == ("bag.mcap",)


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("version", 10, "version is 10; expected at most 9"),
        ("version", "9", "version is '9'; expected a whole number"),
        ("storage_identifier", "plugin", "'plugin'; expected mcap or sqlite3"),
        ("compression_mode", "all", "'all'; expected none or file or message"),
        ("relative_file_paths", ["a/b.mcap", "b.mcap"], "of different names"),
        ("relative_file_paths", [str(n) for n in range(10_001)], "at most 10000"),
        ("relative_file_paths", None, "TypeError"),
        ("topics_with_message_count", [{}], "KeyError"),
        ("topics_with_message_count", "x", "TypeError"),
        ("custom_data", {"arm": 3}, "value is 3; expected a text"),
        ("custom_data", [], None),
    ],
)
def test_values_that_cannot_be_meant_are_named(path, values, name, value, problem):
    values[name] = value
    write(path, values)
    if problem is None:
        assert read_metadata(path).annotations == {}
        return
    with pytest.raises(RecordingError, match=f"metadata.yaml is damaged .*{problem}"):
        read_metadata(path)


def test_aliases_that_multiply_are_refused(path):
    levels = ["a0: &a0 {x: 1}"]
    levels += [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, 12)]
    path.write_text("\n".join(levels))
    with pytest.raises(RecordingError, match="it has aliases; expected none"):
        read_metadata(path)


@pytest.mark.parametrize("text", ["[" * 100_000, "{a: " * 50_000, "- " * 50_000])
def test_deep_nesting_is_refused(path, text):
    path.write_text(text)
    with pytest.raises(RecordingError, match="metadata.yaml is damaged"):
        read_metadata(path)


def test_nothing_is_made_of_tags(path):
    path.write_text("!!python/object/apply:os.system ['exit 1']")
    with pytest.raises(RecordingError, match="metadata.yaml is damaged"):
        read_metadata(path)


def test_large_metadata_are_not_read(path):
    path.write_bytes(b"#" * 1_100_000)
    with pytest.raises(FileAccessError, match="has 1100000 bytes; expected at most 1048576"):
        read_metadata(path)
