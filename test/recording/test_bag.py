# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import os
import shutil

import numpy as np
import pytest
import yaml
from kept_messages import read_messages
from rosbags.rosbag2 import CompressionFormat, CompressionMode, Reader, StoragePlugin, Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from ilr_dynamics.exceptions import FileAccessError, RecordingError
from ilr_dynamics.recording.compression import unpack_file
from ilr_dynamics.recording.message_collector import BagLimits
from ilr_dynamics.recording.writer import STORAGES, RecordingWriter

STORAGE_SUFFIX = {"mcap": ".mcap", "sqlite3": ".db3"}


@pytest.fixture(params=STORAGES)
def storage(request):
    return request.param


def storage_file(path, storage):
    return path / f"{path.name}{STORAGE_SUFFIX[storage]}"


def test_messages_come_back_bit_for_bit_from_folder_and_file(motion, write_bag, storage):
    messages = motion.states()
    path = write_bag(messages, storage)
    for uri in (path, str(path), storage_file(path, storage)):
        bag = read_messages(uri, ["/joint_states"])
        assert bag.messages["/joint_states"] == [data for _, data in messages]
        assert bag.types == {"/joint_states": "sensor_msgs/msg/JointState"}


def test_topic_that_is_not_in_the_bag_has_no_messages(motion, write_bag, storage):
    bag = read_messages(write_bag(motion.states(), storage), ["/elsewhere"])
    assert bag.messages == {"/elsewhere": []}


def test_annotations_come_back(motion, write_bag, storage):
    path = write_bag(motion.states(), storage, annotations={"arm": "left"})
    assert read_messages(path, ["/joint_states"]).annotations == {"arm": "left"}


def test_types_unknown_here_do_no_harm(motion, tmp_path, storage):
    store = get_typestore(Stores.ROS2_JAZZY)
    store.register(get_types_from_msg("float64 pressure\nstring[] notes", "lab_msgs/msg/Gripper"))
    gripper = store.types["lab_msgs/msg/Gripper"](pressure=1.0, notes=["shut"])
    path = tmp_path / "bag"
    with Writer(path, version=9, storage_plugin=StoragePlugin[storage.upper()]) as writer:
        foreign = writer.add_connection("/gripper", "lab_msgs/msg/Gripper", typestore=store)
        states = writer.add_connection(
            "/joint_states", "sensor_msgs/msg/JointState", typestore=store
        )
        for stamp, (_, data) in enumerate(motion.states()):
            writer.write(foreign, stamp, store.serialize_cdr(gripper, "lab_msgs/msg/Gripper"))
            writer.write(states, stamp, data)
    bag = read_messages(path, ["/joint_states"])
    assert len(bag.messages["/joint_states"]) == len(motion.stamps)
    assert bag.types["/gripper"] == "lab_msgs/msg/Gripper"


@pytest.mark.parametrize("uri", ["", "  ", "/nowhere/bag"])
def test_missing_bag_is_named(uri):
    with pytest.raises(RecordingError, match=f"recording '{uri}' does not exist"):
        read_messages(uri, ["/joint_states"])


def test_foreign_file_and_folder_are_named(tmp_path):
    text = tmp_path / "notes.txt"
    text.write_text("not a bag")
    with pytest.raises(RecordingError, match=r"notes\.txt is a \.txt file"):
        read_messages(text, ["/joint_states"])
    with pytest.raises(RecordingError, match="holds no recording"):
        read_messages(tmp_path, ["/joint_states"])


def test_empty_file_and_empty_bag_are_named(tmp_path, write_bag, storage):
    empty = tmp_path / f"empty{STORAGE_SUFFIX[storage]}"
    empty.touch()
    with pytest.raises(RecordingError, match="is an empty file"):
        read_messages(empty, ["/joint_states"])
    with pytest.raises(RecordingError, match="is empty; expected messages"):
        read_messages(write_bag([], storage), ["/joint_states"])


