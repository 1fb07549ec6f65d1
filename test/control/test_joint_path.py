# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.interpolate import BPoly, CubicHermiteSpline

from ilr_dynamics.control import JointPath, Reference
from ilr_dynamics.exceptions import TrajectoryError

durations = hnp.arrays(float, st.integers(1, 6), elements=st.floats(0.01, 3.0))


def random_points(durations, seed, n_joints=3):
    times = np.concatenate(([0.3], 0.3 + np.cumsum(durations)))
    return times, np.random.default_rng(seed).normal(size=(3, len(times), n_joints))


def sampled(path, times):
    references = [path.sample(time) for time in times]
    return np.array([(r.position, r.velocity, r.acceleration) for r in references])


def inner_times(times):
    return np.concatenate([np.linspace(a, b, 7)[:-1] for a, b in pairwise(times)])


@given(durations, st.integers(0, 1000))
def test_linear_path_interpolates_linearly(durations, seed):
    times, (positions, _, _) = random_points(durations, seed)
    at = inner_times(times)
    found = sampled(JointPath(times, positions), at)
    expected = np.stack([np.interp(at, times, column) for column in positions.T], axis=1)
    np.testing.assert_allclose(found[:, 0], expected, atol=1e-12)
    assert not found[:, 2].any()


@given(durations, st.integers(0, 1000))
def test_cubic_path_equals_scipy(durations, seed):
    times, (positions, velocities, _) = random_points(durations, seed)
    at = inner_times(times)
    found = sampled(JointPath(times, positions, velocities), at)
    spline = CubicHermiteSpline(times, positions, velocities)
    for order in range(3):
        np.testing.assert_allclose(found[:, order], spline(at, order), rtol=1e-8, atol=1e-7)


@given(durations, st.integers(0, 1000))
def test_quintic_path_equals_scipy(durations, seed):
    times, fields = random_points(durations, seed)
    at = inner_times(times)
    found = sampled(JointPath(times, *fields), at)
    spline = BPoly.from_derivatives(times, np.stack(fields, axis=1))
    for order in range(3):
        np.testing.assert_allclose(found[:, order], spline(at, order), rtol=1e-8, atol=1e-6)


