# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_prediction import naive_predictions

from ilr_dynamics.regression import (
    HILR,
    ILR,
    BatchInference,
    LinearGlobalModel,
    Prior,
)
from ilr_dynamics.regression.prediction._mixture import LANES
from ilr_dynamics.regression.prediction.screening import Screening

# Share of a variance that predictions may leave out; of a squared doubt, if it is no smaller than
# this share of the variance.
NEGLIGIBLE, SMALL_DOUBT = 1e-9, 1e-3


def wavy(generator, n):
    """Inputs (n, 5) along a curve and outputs (n, 2) that no few components describe."""
    s = np.sort(generator.uniform(0.0, 40.0, n))
    X = np.stack([np.sin(s), np.cos(1.3 * s), 0.1 * s, np.sin(0.7 * s + 1.0), np.cos(s)], axis=1)
    X += 0.01 * generator.normal(size=X.shape)
    return X, np.stack([np.sin(3.0 * s), X[:, 0] * X[:, 3]], axis=1)


@pytest.fixture(scope="module", params=["ilr", "hilr", "global model", "features"])
def crowded(request):
    X, Y = wavy(np.random.default_rng(5), 3000)
    settings = {
        "ilr": {},
        "hilr": {},
        "global model": {"global_model": LinearGlobalModel()},
        "features": {"features": "polynomial", "degree": 2},
    }[request.param]
    kind = HILR if request.param == "hilr" else ILR
    model = kind(120, inference=BatchInference(max_iterations=8), random_state=0, **settings)
    return model.set_params(prior__concentration=50.0, prior__input_spread=0.1).fit(X, Y)


