# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pinocchio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ilr_dynamics.robot.pseudo_inertia import (
    MassDistribution,
    inertial_parameters,
    made_definite,
    pseudo_inertia,
)

SEEDS = st.integers(0, 2**32 - 1)


def cloud(seed):
    """Point masses (8,) at positions (8, 3), and the inertial parameters of all of them."""
    random = np.random.default_rng(seed)
    masses = random.uniform(0.01, 1.0, 8)
    points = random.normal(size=(8, 3)) * random.uniform(0.01, 0.3) + random.normal(size=3)
    inertia = sum(
        m * (x @ x * np.eye(3) - np.outer(x, x)) for m, x in zip(masses, points, strict=True)
    )
    moments = [inertia[place] for place in ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))]
    return masses, points, np.array([masses.sum(), *(masses @ points), *moments])


@given(SEEDS)
def test_it_is_the_second_moment_of_the_masses(seed):
    masses, points, parameters = cloud(seed)
    homogeneous = np.column_stack([points, np.ones(8)])
    J = pseudo_inertia(parameters)
    np.testing.assert_allclose(J, homogeneous.T @ (masses[:, None] * homogeneous), atol=1e-9)
    np.testing.assert_allclose(inertial_parameters(J), parameters, atol=1e-9)


@given(SEEDS)
def test_mass_centre_and_inertia_are_those_of_pinocchio(seed):
    *_, parameters = cloud(seed)
    body = pinocchio.Inertia.FromDynamicParameters(parameters)
    found = MassDistribution.of(parameters)
    assert found.mass == pytest.approx(body.mass)
    np.testing.assert_allclose(found.centre, body.lever, atol=1e-9)
    np.testing.assert_allclose(found.inertia, body.inertia, atol=1e-8)


@given(SEEDS)
def test_a_body_with_volume_is_left_as_it_is(seed):
    *_, parameters = cloud(seed)
    np.testing.assert_allclose(made_definite(parameters[None])[0], parameters, rtol=0.1, atol=1e-6)


@pytest.mark.parametrize(
    "parameters",
    [
        np.zeros(10),
        [2.0, 0.2, 0.0, 0.0, 0.0, 0.0, 0.02, 0.0, 0.0, 0.02],
        # A plate whose moments are rounded to what no body has.
        [1.0, 0.0, 0.0, 0.0, 0.0010, 0.0, 0.0010, 0.0, 0.0, 0.0021],
        [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    ],
    ids=["nothing", "point", "plate", "no moments"],
)
def test_what_has_no_volume_gets_a_little(parameters):
    made = made_definite(np.array([parameters]))
    assert np.linalg.eigvalsh(pseudo_inertia(made))[0, 0] > 0.0
    np.testing.assert_allclose(made[0], parameters, atol=1.1e-3)