@pytest.mark.parametrize("degree", [1, 3, 5])
def test_polynomial_of_the_paths_own_degree_is_met_exactly(degree):
    polynomial = np.polynomial.Polynomial(np.arange(1.0, degree + 2.0))
    times = np.array([0.0, 0.4, 1.0])
    fields = [polynomial.deriv(order)(times)[:, None] for order in range((degree + 1) // 2)]
    path = JointPath(times, *fields)
    assert path.degree == degree
    for time in (0.0, 0.1, 0.4, 0.77):
        reference = path.sample(time)
        np.testing.assert_allclose(reference.position, polynomial(time))
        np.testing.assert_allclose(reference.velocity, polynomial.deriv()(time))
        np.testing.assert_allclose(
            reference.acceleration, polynomial.deriv(2)(time), rtol=1e-9, atol=1e-9
        )


@pytest.mark.parametrize("time", [-10.0, 0.299, 1.0, 50.0])
def test_path_stands_still_outside_its_times(time):
    path = JointPath([0.3, 1.0], [[1.0], [2.0]], [[3.0], [4.0]])
    reference = path.sample(time)
    assert reference.position == (1.0 if time < 0.5 else 2.0)
    assert not reference.velocity.any()
    assert not reference.acceleration.any()


def test_single_point_is_held():
    path = JointPath([0.5], [[0.1, 0.2]])
    for time in (0.0, 0.5, 9.0):
        np.testing.assert_array_equal(path.sample(time).position, [0.1, 0.2])
    assert path.sample_inside(5)[0].tolist() == [0.5]


def test_samples_inside_agree_with_single_samples():
    times, fields = random_points(np.array([0.2, 0.7]), 4)
    path = JointPath(times, *fields)
    at, positions, velocities = path.sample_inside(4)
    assert at[0] == times[0] and at[-1] == times[-1]
    found = sampled(path, at[:-1])
    np.testing.assert_allclose(positions[:-1], found[:, 0], atol=1e-12)
    np.testing.assert_allclose(velocities[:-1], found[:, 1], atol=1e-10)


@given(durations, st.integers(0, 1000), st.integers(1, 3))
def test_segments_stay_between_their_bounding_points(durations, seed, n_fields):
    times, fields = random_points(durations, seed)
    path = JointPath(times, *fields[:n_fields])
    _, *samples = path.sample_inside(50)
    for values, points in zip(samples, path.bounding_points(), strict=True):
        values = values.reshape(len(durations), 50, 3)
        assert (values.max(axis=1) <= points.max(axis=0) + 1e-9).all()
        assert (values.min(axis=1) >= points.min(axis=0) - 1e-9).all()


def test_samples_inside_some_segments_are_those_of_all():
    times, fields = random_points(np.array([0.2, 0.7, 0.4]), 4)
    path = JointPath(times, *fields)
    for some, every in zip(
        path.sample_inside(4, np.array([0, 2])), path.sample_inside(4), strict=True
    ):
        np.testing.assert_allclose(some, np.delete(every, np.s_[4:8], axis=0))


@pytest.mark.parametrize("n_fields", [1, 2, 3])
def test_preceded_path_starts_at_the_given_state(n_fields):
    times, fields = random_points(np.array([0.2, 0.7]), 4)
    path = JointPath(times, *fields[:n_fields])
    state = Reference(np.ones(3), np.full(3, 2.0), np.full(3, 3.0))
    longer = path.preceded_by(-1.0, state)
    assert longer.degree == path.degree
    found = longer.sample(-1.0)
    for got, expected in list(
        zip(
            (found.position, found.velocity, found.acceleration),
            (state.position, state.velocity, state.acceleration),
            strict=True,
        )
    )[:n_fields]:
        np.testing.assert_allclose(got, expected)
    np.testing.assert_allclose(longer.sample(0.4).position, path.sample(0.4).position)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (([], []), "at least one point"),
        (([0.0, 0.0], [[0.0], [1.0]]), "point 1 is at 0 s after point 0 at 0 s"),
        (([0.0, 2.0, 1.0], [[0.0]] * 3), "point 2 is at 1 s after point 1 at 2 s"),
        (([0.0, np.nan], [[0.0], [1.0]]), "time of point 1 is not finite"),
        (([0.0, 1.0], [[0.0], [np.inf]]), "positions of point 1, joint 0, are not finite"),
        (([0.0, 1.0], [[0.0]]), r"positions have shape \(1, 1\): expected \(2 points"),
        (([0.0, 1.0], [0.0, 1.0]), r"positions have shape \(2,\)"),
        (([0.0], [[0.0, 1.0]], [[0.0]]), r"different numbers of joints: \[2, 1\]"),
        (([0.0], [[0.0]], None, [[0.0]]), "accelerations were given without velocities"),
    ],
)
def test_malformed_path_is_refused(arguments, text):
    with pytest.raises(TrajectoryError, match=text):
        JointPath(*arguments)


def test_path_is_independent_of_the_arrays_it_came_from():
    positions = np.array([[0.0], [1.0]])
    path = JointPath([0.0, 1.0], positions)
    positions[:] = 7.0
    assert path.sample(0.5).position == 0.5
    with pytest.raises(ValueError, match="read-only"):
        path.positions[0, 0] = 1.0


@given(durations, st.integers(0, 1000), st.integers(1, 3))
def test_path_extended_back_comes_to_its_first_point_at_constant_acceleration(
    durations, seed, n_fields
):
    times, fields = random_points(durations, seed)
    path = JointPath(times, *fields[:n_fields])
    extended = path.extended_back(-0.2)
    assert extended.start == -0.2
    np.testing.assert_allclose(
        sampled(extended, inner_times(times)), sampled(path, inner_times(times)), atol=1e-9
    )
    position, velocity, acceleration = (*fields[:n_fields, 0], *np.zeros((2, 3)))[:3]
    for time in (-0.2, 0.0, 0.25):
        ahead = time - path.start
        found = extended.sample(time)
        expected = position + ahead * velocity + ahead**2 * acceleration / 2.0
        np.testing.assert_allclose(found.position, expected, atol=1e-9)
        np.testing.assert_allclose(found.velocity, velocity + ahead * acceleration, atol=1e-8)


@pytest.mark.parametrize(
    ("positions", "velocities", "stops"),
    [
        ([0.0, 0.1, 0.2], [0.0, 0.0, 0.0], True),
        ([0.0, 0.1, 0.2], [0.0, 0.1, 0.0], False),
        ([0.0, 0.1, 0.2], None, False),
        ([0.1, 0.1, 0.1], [0.0, 0.0, 0.0], False),
        ([0.0, 0.1], [0.0, 0.0], False),
    ],
)
def test_path_that_stops_at_each_of_its_points_is_known(positions, velocities, stops):
    fields = [np.array(field)[:, None] for field in (positions, velocities) if field is not None]
    assert JointPath(np.arange(len(positions)), *fields).stops_at_every_point is stops
