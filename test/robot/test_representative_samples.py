# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ilr_dynamics.robot.representative_samples import N_CANDIDATES, RepresentativeSamples
from ilr_dynamics.robot.residual_correlation import ResidualCorrelation

USUAL = ResidualCorrelation()


def samples(positions, mass=None):
    """Of one joint at rest."""
    n = len(positions)
    X = np.zeros((n, 3))
    X[:, 0] = positions
    mass = np.ones(n) if mass is None else np.asarray(mass, dtype=float)
    return RepresentativeSamples(X, np.arange(n, dtype=float)[:, None], mass, np.ones(n))


def independent(known):
    return known.mass @ known.worth


def way(n, length):
    return np.linspace(0.0, length, n)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.9975])
@pytest.mark.parametrize("c", [1, 2, 50])
def test_samples_with_a_common_error_count_as_many_as_their_mean_is_worth(share, c):
    known = samples(np.full(c, 0.4)).weighed(replace(USUAL, share=share))
    errors = share * np.ones((c, c)) + (1.0 - share) * np.eye(c)
    # Generalized least squares: one over the variance of the best estimate of the mean.
    assert independent(known) == pytest.approx(np.sum(np.linalg.inv(errors)), rel=1e-6)
    # One that stands for all is worth the same.
    alone = samples([0.4], [c]).weighed(replace(USUAL, share=share))
    assert independent(alone) == pytest.approx(independent(known), rel=1e-6)


def test_places_far_from_each_other_add_up():
    apart = samples([0.0] * 5 + [3.0] * 20).weighed(USUAL)
    each = [samples([0.0] * n).weighed(USUAL) for n in (5, 20)]
    assert independent(apart) == pytest.approx(sum(independent(one) for one in each), rel=1e-6)


def test_standing_still_for_an_hour_counts_once():
    """At 100 Hz, with the noise of encoders."""
    n = 360_000
    noise = 1e-4 * np.random.default_rng(0).normal(size=n)
    X = np.zeros((n, 3))
    X[:, 0] = noise
    still, owner = RepresentativeSamples.of_batch(X, X[:, :1], np.ones(n))
    assert len(still.mass) == N_CANDIDATES
    assert still.mass.sum() == n
    assert independent(still.weighed(USUAL)) == pytest.approx(1.0 / USUAL.share, rel=0.01)
    assert len(owner) == n


@given(
    st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=60),
    st.integers(1, 70),
)
def test_thinning_keeps_mass_and_what_it_is_worth_in_order(mass, n):
    known = samples(np.arange(len(mass)) * 0.03, mass).weighed(USUAL)
    fewer = known.thinned(n)
    assert 1 <= len(fewer.mass) <= min(n, len(mass))
    assert fewer.mass.sum() == pytest.approx(known.mass.sum(), rel=1e-9)
    assert independent(fewer) == pytest.approx(independent(known), rel=1e-9)
    assert np.all(fewer.mass > 0.0)
    assert np.all((fewer.worth > 0.0) & (fewer.worth <= 1.0 + 1e-12))
    # Y holds the places.
    assert np.all(np.diff(fewer.Y[:, 0]) > 0.0)
    np.testing.assert_array_equal(fewer.X, known.X[fewer.Y[:, 0].astype(int)])
    again = known.thinned(n)
    for name in ("X", "Y", "mass", "worth"):
        np.testing.assert_array_equal(getattr(again, name), getattr(fewer, name))


@pytest.mark.parametrize("n", [5, N_CANDIDATES, N_CANDIDATES + 1, 5 * N_CANDIDATES + 7])
def test_each_sample_of_a_batch_has_one_near_it_that_stands_for_it(n):
    weights = np.random.default_rng(1).uniform(0.5, 1.0, n)
    X = np.zeros((n, 3))
    X[:, 0] = way(n, 1.0)
    batch, owner = RepresentativeSamples.of_batch(X, X[:, :1], weights)
    assert len(batch.mass) <= N_CANDIDATES
    assert owner.shape == (n,)
    np.testing.assert_allclose(
        batch.mass, [weights[owner == k].sum() for k in range(owner[-1] + 1)]
    )
    assert np.max(np.abs(batch.X[owner, 0] - X[:, 0])) < 3.0 / N_CANDIDATES


def test_weights_choose_where_samples_are_kept():
    heavy = samples(way(100, 1.0), np.where(np.arange(100) < 50, 9.0, 1.0)).thinned(20)
    assert np.sum(heavy.X[:, 0] < 0.5) == pytest.approx(18, abs=1)


