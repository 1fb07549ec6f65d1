# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import copy
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from ilr_dynamics.exceptions import InvalidDataError, InvalidParameterError
from ilr_dynamics.regression import ILR, BatchInference, LinearGlobalModel, load_snapshot
from ilr_dynamics.regression.learner import held_out_rows
from ilr_dynamics.regression.prediction.calibration import Outcomes, spread_factors
from ilr_dynamics.regression.units.spread import SpreadFactors


def samples(n, seed, noise=0.1, low=-3.0, high=3.0):
    generator = np.random.default_rng(seed)
    X = generator.uniform(low, high, (n, 1))
    return X, np.sin(X) + noise * generator.normal(size=X.shape)


@pytest.fixture
def model():
    return ILR(n_components=20).fit(*samples(500, 0))


def coverage(model, X, Y, level=0.95):
    lower, upper = model.predict_interval(X, level)
    return np.mean((Y >= lower) & (Y <= upper))


def outcomes(residuals, is_unseen, added=0.0):
    """Of one component each with a scale of one, a normal one as good as."""
    n, d = residuals.shape
    return [
        Outcomes(
            weights=np.ones((n, 1)),
            residuals=residuals[:, None],
            shapes=np.ones((n, 1, d)),
            added=np.full((n, 1, d), added),
            dofs=np.full((n, 1), 1e9),
            is_unseen=is_unseen[:, None],
        )
    ]


def test_factors_of_single_components_are_quantiles():
    generator = np.random.default_rng(0)
    is_unseen = np.arange(4000) < 2000
    distances = generator.normal(size=(4000, 2)) * np.where(is_unseen, 3.0, 0.5)[:, None]
    found = spread_factors(outcomes(distances, is_unseen), 0.9, SpreadFactors())
    at_90 = norm.ppf(0.95)
    assert found.components == pytest.approx(
        np.quantile(np.abs(distances[2000:]), 0.9) / at_90, rel=2e-3
    )
    assert found.unseen == pytest.approx(
        np.quantile(np.abs(distances[:2000]), 0.9) / at_90, rel=2e-3
    )


def test_few_samples_leave_a_factor_as_it_was():
    given = outcomes(np.full((60, 2), 5.0), np.arange(60) < 49)
    assert spread_factors(given, 0.9, SpreadFactors(0.5, 0.7)) == SpreadFactors(0.5, 0.7)


def test_disagreement_between_components_counts_as_spread():
    """Two components on either side: their own spread has little left to cover."""
    generator = np.random.default_rng(1)
    y = generator.choice([-1.0, 1.0], 3000) + 0.1 * generator.normal(size=3000)
    given = Outcomes(
        weights=np.full((3000, 2), 0.5),
        residuals=(y[:, None] - [[-1.0, 1.0]])[:, :, None],
        shapes=np.full((3000, 2, 1), 0.4**2),
        added=np.zeros((3000, 2, 1)),
        dofs=np.full((3000, 2), 1e9),
        is_unseen=np.zeros((3000, 2), dtype=bool),
    )
    assert given.covered(SpreadFactors(), 0.95) > 0.99
    found = spread_factors([given], 0.95, SpreadFactors())
    assert found.components == pytest.approx(0.25, rel=0.05)
    assert given.covered(found, 0.95) == pytest.approx(0.95, abs=1e-3)


@pytest.mark.parametrize("unseen", [False, True])
def test_a_factor_widens_what_is_not_added_whatever_it_is(unseen):
    """Of a variance of 5 in all, 4 are added: what is left has the deviation that is given."""
    residuals = np.sqrt(5.0) * np.random.default_rng(2).normal(size=(4000, 2))
    is_unseen = np.full(4000, unseen)
    found = spread_factors(outcomes(residuals, is_unseen, 4.0), 0.9, SpreadFactors())
    quantile = np.quantile(np.abs(residuals), 0.9) / norm.ppf(0.95)
    of_kind, of_other = found.components, found.unseen
    if unseen:
        of_kind, of_other = of_other, of_kind
    assert of_kind**2 + 4.0 == pytest.approx(quantile**2, rel=4e-3)
    assert of_other == 1.0


