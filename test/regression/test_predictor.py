# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import copy
import json
import pickle
import tracemalloc
from dataclasses import fields
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ilr_dynamics.exceptions import InvalidDataError, SnapshotError
from ilr_dynamics.regression import Predictor
from ilr_dynamics.regression.files.model_file import PREDICTOR, read_file, write_file
from ilr_dynamics.regression.files.stored_predictor import concatenated, separated

NEAR_AND_FAR = [(3.2, 150.0), (3.9, -20.0), (3.0, 0.0), (2.0, 500.0), (-40.0, 9e3), (1e6, -1e8)]


@pytest.fixture(scope="module")
def predictor(model):
    return model.predictor()


@pytest.fixture(scope="module")
def mapped(predictor, tmp_path_factory):
    path = tmp_path_factory.mktemp("predictor") / "model.predictor"
    predictor.save(path)
    return Predictor.open(path)


def assert_agrees(predictor, model, x):
    mean, std = model.predict([x], return_std=True)
    found = predictor.query(x)
    size = model.output_scaling_.scale + np.abs(mean[0])
    assert np.all(np.abs(found.mean - mean[0]) <= 1e-9 * size)
    np.testing.assert_allclose(found.std, std[0], rtol=1e-9)
    weights = model.responsibilities([x])[0]
    assert found.unseen_weight == pytest.approx(weights[-1], rel=1e-8)
    best = int(weights.argmax())
    assert found.component == (-1 if best == weights.size - 1 else best)


@settings(max_examples=40)
@given(arrays(float, 2, elements=st.floats(-1e4, 1e4)))
def test_query_agrees_with_predict(predictor, model, x):
    assert_agrees(predictor, model, x)


@pytest.mark.parametrize("x", NEAR_AND_FAR)
def test_query_agrees_with_predict_near_and_far_and_from_a_file(predictor, mapped, model, x):
    assert_agrees(predictor, model, x)
    assert_agrees(mapped, model, x)
    mean, std = predictor(x)
    np.testing.assert_array_equal(mean, predictor.query(x).mean)
    np.testing.assert_array_equal(std, predictor.query(x).std)


def test_few_inputs_at_once_are_predicted_as_each_of_them(predictor, mapped):
    for n in range(1, len(NEAR_AND_FAR) + 1):
        X = np.array(NEAR_AND_FAR[:n])
        for source in (predictor, mapped):
            mean, std = source.predict(X)
            for x, of_mean, of_std in zip(X, mean, std, strict=True):
                found = source.query(x)
                np.testing.assert_allclose(of_mean, found.mean, rtol=1e-9, atol=1e-9)
                np.testing.assert_allclose(of_std, found.std, rtol=1e-9)
    for odd in (np.zeros(2), np.zeros((2, 3)), np.zeros((1, 2, 2))):
        with pytest.raises(InvalidDataError, match=r"must have shape \(n, 2\), got"):
            predictor.predict(odd)


def test_a_mapped_predictor_gives_the_same_bits(predictor, mapped):
    for x in NEAR_AND_FAR:
        for a, b in zip(predictor.query(x), mapped.query(x), strict=True):
            np.testing.assert_array_equal(a, b)
    assert (mapped.n_inputs, mapped.n_outputs) == (2, 2)


def test_earlier_answers_and_queries_leave_no_trace(predictor):
    first = [predictor.query(x) for x in NEAR_AND_FAR]
    kept = [(p.mean.copy(), p.std.copy()) for p in first]
    again = [predictor.query(x) for x in reversed(NEAR_AND_FAR)][::-1]
    for a, b, (mean, std) in zip(first, again, kept, strict=True):
        np.testing.assert_array_equal(a.mean, mean)
        np.testing.assert_array_equal(a.std, std)
        np.testing.assert_array_equal(b.mean, mean)
        np.testing.assert_array_equal(b.std, std)


