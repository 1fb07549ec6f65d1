# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import io
import json
import os
import pickle
import zipfile

import numpy as np
import pytest

from ilr_dynamics.exceptions import SnapshotError
from ilr_dynamics.regression.files import snapshot_file
from ilr_dynamics.regression.files.snapshot_file import is_snapshot, read_snapshot, write_snapshot

HEADER = {"class": "ILR", "metadata": {"joints": ["j1"]}}
ARRAYS = {
    "a": np.arange(12.0).reshape(3, 4),
    "b": np.array([0.1]),
    "columns": np.arange(6.0).reshape(2, 3).T,
    "scalar": np.array(2.5),
    "empty": np.zeros((0, 2)),
}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "model.npz"
    write_snapshot(path, HEADER, ARRAYS)
    return path


def assert_intact(path):
    header, arrays = read_snapshot(path)
    assert {name: header[name] for name in HEADER} == HEADER
    for name, array in ARRAYS.items():
        assert arrays[name].shape == array.shape
        np.testing.assert_array_equal(arrays[name], array)


def with_members(path, **replaced):
    """Replace members of the file, as text or arrays, without a new checksum."""
    with np.load(path) as archive:
        content = {name: archive[name] for name in archive.files}
    for name, value in replaced.items():
        text = isinstance(value, bytes)
        content[name] = np.frombuffer(value, np.uint8) if text else value
    np.savez(path, **content)


def with_header(path, **changes):
    with np.load(path) as archive:
        header = json.loads(bytes(archive["header"]))
    with_members(path, header=json.dumps({**header, **changes}).encode())


def test_header_and_arrays_come_back(path):
    assert_intact(path)


def test_numpy_can_read_the_file_without_this_package(path):
    with np.load(path, allow_pickle=False) as archive:
        np.testing.assert_array_equal(archive["a"], ARRAYS["a"])


def test_a_file_cut_off_anywhere_is_refused(path):
    whole = path.read_bytes()
    for length in range(0, len(whole), 17):
        path.write_bytes(whole[:length])
        with pytest.raises(SnapshotError, match="not a readable snapshot, or is truncated"):
            read_snapshot(path)


def test_no_flipped_bit_changes_what_is_read(path):
    whole = path.read_bytes()
    generator = np.random.default_rng(0)
    n_refused = 0
    for position in range(0, len(whole), 2):
        damaged = bytearray(whole)
        damaged[position] ^= 1 << int(generator.integers(8))
        path.write_bytes(damaged)
        try:
            # Some bytes of a zip, such as its dates, mean nothing to what is read.
            assert_intact(path)
        except SnapshotError:
            n_refused += 1
    assert n_refused > len(whole) / 4


def test_a_changed_value_breaks_the_checksum(path):
    with_members(path, a=ARRAYS["a"] + 1e-12)
    with pytest.raises(SnapshotError, match="checksum"):
        read_snapshot(path)


def test_a_changed_header_breaks_the_checksum(path):
    with_header(path, metadata={"joints": ["j2"]})
    with pytest.raises(SnapshotError, match="checksum"):
        read_snapshot(path)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite_are_refused_even_with_a_checksum(path, value):
    write_snapshot(path, HEADER, {**ARRAYS, "b": np.array([value])})
    with pytest.raises(SnapshotError, match="array 'b'.*finite"):
        read_snapshot(path)


@pytest.mark.parametrize("version", [1, 3, 0, "2", None])
def test_other_versions_are_named(path, version):
    with_header(path, version=version)
    with pytest.raises(SnapshotError, match=f"version {version!r}; this release reads version 2"):
        read_snapshot(path)


@pytest.mark.parametrize("header", [b"[]", b'{"format": "other"}', b"{}"])
def test_other_formats_are_refused(path, header):
    with_members(path, header=header)
    with pytest.raises(SnapshotError, match="is not an ilr_dynamics snapshot"):
        read_snapshot(path)


@pytest.mark.parametrize("header", [b"{", b"\xff", b"[" * 100_000], ids=["cut", "binary", "deep"])
def test_a_header_that_is_not_json_is_refused(path, header):
    with_members(path, header=header)
    with pytest.raises(SnapshotError, match="not valid JSON"):
        read_snapshot(path)


def test_another_npz_is_refused(path):
    np.savez(path, a=np.zeros(3))
    with pytest.raises(SnapshotError, match="is not an ilr_dynamics snapshot"):
        read_snapshot(path)


class Exploit:
    def __reduce__(self):
        return (pytest.fail, ("content was unpickled",))


def test_pickled_arrays_are_never_unpickled(path):
    np.savez(path, header=np.array([Exploit()], dtype=object))
    with pytest.raises(SnapshotError, match="not a readable snapshot"):
        read_snapshot(path)


def test_pickled_files_are_never_unpickled(path):
    path.write_bytes(pickle.dumps(Exploit()))
    with pytest.raises(SnapshotError, match="not a readable snapshot"):
        read_snapshot(path)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.complex128])
def test_other_number_types_are_refused(path, dtype):
    with_members(path, a=ARRAYS["a"].astype(dtype))
    with pytest.raises(SnapshotError, match="array 'a'.*64-bit floats"):
        read_snapshot(path)