class Doubtful(LinearGlobalModel):
    """Doubts its second half of the inputs, where nothing can be learned of a part besides."""

    name = "doubtful"

    def predict(self, X):
        right = np.where(X[:, :1] > 0.0, 1.0, 0.0)
        return replace(super().predict(X), doubt=0.5 * right, unlearnable=0.25 * right)


@pytest.mark.parametrize("learn_residual", [False, True])
def test_outcomes_are_the_shares_that_the_intervals_cover(learn_residual):
    """With what a global model adds to its own variance and to that of the components."""
    X, Y = samples(300, 0)
    model = ILR(
        n_components=8, global_model=Doubtful(), learn_residual=learn_residual, random_state=0
    ).fit(X, Y)
    X, Y = samples(400, 1, noise=0.8, low=-4.0, high=4.0)
    model.calibrate(X, Y)
    factors = model.spread_factors_
    assert factors.components != 1.0
    parts = model._predictive.outcomes(X, Y)
    for level in (0.5, 0.95):
        covered = np.average(
            [part.covered(factors, level) for part in parts],
            weights=[len(part.weights) for part in parts],
        )
        # Components of hardly any weight are left out of outcomes.
        assert covered == pytest.approx(coverage(model, X, Y, level), abs=0.005)


@pytest.mark.parametrize("noise", [0.2, 0.4])
def test_intervals_cover_what_they_say_after_the_noise_has_changed(model, noise):
    model.calibrate(*samples(1000, 1, noise))
    assert coverage(model, *samples(5000, 2, noise)) == pytest.approx(0.95, abs=0.02)
    mean_only = ILR(n_components=20).fit(*samples(500, 0))
    X, _ = samples(50, 3)
    np.testing.assert_allclose(model.predict(X), mean_only.predict(X), atol=1e-3)


def test_calibrating_again_changes_little(model):
    X, Y = samples(2000, 1, 0.3)
    model.calibrate(X, Y)
    once = model.spread_factors_
    model.calibrate(X, Y)
    assert model.spread_factors_.components == pytest.approx(once.components, rel=0.02)


def test_the_global_model_is_calibrated_on_samples_that_are_its_own():
    X, Y = samples(500, 0)
    model = ILR(n_components=20, global_model=LinearGlobalModel()).fit(X, Y)
    X, Y = samples(500, 1, low=30.0, high=60.0)
    model.calibrate(X, Y + 100.0)
    assert model.spread_factors_.components == 1.0
    assert coverage(model, X, Y + 100.0) == pytest.approx(0.95, abs=0.01)


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_a_share_makes_factors_geometric_means_and_may_spare_the_unseen_component(model, share):
    X, Y = samples(500, 1, 0.3)
    before = model.calibrate(*samples(500, 2)).spread_factors_
    alone = copy.copy(model).calibrate(X, Y).spread_factors_
    both = copy.copy(model).calibrate(X, Y, share=share).spread_factors_
    spared = copy.copy(model).calibrate(X, Y, share=share, unseen=False).spread_factors_
    expected = before.components ** (1.0 - share) * alone.components**share
    assert both.components == pytest.approx(expected, rel=1e-12)
    assert both.unseen == pytest.approx(before.unseen ** (1 - share) * alone.unseen**share)
    assert spared == SpreadFactors(both.components, before.unseen)
    with pytest.raises(InvalidParameterError, match="share"):
        model.calibrate(X, Y, share=1.1)