@pytest.mark.parametrize(
    "copied",
    [copy.copy, copy.deepcopy, lambda original: pickle.loads(pickle.dumps(original))],
    ids=["copy", "deepcopy", "pickle"],
)
@pytest.mark.parametrize("source", ["predictor", "mapped"])
def test_copies_answer_as_the_original_does(source, copied, request):
    original = request.getfixturevalue(source)
    expected = [original.query(x) for x in NEAR_AND_FAR]
    twin = copied(original)
    for x, answer in zip(NEAR_AND_FAR, expected, strict=True):
        # Neither hears what the other is asked.
        original.query(NEAR_AND_FAR[-1])
        for a, b in zip(twin.query(x), answer, strict=True):
            np.testing.assert_array_equal(a, b)
        twin.query(NEAR_AND_FAR[-2])
        np.testing.assert_array_equal(original.query(x).mean, answer.mean)


def test_the_query_itself_is_not_changed(predictor):
    x = np.array([3.0, 20.0])
    predictor.query(x)
    np.testing.assert_array_equal(x, [3.0, 20.0])


def test_later_learning_leaves_a_predictor_as_it_was(motion):
    from ilr_dynamics.regression import ILR

    model = ILR(n_components=5).fit(*motion)
    predictor = model.predictor()
    before = predictor.query([3.0, 10.0])
    model.partial_fit(motion[0] + 1.0, motion[1] - 5.0)
    np.testing.assert_array_equal(predictor.query([3.0, 10.0]).mean, before.mean)


def test_memory_does_not_grow_with_queries(predictor):
    def ask():
        for x in NEAR_AND_FAR * 50:
            predictor.query(x)

    ask()
    tracemalloc.start()
    try:
        ask()
        before, _ = tracemalloc.get_traced_memory()
        ask()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # One float kept of each query would be ten thousand bytes.
    assert after - before < 1000


@pytest.mark.parametrize("x", [[np.nan, 0.0], [0.0, np.inf], [-np.inf, np.nan]])
def test_a_query_that_is_not_finite_is_refused(predictor, x):
    with pytest.raises(InvalidDataError, match="finite"):
        predictor.query(x)


@pytest.mark.parametrize("x", [1.0, [1.0], [1.0, 2.0, 3.0], [[1.0, 2.0]]])
def test_a_query_of_another_shape_is_refused(predictor, x):
    with pytest.raises(InvalidDataError, match=r"shape \(2,\)"):
        predictor.query(x)


@pytest.fixture
def file(predictor, tmp_path):
    path = tmp_path / "model.predictor"
    predictor.save(path)
    return path


def content_of(file):
    """Header on transforms and copies of the arrays of a predictor file."""
    header, arrays = read_file(file, PREDICTOR)
    content = separated(header["shapes"], arrays["values"])
    return header["transforms"], {name: array.copy() for name, array in content.items()}


def rewrite(file, transforms, content):
    shapes, values = concatenated(content)
    write_file(file, PREDICTOR, {"transforms": transforms, "shapes": shapes}, {"values": values})


@pytest.mark.parametrize(
    "change", ["missing", "missing_component", "extra", "shape", "inputs", "outputs"]
)
def test_files_that_make_no_predictor_are_refused(file, change):
    header, content = content_of(file)
    if change == "missing":
        del content["input_scale"]
    elif change == "missing_component":
        del content["exponents"]
    elif change == "extra":
        content["surplus"] = np.zeros(3)
    elif change == "shape":
        content["dofs"] = content["dofs"][:-1]
    else:
        for name in ("location", "scale"):
            content[f"{change[:-1]}_{name}"] = np.ones(3)
    rewrite(file, header, content)
    with pytest.raises(SnapshotError, match="makes? no predictor"):
        Predictor.open(file)


@pytest.mark.parametrize(
    "change",
    [
        {"features": "polynomial"},
        {"features": "never_registered"},
        {"degree": "high"},
        {"degree": float("inf")},
        {"global_model": "linear"},
        {"global_model": "never_defined"},
    ],
    ids=str,
)
def test_headers_that_make_no_predictor_are_refused(file, change):
    header, content = content_of(file)
    rewrite(file, {**header, **change}, content)
    with pytest.raises(SnapshotError):
        Predictor.open(file)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *product(("maps", "noise_shapes", "log_constants", "exponents", "dofs"), (np.nan, np.inf)),
        ("dofs", 2.0),
    ],
)
def test_files_that_predict_nothing_finite_are_refused(file, name, value):
    header, content = content_of(file)
    content[name][:] = value
    rewrite(file, header, content)
    with pytest.raises(SnapshotError, match="makes no predictor"):
        Predictor.open(file)


