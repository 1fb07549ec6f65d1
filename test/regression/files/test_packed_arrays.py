# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import json

import numpy as np
import pytest

from ilr_dynamics.exceptions import SnapshotError
from ilr_dynamics.regression.files.packed_arrays import MAGIC, open_arrays, write_arrays

CONTENT = {
    "matrix": np.arange(15.0).reshape(3, 5),
    "transposed": np.arange(12.0).reshape(3, 4).T,
    "empty": np.zeros((0, 7)),
    "number": np.array(3.5),
    "special": np.array([np.nan, -np.inf, 5e-324]),
}
HEADER = {"name": "jö", "degree": 3, "nothing": None, "parts": [1.5, {"deep": True}]}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "arrays"
    write_arrays(path, CONTENT, HEADER)
    return path


def test_arrays_come_back_bit_for_bit_and_aligned(path):
    found, header = open_arrays(path)
    assert header == HEADER
    assert list(found) == list(CONTENT)
    for name, array in CONTENT.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].shape == array.shape
        assert found[name].ctypes.data % 64 == 0 or array.size == 0


def test_arrays_are_read_only(path):
    with pytest.raises(ValueError, match="read-only"):
        open_arrays(path)[0]["matrix"][0, 0] = 1.0


def test_a_mapping_outlives_its_file(path):
    found, _ = open_arrays(path)
    path.unlink()
    np.testing.assert_array_equal(found["matrix"], CONTENT["matrix"])


def test_truncation_anywhere_is_noticed(path):
    whole = path.read_bytes()
    last = whole.rfind(np.array([5e-324]).tobytes()) + 8
    for length in range(0, last, 3):
        path.write_bytes(whole[:length])
        with pytest.raises(SnapshotError, match="map|not a predictor file|ends inside"):
            open_arrays(path)


def test_a_missing_file_and_a_folder_are_told(tmp_path):
    for path in (tmp_path / "nothing", tmp_path):
        with pytest.raises(SnapshotError, match="cannot map"):
            open_arrays(path)


@pytest.mark.parametrize(
    "shapes",
    [b"[1, 2]", b'{"a": 3}', b'{"a": [-1]}', b'{"a": [1.5]}', b'{"a": ["2"]}', b'{"a": [true]}'],
)
def test_headers_without_shapes_are_refused(path, shapes):
    path.write_bytes(MAGIC + b'{"header": {}, "shapes": ' + shapes + b"}\n" + bytes(1000))
    with pytest.raises(SnapshotError, match="must hold shapes"):
        open_arrays(path)


@pytest.mark.parametrize("header", [b"[]", b"3", b"null", b'"text"'])
def test_headers_without_names_are_refused(path, header):
    path.write_bytes(MAGIC + b'{"shapes": {}, "header": ' + header + b"}\n" + bytes(1000))
    with pytest.raises(SnapshotError, match="must hold values by name"):
        open_arrays(path)


@pytest.mark.parametrize(
    "header", [b"{", b"\xff\xfe", b"nonsense", b"[1]", b"5", b'{"shapes": {}}', b'{"header": {}}']
)
def test_headers_that_are_not_json_or_lack_a_part_are_refused(path, header):
    path.write_bytes(MAGIC + header + b"\n" + bytes(1000))
    with pytest.raises(SnapshotError, match="damaged"):
        open_arrays(path)


def test_absurd_sizes_do_not_allocate(path):
    path.write_bytes(MAGIC + b'{"header": {}, "shapes": {"a": [4000000000, 4000000000]}}\n')
    with pytest.raises(SnapshotError, match="ends inside the array 'a'"):
        open_arrays(path)


def test_other_files_are_refused(path):
    path.write_bytes(b"PK\x03\x04" + bytes(500))
    with pytest.raises(SnapshotError, match="not a predictor file"):
        open_arrays(path)


@pytest.mark.parametrize(
    "shape", [[0, 2**70], [0, 2**62], [1] * 70], ids=["beyond integers", "overflow", "dimensions"]
)
def test_shapes_that_no_array_has_are_refused(path, shape):
    header = json.dumps({"header": {}, "shapes": {"a": shape}}).encode()
    path.write_bytes(MAGIC + header + b"\n" + bytes(1000))
    with pytest.raises(SnapshotError, match="holds no array of shape"):
        open_arrays(path)