def queries(n):
    """Near the data, beside them and far away."""
    generator = np.random.default_rng(6)
    X, _ = wavy(generator, n)
    return X + np.repeat([0.0, 0.3, 5.0], -(-n // 3))[:n, None] * generator.normal(size=X.shape)


def test_all_ways_to_predict_are_the_naive_one(crowded):
    X = queries(90)
    expected = naive_predictions(crowded, X)
    mean, std = crowded.predict(X, return_std=True)
    predictor = crowded.predictor()
    size = crowded.output_scaling_.scale
    for row, naive in enumerate(expected):
        one = predictor.query(X[row])
        for found in (mean[row], one.mean):
            assert np.all(np.abs(found - naive.mean) <= 1e-9 * (size + np.abs(naive.mean)))
        for found in (std[row], one.std):
            np.testing.assert_allclose(found, naive.std, rtol=1e-9)
        np.testing.assert_allclose(one.doubt, naive.doubt, rtol=1e-9)
        assert one.unseen_weight == pytest.approx(naive.weights[-1], rel=1e-8, abs=1e-300)
    np.testing.assert_allclose(
        crowded.responsibilities(X), [naive.weights for naive in expected], atol=1e-9
    )


def test_the_most_probable_component_speaks_alone(crowded):
    X = queries(60)
    weights, means, covariances = crowded.predict_components(X)
    best = weights.argmax(axis=1)
    rows = np.arange(len(X))
    mean, std = crowded.predict(X, return_std=True, mode="mode")
    np.testing.assert_allclose(mean, means[rows, best], rtol=1e-9, atol=1e-9)
    variances = np.diagonal(covariances[rows, best], axis1=1, axis2=2)
    np.testing.assert_allclose(std, np.sqrt(variances), rtol=1e-9)


def test_many_inputs_are_answered_as_each_is(crowded):
    X = queries(600)
    mean, std = crowded.predict(X, return_std=True)
    found = [crowded.predict(x[None], return_std=True) for x in X]
    # The global model's own rounding may differ.
    np.testing.assert_allclose(mean, [one[0][0] for one in found], rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(std, [one[1][0] for one in found], rtol=1e-10)


def test_what_is_left_out_is_negligible(crowded):
    mixture = crowded._predictive.mixture
    X = queries(600)
    weights, means, covariances = crowded.predict_components(X)
    variances = np.diagonal(covariances, axis1=2, axis2=3)
    mean, std = crowded.predict(X, return_std=True)
    between = (means - mean[:, None]) ** 2
    added = weights[:, :, None] * (variances + between) / std[:, None] ** 2
    predictor = crowded.predictor()
    n_asked = []
    for rows, said, _ in crowded._predictive._components(X, 1e-300):
        for row, (numbers, log_weights) in enumerate(
            zip(said.numbers, said.log_weights, strict=True), rows.start
        ):
            asked = numbers[log_weights > -np.inf]
            assert len(set(asked)) == len(asked)
            assert np.delete(weights[row], asked).sum() <= NEGLIGIBLE
            left_out = np.delete(added[row], asked, axis=0).sum(axis=0)
            doubt = (predictor.query(X[row]).doubt / std[row]) ** 2
            assert np.all(left_out <= NEGLIGIBLE * np.clip(doubt, SMALL_DOUBT, 1.0))
            assert np.all(np.diff(log_weights[: len(asked)]) <= 0.0)
            n_asked.append(len(asked))
    assert len(n_asked) == len(X)
    # Else nothing is gained.
    assert np.mean(n_asked) < 0.2 * mixture.dofs.size


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 40), st.integers(1, 14))
def test_each_component_is_in_one_block_whose_box_holds_it(seed, K, m):
    generator = np.random.default_rng(seed)
    # Some of them at one place.
    centres = generator.integers(-2, 3, (K, m)) * 1.0
    triangles = np.tril(generator.normal(size=(K, m, m)))
    triangles[:, np.arange(m), np.arange(m)] = 1.0 + generator.uniform(size=(K, m))
    offsets = -np.einsum("kij,kj->ki", triangles, centres)
    roots = np.concatenate([offsets[:, :, None], triangles], axis=2)
    constants, exponents = generator.normal(size=K), 1.0 + generator.uniform(size=K)
    arrays = Screening.of_components(centres, constants, exponents, roots)
    numbers = arrays.numbers[arrays.numbers >= 0.0].astype(int)
    np.testing.assert_array_equal(np.sort(numbers), np.arange(K))
    t = 3.0 * generator.normal(size=m)
    partial = np.cumsum((roots @ np.append(1.0, t)) ** 2, axis=1)
    variances = np.diagonal(np.linalg.inv(np.swapaxes(triangles, 1, 2) @ triangles), 0, 1, 2)
    boxes = np.swapaxes(arrays.boxes, 1, 2).reshape(-1, arrays.boxes.shape[1])
    for block, of_block in enumerate(arrays.numbers):
        box = boxes[block]
        lowest, highest, rates = box[2::3], box[3::3], box[4::3]
        for lane in range(LANES):
            number = int(of_block[lane])
            if number < 0:
                continue
            s = len(lowest)
            assert np.all((lowest <= centres[number, :s]) & (centres[number, :s] <= highest))
            assert np.all(rates <= (1.0 + 1e-9) / variances[number, :s])
            assert box[0] >= constants[number] and box[1] >= 1.0 / exponents[number]
            gap = np.maximum(np.maximum(lowest - t[:s], t[:s] - highest), 0.0)
            bound = np.max(gap**2 * rates, initial=0.0)
            assert bound <= partial[number, -1] * (1.0 + 1e-9)
            rows = arrays.first_rows.view(np.float32)[block, :, lane]
            first = rows[:2].astype(float) @ np.append(1.0, t[:1])
            assert first**2 == pytest.approx(partial[number, 0], rel=1e-4, abs=1e-9)


@pytest.mark.parametrize("spread", [1e-3, 1e-5, 1e-6])
def test_components_nearly_without_width_are_found(spread):
    generator = np.random.default_rng(1)
    t = np.sort(generator.uniform(0.0, 20.0, 3000))
    X = np.stack([np.sin((1.0 + 0.3 * k) * t + k) for k in range(6)], axis=1)
    Y = np.stack([X[:, 0] * X[:, 1], np.sin(2.0 * X[:, 2])], axis=1)
    model = ILR(
        150,
        prior=Prior(input_spread=spread, input_strength=50.0),
        inference=BatchInference(fit_scales=False, max_iterations=5),
    ).fit(X, Y)
    near = X[::60] + 1e-7
    mean, std = model.predict(near, return_std=True)
    expected = naive_predictions(model, near)
    np.testing.assert_allclose(mean, [one.mean for one in expected], atol=1e-6)
    np.testing.assert_allclose(std, [one.std for one in expected], atol=1e-6)


def test_input_regions_hold_the_samples(crowded):
    X, _ = wavy(np.random.default_rng(5), 3000)
    centres, covariances = crowded.input_regions()
    assert centres.shape == (len(crowded.statistics_), 5)
    deviations = X[:, None] - centres
    inverse = np.linalg.inv(covariances)
    distances = np.einsum("nki,kij,nkj->nk", deviations, inverse, deviations, optimize=True)
    labels = crowded.responsibilities(X)[:, : len(centres)].argmax(axis=1)
    own = distances[np.arange(len(X)), labels]
    # The mean of a squared Mahalanobis distance is the number of inputs.
    assert 0.3 * 5 < own.mean() < 1.5 * 5
