# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import copy
import io
import json
import os
import pickle
import re
import tracemalloc
import zipfile

import numpy as np
import pytest

from ilr_dynamics.exceptions import SnapshotError
from ilr_dynamics.regression.files import model_file
from ilr_dynamics.regression.files.model_file import (
    PREDICTOR,
    SNAPSHOT,
    is_of_kind,
    read_file,
    write_file,
)

HEADER = {"class": "ILR", "metadata": {"joints": ["j1"]}}
ARRAYS = {
    "a": np.arange(12.0).reshape(3, 4),
    "b": np.array([0.1]),
    "columns": np.arange(6.0).reshape(2, 3).T,
    "scalar": np.array(2.5),
    "empty": np.zeros((0, 2)),
}


BOTH = pytest.mark.parametrize("kind", [SNAPSHOT, PREDICTOR], ids=["snapshot", "predictor"])


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "model.npz"
    write_snapshot(path, HEADER, ARRAYS)
    return path


def write_snapshot(path, header, arrays):
    write_file(path, SNAPSHOT, header, arrays)


def read_snapshot(path):
    return read_file(path, SNAPSHOT)


def assert_intact(path, kind=SNAPSHOT):
    header, arrays = read_file(path, kind)
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


@BOTH
def test_header_and_arrays_come_back(tmp_path, kind):
    write_file(tmp_path / "file", kind, HEADER, ARRAYS)
    assert_intact(tmp_path / "file", kind)
    header, arrays = read_file(tmp_path / "file", kind)
    assert list(arrays) == list(ARRAYS)
    for array in arrays.values():
        assert array.flags.writeable == (kind is SNAPSHOT)


@BOTH
def test_bits_come_back_whatever_they_mean(tmp_path, kind):
    odd = {"odd": np.array([-0.0, 5e-324, 1.7e308])}
    write_file(tmp_path / "file", kind, {"name": "jö", "none": None, "parts": [1.5]}, odd)
    header, arrays = read_file(tmp_path / "file", kind)
    assert (header["name"], header["none"], header["parts"]) == ("jö", None, [1.5])
    assert arrays["odd"].tobytes() == odd["odd"].tobytes()


@BOTH
def test_data_begin_on_cache_lines_of_the_file(tmp_path, kind):
    write_file(tmp_path / "file", kind, HEADER, ARRAYS)
    content = (tmp_path / "file").read_bytes()
    for array in ("a", "b", "columns"):
        assert content.index(ARRAYS[array].tobytes()) % 64 == 0


def test_mapped_arrays_are_aligned_and_outlive_their_file(tmp_path):
    path = tmp_path / "file"
    write_file(path, PREDICTOR, HEADER, {**ARRAYS, "special": np.array([np.nan, -np.inf])})
    _, arrays = read_file(path, PREDICTOR)
    path.unlink()
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(arrays[name], array)
        assert arrays[name].ctypes.data % 64 == 0
    np.testing.assert_array_equal(arrays["special"], [np.nan, -np.inf])
    with pytest.raises(ValueError, match="read-only"):
        arrays["a"][0, 0] = 1.0
    # No copy is taken of them for BLAS either.
    assert np.shares_memory(np.require(arrays["a"], requirements=["A", "C"]), arrays["a"])


def test_a_file_that_numpy_wrote_loads(path):
    """As all snapshots of version 2 were before their arrays lay on cache lines."""
    with_members(path)
    assert_intact(path)


def test_numpy_can_read_the_file_without_this_package(path):
    with np.load(path, allow_pickle=False) as archive:
        np.testing.assert_array_equal(archive["a"], ARRAYS["a"])


@BOTH
def test_a_file_cut_off_anywhere_is_refused(path, kind):
    write_file(path, kind, HEADER, ARRAYS)
    whole = path.read_bytes()
    for length in range(0, len(whole), 17):
        path.write_bytes(whole[:length])
        with pytest.raises(SnapshotError, match=f"not a readable {kind.name}, or is truncated"):
            read_file(path, kind)


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


@BOTH
@pytest.mark.parametrize("version", [1, 99, 0, "2", None])
def test_other_versions_are_named_and_what_to_do(path, kind, version):
    write_file(path, kind, HEADER, ARRAYS)
    with_header(path, version=version)
    message = f"version {version!r}; this release reads version {kind.version}: .*"
    with pytest.raises(SnapshotError, match=message + re.escape(kind.remedy)):
        read_file(path, kind)


def test_a_predictor_file_of_before_is_refused_with_what_to_do(path):
    path.write_bytes(b"ilr_dynamics arrays 2\n" + bytes(1000))
    with pytest.raises(SnapshotError, match=r"save it again: load_snapshot\(.*predictor\(\)"):
        read_file(path, PREDICTOR)


def test_kinds_are_told_from_each_other(path):
    assert is_of_kind(path, SNAPSHOT)
    assert not is_of_kind(path, PREDICTOR)
    with pytest.raises(SnapshotError, match="is not an ilr_dynamics predictor file"):
        read_file(path, PREDICTOR)
    write_file(path, PREDICTOR, HEADER, ARRAYS)
    assert not is_of_kind(path, SNAPSHOT)


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