def test_unfinished_bag_is_recognised(motion, tmp_path, storage):
    writer = RecordingWriter(tmp_path / "bag", storage)
    for received, (topic, data) in enumerate(motion.states()):
        writer.write(topic, received, data)
    with pytest.raises(RecordingError, match="is unfinished"):
        read_messages(writer.path, ["/joint_states"])
    writer.abort()
    with pytest.raises(RecordingError, match="is unfinished"):
        read_messages(writer.path, ["/joint_states"])


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_truncated_storage_is_refused(motion, write_bag, storage, share):
    path = write_bag(motion.states(), storage)
    file = storage_file(path, storage)
    content = file.read_bytes()
    file.write_bytes(content[: int(share * len(content))])
    with pytest.raises(RecordingError, match=str(path)):
        read_messages(path, ["/joint_states"])


def test_damage_anywhere_raises_nothing_but_recording_errors(motion, write_bag, storage):
    path = write_bag(motion.states()[:50], storage)
    file = storage_file(path, storage)
    content = file.read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(60):
        damaged = bytearray(content)
        start = int(rng.integers(len(content)))
        damaged[start : start + 8] = rng.bytes(8)
        file.write_bytes(damaged[: len(content)])
        try:
            bag = read_messages(path, ["/joint_states"])
        except RecordingError as error:
            assert str(path) in str(error)
        else:
            assert len(bag.messages["/joint_states"]) <= 50


def test_a_file_is_read_as_what_it_is_whatever_the_metadata_say(motion, write_bag, storage):
    path = write_bag(motion.states(), storage)
    (other,) = set(STORAGES) - {storage}
    metadata = path / "metadata.yaml"
    text = metadata.read_text()
    changed = text.replace(f"storage_identifier: {storage}", f"storage_identifier: {other}")
    assert changed != text
    metadata.write_text(changed)
    assert len(read_messages(path, ["/joint_states"]).messages["/joint_states"]) == 600
    renamed = path / f"renamed{STORAGE_SUFFIX[other]}"
    storage_file(path, storage).rename(renamed)
    assert len(read_messages(renamed, ["/joint_states"]).messages["/joint_states"]) == 600
    metadata.write_text(changed.replace("message_count: 600", "message_count: 700"))
    storage_file(path, storage).symlink_to(renamed)
    if storage == "sqlite3":
        with pytest.raises(RecordingError, match="truncated: 600 messages on /joint_states"):
            read_messages(path, ["/joint_states"])


def test_metadata_that_is_no_metadata_is_refused(motion, write_bag, storage):
    path = write_bag(motion.states(), storage)
    for text in ("", "rosbag2_bagfile_information: 3", "{", "a: [1"):
        (path / "metadata.yaml").write_text(text)
        with pytest.raises(RecordingError, match="damaged"):
            read_messages(path, ["/joint_states"])


def test_bag_with_fewer_messages_than_it_says_is_refused(motion, write_bag):
    path = write_bag(motion.states(), "sqlite3")
    short = write_bag(motion.states()[:100], "sqlite3")
    shutil.copy(storage_file(short, "sqlite3"), storage_file(path, "sqlite3"))
    with pytest.raises(RecordingError, match=r"truncated: 100 messages .* expected 600"):
        read_messages(path, ["/joint_states"])


def test_large_bags_are_refused(motion, write_bag, storage):
    path = write_bag(motion.states(), storage)
    with pytest.raises(RecordingError, match="bytes; expected at most 1000"):
        read_messages(path, ["/joint_states"], BagLimits(max_bytes=1000))
    for uri in (path, storage_file(path, storage)):
        with pytest.raises(
            RecordingError, match=r"on /joint_states take \d+ bytes of memory; exp"
        ):
            read_messages(uri, ["/joint_states"], BagLimits(max_memory=50_000))


@pytest.mark.parametrize(
    ("storage", "mode"),
    [(storage, mode) for storage in STORAGES for mode in ("NONE", "FILE", "MESSAGE")]
    + [("mcap", "STORAGE")],
)
def test_bags_are_read_as_rosbags_reads_them(motion, tmp_path, storage, mode):
    store, path = get_typestore(Stores.ROS2_JAZZY), tmp_path / "bag"
    with compressed_writer(path, storage, mode) as writer:
        topics = {
            topic: writer.add_connection(topic, "sensor_msgs/msg/JointState", typestore=store)
            for topic in ("/joint_states", "/joint_torque_command")
        }
        # Received in another order than written, and twice at the same time.
        for place, (topic, data) in enumerate(motion.states() + motion.commands()):
            writer.write(topics[topic], 7 * place % 1000, data)
    found = read_messages(path, list(topics))
    with Reader(path) as reader:
        for topic in topics:
            expected = [data for c, _, data in reader.messages() if c.topic == topic]
            assert found.messages[topic] == expected