def test_what_is_discounted_has_less_mass_and_is_worth_as_much_each():
    known = samples(way(40, 0.3)).weighed(USUAL)
    half = known.discounted(0.5)
    assert independent(half) == pytest.approx(0.5 * independent(known))
    # What went into sums with less does not win by it.
    far = samples([9.0])
    assert np.all(half.reweighed(far, USUAL, USUAL).worth[:40] <= known.worth + 1e-12)
    assert len(known.discounted(0.0).mass) == 0


def test_a_batch_elsewhere_leaves_what_was_learned():
    """Also where each stands for many along a way, which are not at one place."""
    known = samples(way(2000, 20.0)).weighed(USUAL).thinned(100)
    later = known.reweighed(samples([40.0]), USUAL, USUAL)
    np.testing.assert_allclose(later.worth[:100], known.worth, rtol=1e-9)
    assert later.worth[-1] == pytest.approx(1.0)


@pytest.mark.parametrize("n_kept", [1000, 100])
def test_a_recording_that_is_repeated_counts_as_one(n_kept):
    known = samples(way(1000, 3.0)).weighed(USUAL)
    batch = samples(way(1000, 3.0))
    together = known.thinned(n_kept).reweighed(batch, USUAL, USUAL)
    # Less than a tenth more: each further sample has a share 1 - s of its own.
    assert 1.0 <= independent(together) / independent(known) < 1.0 + (1.0 - USUAL.share)
    once_more = together.thinned(n_kept).reweighed(batch, USUAL, USUAL)
    assert independent(once_more) / independent(known) < 1.0 + (1.0 - USUAL.share)


def test_half_a_recording_that_is_repeated_loses_and_the_other_does_not():
    known = samples(way(1000, 10.0)).weighed(USUAL)
    together = known.reweighed(samples(way(500, 5.0)), USUAL, USUAL)
    left = together.worth[:1000] / known.worth
    inside, outside = left[20:450], left[550:]
    np.testing.assert_allclose(inside, np.mean(inside), rtol=0.05)
    assert np.mean(inside) == pytest.approx(0.5, abs=0.05)
    np.testing.assert_allclose(outside, 1.0, rtol=0.01)


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_other_lengths_count_what_was_learned_otherwise(factor):
    known = samples(way(1000, 10.0)).weighed(USUAL)
    other = replace(USUAL, position_length=factor * USUAL.position_length)
    found = known.reweighed(samples([40.0]), USUAL, other)
    expected = samples(way(1000, 10.0)).weighed(other)
    np.testing.assert_allclose(found.worth[:1000], expected.worth, rtol=1e-9)


@given(
    st.lists(st.floats(0.0, 2.0), min_size=1, max_size=30),
    st.lists(st.floats(0.0, 2.0), min_size=1, max_size=30),
    st.floats(0.0, 0.9975),
)
def test_more_samples_never_make_earlier_ones_worth_more(first, later, share):
    correlation = replace(USUAL, share=share)
    known = samples(first).weighed(correlation)
    together = known.reweighed(samples(later), correlation, correlation)
    assert np.all(together.worth[: len(first)] <= known.worth * (1.0 + 1e-12))
    assert np.all((together.worth > 0.0) & (together.worth <= 1.0 + 1e-12))
    # In two parts they are worth what they are at once, while all are kept.
    at_once = samples(first + later).weighed(correlation)
    np.testing.assert_allclose(together.worth, at_once.worth, rtol=1e-9)


def test_one_is_left_of_samples_with_the_same_inputs():
    places = [0.3, 0.1, 0.3, 0.2, 0.1, 0.3]
    mass = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    once = samples(places, mass).weighed(USUAL).distinct()
    # In the order of the first of each, which stands for all.
    np.testing.assert_array_equal(once.X[:, 0], [0.3, 0.1, 0.2])
    np.testing.assert_array_equal(once.Y[:, 0], [0.0, 1.0, 3.0])
    np.testing.assert_array_equal(once.mass, [10.0, 7.0, 4.0])
    assert independent(once) == pytest.approx(independent(samples(places, mass).weighed(USUAL)))
    different = samples(way(30, 1.0)).weighed(USUAL)
    np.testing.assert_array_equal(different.distinct().X, different.X)
    assert len(RepresentativeSamples.none(2).distinct().mass) == 0


def test_none_are_worth_nothing():
    nothing = RepresentativeSamples.none(2)
    assert independent(nothing) == 0.0
    assert nothing.states.shape == (0, 4)
    assert nothing.with_others(nothing).thinned(3).mass.size == 0