@BOTH
@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.complex128, ">f8", "u1", "S8"])
def test_other_types_are_refused(path, kind, dtype):
    write_file(path, kind, HEADER, ARRAYS)
    with_members(path, a=ARRAYS["a"].astype(dtype))
    found = np.dtype(dtype)
    with pytest.raises(SnapshotError, match=f"array 'a' holds rows of .*{found}.*float64"):
        read_file(path, kind)


@BOTH
def test_a_header_of_another_type_is_refused(path, kind):
    write_file(path, kind, HEADER, ARRAYS)
    with_members(path, header=np.zeros(8))
    with pytest.raises(SnapshotError, match="array 'header' holds rows of float64.*uint8"):
        read_file(path, kind)


@BOTH
def test_structures_and_subarrays_are_refused(path, kind):
    for dtype in (np.dtype([("x", "<f8")]), np.dtype([("x", "<f8", (2, 2)), ("y", "u1")])):
        write_file(path, kind, HEADER, ARRAYS)
        with_members(path, a=np.zeros(3, dtype))
        with pytest.raises(SnapshotError, match="array 'a' holds"):
            read_file(path, kind)


def test_compressed_files_are_refused_before_they_unpack(path):
    np.savez_compressed(path, header=np.zeros(1_000_000))
    with pytest.raises(SnapshotError, match="compressed"):
        read_snapshot(path)


def test_files_beyond_the_size_limit_are_refused(path, monkeypatch):
    monkeypatch.setattr(model_file, "MAX_BYTES", 100)
    with pytest.raises(SnapshotError, match="expected at most 100"):
        read_snapshot(path)


@BOTH
@pytest.mark.parametrize(
    ("shape", "n_bytes"),
    [
        *(("(100000000000,)", 24), ("(4000000000, 4000000000)", 24), ("(2,)", 24), ("(0,)", 24)),
        *(("(-1,)", 24), ("(-1, -3)", 24), ("(True, 3.0)", 24), ("(" + "1," * 70 + ")", 8)),
        *(("(0, 1180591620717411303424)", 0), ("(0, 4611686018427387904, 4)", 0)),
    ],
)
def test_shapes_that_the_file_does_not_hold_are_refused_without_memory_for_them(
    path, kind, shape, n_bytes
):
    text = "{'descr': '<f8', 'fortran_order': False, 'shape': " + shape + ", }"
    text = text.encode()
    write_file(path, kind, HEADER, {"a": np.zeros(3)})
    npy = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(n_bytes)
    replace_member(path, "a.npy", npy)
    tracemalloc.start()
    try:
        with pytest.raises(SnapshotError, match="the array 'a'|dimension|array is too big"):
            read_file(path, kind)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


@BOTH
def test_array_headers_are_bounded(path, kind):
    write_file(path, kind, HEADER, {"a": np.zeros(3)})
    text = b"{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }".ljust(1000) + b"\n"
    npy = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(24)
    replace_member(path, "a.npy", npy)
    with pytest.raises(SnapshotError, match="array 'a' does not begin as arrays do"):
        read_file(path, kind)


