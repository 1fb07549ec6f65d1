# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ilr_dynamics.robot.earlier_knowledge import EarlierKnowledge

SIZE = 6


def knowledge(seed):
    """Of all parameters, and their covariance and mean."""
    generator = np.random.default_rng(seed)
    root = generator.normal(size=(SIZE, SIZE + 3))
    precision = root @ root.T
    pull = precision @ generator.normal(size=SIZE)
    return EarlierKnowledge(precision, pull)


def moments(known):
    covariance = np.linalg.inv(known.precision)
    return covariance @ known.pull, covariance


@given(
    seed=st.integers(0, 10**6),
    variances=st.lists(st.sampled_from([0.0, 0.1, 3.0, 100.0]), min_size=SIZE, max_size=SIZE),
)
def test_the_covariance_grows_by_that_of_the_change_and_the_mean_stays(seed, variances):
    known = knowledge(seed)
    mean, covariance = moments(known)
    mean_after, covariance_after = moments(known.after_change(np.diag(np.sqrt(variances))))
    expected = covariance + np.diag(variances)
    np.testing.assert_allclose(covariance_after, expected, atol=1e-6 * np.max(expected))
    np.testing.assert_allclose(mean_after, mean, atol=1e-6 * np.max(expected))


def test_of_what_nothing_was_known_nothing_is_known_after_a_change():
    one = np.zeros((SIZE, SIZE))
    one[0, 0] = 4.0
    known = EarlierKnowledge(one, 2.0 * np.eye(SIZE)[0])
    changed = known.after_change(np.diag([1.0, 0.0, 2.0, 0.0, 0.0, 0.0]))
    np.testing.assert_allclose(changed.precision, 0.8 / 4.0 * one, atol=1e-12)
    np.testing.assert_allclose(changed.pull, 0.2 * known.pull, atol=1e-12)


def test_without_a_change_it_is_what_it_was():
    known = knowledge(0)
    same = known.after_change(np.zeros((SIZE, 1)))
    np.testing.assert_allclose(same.precision, known.precision)
    np.testing.assert_array_equal(same.pull, known.pull)


def test_torques_of_joints_with_common_parameters_add_up():
    indices = np.array([[0, 1, 2], [0, 1, 5]])
    precision = np.array([np.eye(3), 2.0 * np.eye(3)])
    both = knowledge(1).joined(indices, precision, np.ones((2, 3)))
    added = np.diagonal(both.precision - knowledge(1).precision)
    np.testing.assert_allclose(added, [3.0, 3.0, 1.0, 0.0, 0.0, 2.0])
    np.testing.assert_allclose(both.pull - knowledge(1).pull, [2.0, 2.0, 1.0, 0.0, 0.0, 1.0])