def compressed_writer(path, storage, mode):
    writer = Writer(path, version=9, storage_plugin=StoragePlugin[storage.upper()])
    if mode != "NONE":
        writer.set_compression(CompressionMode[mode], CompressionFormat.ZSTD)
    return writer


@pytest.mark.parametrize("mode", ["FILE", "MESSAGE", "STORAGE"])
def test_what_unpacks_to_more_than_allowed_is_refused(motion, tmp_path, mode):
    store, path = get_typestore(Stores.ROS2_JAZZY), tmp_path / "bag"
    with compressed_writer(path, "mcap", mode) as writer:
        topic = writer.add_connection(
            "/joint_states", "sensor_msgs/msg/JointState", typestore=store
        )
        writer.write(topic, 1, bytes(1_000_000))
    limits = BagLimits(max_bytes=500_000, max_message_bytes=100_000)
    with pytest.raises(RecordingError, match="more (than the allowed|bytes than the allowed)"):
        read_messages(path, ["/joint_states"], limits)


def test_a_packed_file_leaves_room_on_the_disk(motion, tmp_path, monkeypatch):
    store, path = get_typestore(Stores.ROS2_JAZZY), tmp_path / "bag"
    with compressed_writer(path, "mcap", "FILE") as writer:
        topic = writer.add_connection(
            "/joint_states", "sensor_msgs/msg/JointState", typestore=store
        )
        writer.write(topic, 1, bytes(50_000))
    assert len(read_messages(path, ["/joint_states"]).messages["/joint_states"]) == 1
    monkeypatch.setattr("ilr_dynamics.recording.bag.SHARE_OF_DISK", 1e-12)
    with pytest.raises(RecordingError, match="unpacks to more than the allowed"):
        read_messages(path, ["/joint_states"])


def test_links_out_of_the_allowed_directories_are_refused(motion, write_bag, storage, tmp_path):
    path = write_bag(motion.states(), storage)
    allowed = tmp_path / "allowed"
    allowed.mkdir()
    copy = shutil.copytree(path, allowed / "bag")
    assert len(read_messages(copy, ["/joint_states"], directories=[allowed]).messages) == 1
    (allowed / "link").symlink_to(path)
    for name in (storage_file(copy, storage).name, "metadata.yaml"):
        (copy / name).rename(copy / "kept")
        (copy / name).symlink_to(path / name)
        with pytest.raises(FileAccessError, match=f"{name}, which is outside the allowed"):
            read_messages(copy, ["/joint_states"], directories=[allowed])
        (copy / name).unlink()
        (copy / "kept").rename(copy / name)
    with pytest.raises(FileAccessError, match=f"leads to {path}, which is outside"):
        read_messages(allowed / "link", ["/joint_states"], directories=[allowed])


def test_pipes_are_not_waited_for(motion, write_bag, storage):
    file = storage_file(write_bag(motion.states(), storage), storage)
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(FileAccessError, match="is no regular file"):
        read_messages(file.parent, ["/joint_states"])


def test_topics_recorded_without_their_slash_are_the_same_topics(motion, tmp_path, storage):
    store, path = get_typestore(Stores.ROS2_JAZZY), tmp_path / "bag"
    with Writer(path, version=9, storage_plugin=StoragePlugin[storage.upper()]) as writer:
        topic = writer.add_connection(
            "joint_states", "sensor_msgs/msg/JointState", typestore=store
        )
        for stamp, (_, data) in enumerate(motion.states()):
            writer.write(topic, stamp, data)
    for uri in (path, storage_file(path, storage)):
        bag = read_messages(uri, ["/joint_states"])
        assert len(bag.messages["/joint_states"]) == 600
        assert bag.types == {"/joint_states": "sensor_msgs/msg/JointState"}