def test_factors_stay_through_learning_and_files_but_not_a_new_fit(model, tmp_path):
    model.calibrate(*samples(500, 1, 0.3))
    factors = model.spread_factors_
    assert factors.components > 2.0
    model.partial_fit(*samples(100, 2))
    assert model.spread_factors_ == factors
    model.save(tmp_path / "model.npz")
    loaded = load_snapshot(tmp_path / "model.npz")
    assert loaded.spread_factors_ == factors
    X, _ = samples(20, 3)
    np.testing.assert_array_equal(
        loaded.predict(X, return_std=True)[1], model.predict(X, return_std=True)[1]
    )
    mean, std = model.predictor()(X[0])
    np.testing.assert_allclose(std, model.predict(X[:1], return_std=True)[1][0], rtol=1e-9)
    assert model.fit(*samples(100, 4)).spread_factors_ == SpreadFactors()


def test_a_share_of_the_samples_calibrates_and_is_learned_too():
    # Too few samples for so many components: by itself the model is far too unsure.
    generator = np.random.default_rng(5)
    X = generator.normal(size=(600, 6)) * np.exp(generator.normal(size=(1, 6)))
    Y = np.sin(X @ generator.normal(size=(6, 2)))
    settings = {"n_components": 150, "inference": BatchInference(max_iterations=10)}
    plain = ILR(**settings).fit(X, Y)
    calibrated = ILR(**settings, calibration_share=0.1).fit(X, Y)
    assert calibrated.n_samples_ == 600
    np.testing.assert_array_equal(calibrated.statistics_, plain.statistics_)
    assert calibrated.spread_factors_ != SpreadFactors()


@pytest.mark.parametrize("of_pieces", [True, False])
def test_held_out_samples_decide_whether_components_are_merged(of_pieces):
    generator = np.random.default_rng(2)
    X = generator.uniform(-3.0, 3.0, (600, 1))
    pieces = np.select([X < -1.0, X < 1.0], [2.0 * X, -X], 0.5 * X + 3.0)
    Y = pieces if of_pieces else np.sin(2.0 * X)
    Y = Y + 0.03 * generator.normal(size=X.shape)
    fits, densities = {}, {}
    held_out = held_out_rows(600, 0.1)
    assert np.sum(held_out) == 60
    for merge in (True, False):
        inference = BatchInference(merge=merge)
        fits[merge] = ILR(30, calibration_share=0.1, inference=inference).fit(X, Y)
        trial = ILR(30, inference=inference).fit(X[~held_out], Y[~held_out])
        trial.calibrate(X[held_out], Y[held_out])
        assert trial.spread_factors_ == fits[merge].spread_factors_
        densities[merge] = np.sum(trial.log_predictive_density(X[held_out], Y[held_out]))
    decided = ILR(30, calibration_share=0.1).fit(X, Y)
    expected = fits[densities[True] > densities[False]]
    np.testing.assert_array_equal(decided.statistics_, expected.statistics_)
    assert decided.spread_factors_ == expected.spread_factors_
    assert fits[True].n_active_ < fits[False].n_active_
    # Nothing is held out, nothing is decided.
    undecided = ILR(30).fit(X, Y)
    np.testing.assert_array_equal(undecided.statistics_, fits[False].statistics_)


def test_too_few_samples_to_hold_out_are_learned_without_calibration():
    model = ILR(n_components=10, calibration_share=0.03).fit(*samples(1000, 0))
    assert model.spread_factors_ == SpreadFactors()


@pytest.mark.parametrize("share", [-0.1, 0.6, float("nan"), "half"])
def test_a_share_out_of_range_is_refused(share):
    with pytest.raises(InvalidParameterError, match="calibration_share"):
        ILR(calibration_share=share).fit(*samples(20, 0))


def test_odd_arguments_are_refused_and_change_nothing(model):
    X, Y = samples(100, 1)
    for level in (0.0, 1.0, float("nan")):
        with pytest.raises(InvalidParameterError, match="coverage"):
            model.calibrate(X, Y, level)
    with pytest.raises(InvalidDataError):
        model.calibrate(X, Y[:-1])
    assert model.spread_factors_ == SpreadFactors()