def replace_member(path, member, content):
    """Exchange a member of the zip, which stays sound."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members[member] = content
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


@BOTH
def test_a_missing_file_a_folder_and_a_pipe_are_told(tmp_path, kind):
    with pytest.raises(SnapshotError, match=f"there is no {kind.name} .*nothing.npz"):
        read_file(tmp_path / "nothing.npz", kind)
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(SnapshotError, match=f"not a readable {kind.name}"):
            read_file(path, kind)


@BOTH
@pytest.mark.parametrize("content", [b"", b"PK\x03\x04" + bytes(500), b"PK\x05\x06" + bytes(18)])
def test_other_files_are_refused(path, kind, content):
    path.write_bytes(content)
    with pytest.raises(SnapshotError, match="not a"):
        read_file(path, kind)


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


def test_headers_nested_too_deep_are_neither_written_nor_read(path):
    deep = {}
    for _ in range(40):
        deep = {"a": deep}
    with pytest.raises(SnapshotError, match="has 42 levels; expected at most 32"):
        write_snapshot(path, {"metadata": deep}, ARRAYS)
    assert_intact(path)
    with_header(path, metadata=deep)
    with pytest.raises(SnapshotError, match="has 42 levels; expected at most 32"):
        read_snapshot(path)


def test_what_is_too_large_to_be_read_is_not_written(path, monkeypatch):
    with pytest.raises(SnapshotError, match="the header of .* expected at most"):
        write_snapshot(path, {"metadata": "x" * 5_000_000}, {})
    assert_intact(path)
    monkeypatch.setattr(model_file, "MAX_ARRAY_BYTES", 100)
    with pytest.raises(SnapshotError, match="the arrays of .* expected at most 100"):
        write_snapshot(path, HEADER, ARRAYS)
    assert_intact(path)


def test_a_large_header_is_not_parsed(path):
    with_members(path, header=b" " * 5_000_000)
    with pytest.raises(SnapshotError, match="has 5000000 bytes; expected at most 4194304"):
        read_snapshot(path)


@BOTH
@pytest.mark.parametrize(("number", "message"), [(101, "has 101 members"), (3000, "directory")])
def test_too_many_members_are_refused(path, kind, number, message):
    """Before they are listed, if the directory is larger than its bound."""
    with zipfile.ZipFile(path, "w") as archive:
        for name in range(number):
            archive.writestr(str(name), b"")
    with pytest.raises(SnapshotError, match=message):
        read_file(path, kind)


@BOTH
def test_directories_of_the_larger_kind_are_refused(path, kind):
    write_file(path, kind, HEADER, ARRAYS)
    content = path.read_bytes()
    locator = b"PK\x06\x07" + bytes(16)
    path.write_bytes(content[:-22] + locator + content[-22:])
    with pytest.raises(SnapshotError, match="not a readable"):
        read_file(path, kind)


@BOTH
@pytest.mark.parametrize("kind_of_size", ["sizes", "size of the directory"])
def test_sizes_of_64_bits_in_a_directory_are_refused(path, kind, kind_of_size):
    write_file(path, kind, HEADER, ARRAYS)
    content = bytearray(path.read_bytes())
    if kind_of_size == "sizes":
        entry = content.rfind(b"PK\x01\x02")
        content[entry + 20 : entry + 28] = b"\xff" * 8
        # The field that aligns the member becomes one of 64-bit sizes.
        extra = content.index((0xD935).to_bytes(2, "little"), entry)
        content[extra : extra + 2] = b"\x01\x00"
        content[extra + 4 : extra + 12] = (2**62).to_bytes(8, "little")
    else:
        end = b"PK\x06\x06" + (44).to_bytes(8, "little") + bytes(12 + 16)
        end += (2**62).to_bytes(8, "little") + bytes(8)
        content[-22:-22] = end + b"PK\x06\x07" + bytes(12) + b"\x01\x00\x00\x00"
    path.write_bytes(content)
    with pytest.raises(SnapshotError, match="claim|not a readable"):
        read_file(path, kind)


@BOTH
def test_members_that_claim_more_than_the_file_are_refused(path, kind):
    write_file(path, kind, HEADER, ARRAYS)
    content = bytearray(path.read_bytes())
    entry = content.rfind(b"PK\x01\x02")
    content[entry + 24 : entry + 28] = (400_000_000).to_bytes(4, "little")
    path.write_bytes(content)
    with pytest.raises(SnapshotError, match="members claim 4000.* bytes of a file of"):
        read_file(path, kind)


@BOTH
def test_members_one_over_the_other_are_refused(path, kind):
    write_file(path, kind, HEADER, {"a": np.zeros(10_000)})
    with zipfile.ZipFile(path, "a") as archive:
        twin = copy.copy(archive.getinfo("a.npy"))
        twin.filename = "b.npy"
        archive.filelist.append(twin)
        archive.comment = b"changed"
    with pytest.raises(SnapshotError, match="members claim 16.* bytes of a file of 8"):
        read_file(path, kind)


@BOTH
@pytest.mark.parametrize("offset", [5, 2**31, 2**32 - 2])
def test_members_that_lie_elsewhere_are_refused(path, kind, offset):
    write_file(path, kind, HEADER, ARRAYS)
    content = bytearray(path.read_bytes())
    entry = content.rfind(b"PK\x01\x02")
    content[entry + 42 : entry + 46] = offset.to_bytes(4, "little")
    path.write_bytes(content)
    with pytest.raises(SnapshotError, match="not a readable"):
        read_file(path, kind)


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
        (b"'<f8'", b"'|O' "),
        (b"'<f8'", b"[[[["),
        (b"'<f8'", b"'%f8'"),
        (b"(3, 4)", b"(((((("),
        (b"(3, 4)", b"__(4) "),
    ],
)
@BOTH
def test_array_headers_that_do_not_tell_the_array_are_refused(path, kind, old, new):
    write_file(path, kind, HEADER, ARRAYS)
    with zipfile.ZipFile(path) as archive:
        content = archive.read("a.npy")
    assert old in content
    replace_member(path, "a.npy", content.replace(old, new))
    with pytest.raises(SnapshotError, match="the array 'a'"):
        read_file(path, kind)


def test_snapshots_are_told_from_other_files(path, tmp_path):
    assert is_of_kind(path, SNAPSHOT)
    with_header(path, version=1)
    assert is_of_kind(path, SNAPSHOT)
    with_members(path, a=ARRAYS["a"] + 1.0)
    assert is_of_kind(path, SNAPSHOT)
    path.write_bytes(path.read_bytes()[:-1])
    assert not is_of_kind(path, SNAPSHOT)
    np.savez(path, a=np.zeros(3))
    assert not is_of_kind(path, SNAPSHOT)
    os.mkfifo(tmp_path / "pipe")
    for other in (tmp_path, tmp_path / "nothing", tmp_path / "pipe"):
        assert not is_of_kind(other, SNAPSHOT)