def test_annotations_are_those_of_the_bag_that_a_file_lies_in(motion, write_bag, storage):
    path = write_bag(motion.states(), storage, annotations={"arm": "left"})
    file = storage_file(path, storage)
    assert read_messages(file, ["/joint_states"]).annotations == {"arm": "left"}
    other = file.rename(file.with_name("other" + file.suffix))
    assert read_messages(other, ["/joint_states"]).annotations == {"arm": "left"}
    shutil.copy(other, file)
    assert read_messages(other, ["/joint_states"]).annotations == {}
    other.rename(file)
    (path / "metadata.yaml").write_text("{")
    assert read_messages(file, ["/joint_states"]).annotations == {}


def test_annotations_of_a_file_that_was_unpacked_are_found(motion, write_bag, storage):
    path = write_bag(motion.states(), storage, annotations={"arm": "left"})
    file, metadata = storage_file(path, storage), path / "metadata.yaml"
    metadata.write_text(metadata.read_text().replace(file.name, file.name + ".zstd"))
    assert read_messages(file, ["/joint_states"]).annotations == {"arm": "left"}


def change_metadata(path, change):
    file = path / "metadata.yaml"
    content = yaml.safe_load(file.read_text())
    change(content["rosbag2_bagfile_information"])
    file.write_text(yaml.safe_dump(content))


@pytest.mark.parametrize(
    "change",
    [
        lambda values: values.update(storage_identifier=""),
        lambda values: values.update(topics_with_message_count=[]),
        lambda values: values["topics_with_message_count"][0].update(message_count=7),
    ],
    ids=["no storage", "no topics", "too few messages"],
)
def test_what_tools_leave_in_metadata_does_no_harm(motion, write_bag, storage, change):
    path = write_bag(motion.states(), storage)
    change_metadata(path, change)
    assert len(read_messages(path, ["/joint_states"]).messages["/joint_states"]) == 600


def test_of_files_that_mark_no_end_more_promised_than_there_are_is_refused(motion, write_bag):
    def promise(values):
        values["topics_with_message_count"][0]["message_count"] = 601

    path = write_bag(motion.states(), "sqlite3")
    change_metadata(path, promise)
    with pytest.raises(RecordingError, match="600 messages .* expected 601 .* ros2 bag reindex"):
        read_messages(path, ["/joint_states"])
    path = write_bag(motion.states(), "mcap")
    change_metadata(path, promise)
    assert len(read_messages(path, ["/joint_states"]).messages["/joint_states"]) == 600


def test_no_storage_named_and_none_to_be_guessed_is_refused(motion, write_bag, storage):
    path = write_bag(motion.states(), storage)
    change_metadata(
        path, lambda values: values.update(storage_identifier="", relative_file_paths=["bag.txt"])
    )
    with pytest.raises(RecordingError, match=r"storage_identifier is empty, .* bag\.txt"):
        read_messages(path, ["/joint_states"])


def test_files_packed_or_unpacked_since_are_found(motion, tmp_path, storage):
    store, path = get_typestore(Stores.ROS2_JAZZY), tmp_path / "bag"
    with compressed_writer(path, storage, "FILE") as writer:
        topic = writer.add_connection(
            "/joint_states", "sensor_msgs/msg/JointState", typestore=store
        )
        for stamp, (_, data) in enumerate(motion.states()):
            writer.write(topic, stamp, data)
    packed = next(path.glob("*.zstd"))
    name = packed.name.removesuffix(".zstd")
    # As ROS 2 Foxy writes it: the name without the ending.
    change_metadata(path, lambda values: values.update(relative_file_paths=[name]))
    assert len(read_messages(path, ["/joint_states"]).messages["/joint_states"]) == 600
    # Unpacked by hand.
    change_metadata(path, lambda values: values.update(relative_file_paths=[packed.name]))
    with packed.open("rb") as source, (path / name).open("wb") as target:
        unpack_file(source, target, 10**9)
    packed.unlink()
    assert len(read_messages(path, ["/joint_states"]).messages["/joint_states"]) == 600