def test_compressed_files_are_refused_before_they_unpack(path):
    np.savez_compressed(path, header=np.zeros(1_000_000))
    with pytest.raises(SnapshotError, match="compressed"):
        read_snapshot(path)


def test_files_beyond_the_size_limit_are_refused(path, monkeypatch):
    monkeypatch.setattr(snapshot_file, "MAX_BYTES", 100)
    with pytest.raises(SnapshotError, match="expected at most 100"):
        read_snapshot(path)


def test_an_array_that_claims_more_than_it_holds_is_refused(path):
    text = b"{'descr': '<f8', 'fortran_order': False, 'shape': (100000000000,), }\n"
    member = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(8)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.npy", member)
    with pytest.raises(SnapshotError, match="not a readable snapshot"):
        read_snapshot(path)


def test_a_missing_file_and_a_folder_are_told(tmp_path):
    with pytest.raises(SnapshotError, match="there is no snapshot .*nothing.npz"):
        read_snapshot(tmp_path / "nothing.npz")
    with pytest.raises(SnapshotError, match="not a readable snapshot"):
        read_snapshot(tmp_path)


def test_a_write_that_fails_leaves_the_old_file_and_no_debris(path, monkeypatch):
    def full_disk(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full_disk)
    with pytest.raises(SnapshotError, match="No space left"):
        write_snapshot(path, HEADER, {"a": np.zeros(1000)})
    monkeypatch.undo()
    assert_intact(path)
    assert [p.name for p in path.parent.iterdir()] == ["model.npz"]


def test_headers_that_json_cannot_hold_leave_the_old_file(path):
    with pytest.raises(TypeError, match="JSON"):
        write_snapshot(path, {"metadata": io.BytesIO()}, ARRAYS)
    assert_intact(path)


def test_headers_nested_too_deep_are_neither_written_nor_read(path, monkeypatch):
    deep = {}
    for _ in range(40):
        deep = {"a": deep}
    with pytest.raises(SnapshotError, match="would be nested deeper than the 32 levels"):
        write_snapshot(path, {"metadata": deep}, ARRAYS)
    assert_intact(path)
    with_header(path, metadata=deep)
    with pytest.raises(SnapshotError, match="is nested deeper than the 32 levels"):
        read_snapshot(path)


def test_what_is_too_large_to_be_read_is_not_written(path, monkeypatch):
    monkeypatch.setattr(snapshot_file, "MAX_ARRAY_BYTES", 100)
    with pytest.raises(SnapshotError, match="the arrays of .* expected at most 100"):
        write_snapshot(path, HEADER, ARRAYS)
    with pytest.raises(SnapshotError, match="the header of .* expected at most"):
        write_snapshot(path, {"metadata": "x" * 5_000_000}, {})
    assert_intact(path)


def test_a_large_header_is_not_parsed(path):
    with_members(path, header=b" " * 5_000_000)
    with pytest.raises(SnapshotError, match="has 5000000 bytes, expected at most 4194304"):
        read_snapshot(path)


def test_too_many_members_are_refused_before_they_are_listed(path):
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(101):
            archive.writestr(str(number), b"")
    with pytest.raises(SnapshotError, match="has 101 members"):
        read_snapshot(path)


def test_directories_of_the_larger_kind_are_refused(path):
    content = path.read_bytes()
    locator = b"PK\x06\x07" + bytes(16)
    path.write_bytes(content[:-22] + locator + content[-22:])
    with pytest.raises(SnapshotError, match="directory of another kind"):
        read_snapshot(path)


@pytest.mark.parametrize("place", [20, 24], ids=["compressed size", "size"])
def test_members_that_claim_more_than_the_file_are_refused(path, place):
    content = bytearray(path.read_bytes())
    entry = content.rfind(b"PK\x01\x02")
    content[entry + place : entry + place + 4] = (400_000_000).to_bytes(4, "little")
    path.write_bytes(content)
    with pytest.raises(SnapshotError, match="members claim 4000.* bytes of a file of"):
        read_snapshot(path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"(3, 4)", b"(3, 5)"),
        (b"(3, 4)", b"(-3,4)"),
        (b"(3, 4), }", b"(3, 4)}+ "),
        (b"'shape'", b"'Shape'"),
        (b"False", b"True "),
        (b"\x93NUMPY\x01", b"\x93NUMPY\x09"),
        (b"{'descr'", b"(" * 8),
        (b"(3, 4)", b"(" + 200 * b"1" + b"x"),
    ],
)
def test_array_headers_that_numpy_does_not_write_are_refused(path, old, new):
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    assert old in members["a.npy"]
    members["a.npy"] = members["a.npy"].replace(old, new)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    with pytest.raises(SnapshotError, match="the array 'a'"):
        read_snapshot(path)


def test_snapshots_are_told_from_other_files(path, tmp_path):
    assert is_snapshot(path)
    with_header(path, version=1)
    assert is_snapshot(path)
    with_members(path, a=ARRAYS["a"] + 1.0)
    assert is_snapshot(path)
    path.write_bytes(path.read_bytes()[:-1])
    assert not is_snapshot(path)
    np.savez(path, a=np.zeros(3))
    assert not is_snapshot(path)
    os.mkfifo(tmp_path / "pipe")
    for other in (tmp_path, tmp_path / "nothing", tmp_path / "pipe"):
        assert not is_snapshot(other)