def test_a_file_whose_spread_overflows_is_refused(file):
    header, content = content_of(file)
    content["maps"][::2], content["maps"][1::2] = 1e300, -1e300
    rewrite(file, header, content)
    with pytest.raises(SnapshotError, match="makes no predictor"):
        Predictor.open(file)


@pytest.mark.parametrize("kind", ["feature", "input", "output"])
def test_files_with_scalings_that_are_not_finite_are_refused(file, kind):
    header, content = content_of(file)
    content[f"{kind}_location"] = content[f"{kind}_scale"] = np.full(2, np.nan)
    rewrite(file, header, content)
    with pytest.raises(SnapshotError, match="makes no predictor"):
        Predictor.open(file)


@pytest.mark.parametrize("name", ["features", "degree", "global_model"])
def test_a_header_without_a_part_is_refused(file, name):
    header, content = content_of(file)
    del header[name]
    rewrite(file, header, content)
    with pytest.raises(SnapshotError, match=name):
        Predictor.open(file)


@pytest.mark.parametrize(
    "shape",
    [3, None, "7", [-1], [1.5], ["2"], [[2]], [2**70], [0, 2**70], [0, 2**62, 4], [1] * 70, []],
    ids=str,
)
@pytest.mark.parametrize("name", ["dofs", "log_constants", "output_scale", "surplus"])
def test_shapes_that_no_predictor_has_are_refused(file, name, shape):
    header, arrays = read_file(file, PREDICTOR)
    header["shapes"][name] = shape
    write_file(file, PREDICTOR, header, arrays)
    with pytest.raises(SnapshotError, match="makes no predictor"):
        Predictor.open(file)


@pytest.mark.parametrize("shapes", [None, [1, 2], [["dofs", [3]]], "shapes", {}, 5], ids=str)
def test_a_header_without_shapes_by_name_is_refused(file, shapes):
    header, arrays = read_file(file, PREDICTOR)
    write_file(file, PREDICTOR, {**header, "shapes": shapes}, arrays)
    with pytest.raises(SnapshotError, match="makes no predictor"):
        Predictor.open(file)


@pytest.mark.parametrize(
    "change",
    [
        lambda values: {},
        lambda values: {"value": values},
        lambda values: {"values": values[:-60]},
        lambda values: {"values": np.stack([values, values], axis=1)},
        lambda values: {"values": np.array(1.0)},
    ],
    ids=["missing", "other name", "shorter", "matrix", "number"],
)
def test_values_that_are_not_those_of_the_shapes_are_refused(file, change):
    header, arrays = read_file(file, PREDICTOR)
    write_file(file, PREDICTOR, header, change(arrays["values"].copy()))
    with pytest.raises(SnapshotError, match="makes no predictor"):
        Predictor.open(file)


def test_mapped_arrays_are_aligned_and_no_copies(file):
    _, arrays = read_file(file, PREDICTOR)
    physical = Predictor.open(file)._physical
    transforms, parts = physical.transforms, (physical.mixture, physical.screening)
    taken = [getattr(part, field.name) for part in parts for field in fields(part)]
    assert len(taken) == 14
    for array in (*taken, transforms.outputs.location, transforms.regressors.scaling.scale):
        assert array.ctypes.data % 64 == 0
        assert array.flags.c_contiguous
        assert not array.flags.writeable
        assert not array.flags.owndata


def test_arrays_of_any_shape_are_separated_as_they_were_concatenated():
    content = {
        "matrix": np.arange(15.0).reshape(3, 5),
        "transposed": np.arange(12.0).reshape(3, 4).T,
        "empty": np.zeros((0, 7)),
        "number": np.array(3.5),
        "special": np.array([np.nan, -np.inf, 5e-324]),
    }
    shapes, values = concatenated(content)
    found = separated(json.loads(json.dumps(shapes)), values)
    assert list(found) == list(content)
    for name, array in content.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].shape == array.shape
        assert np.shares_memory(found[name], values) or array.size == 0


def test_a_folder_that_is_missing_is_told(predictor, tmp_path):
    with pytest.raises(SnapshotError, match="cannot write"):
        predictor.save(tmp_path / "nowhere" / "model.predictor")
