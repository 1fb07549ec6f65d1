# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace
from math import sqrt

import numpy as np
import pytest

from ilr_dynamics.robot.dynamics_regressor import n_columns, n_parameters, parameter_indices
from ilr_dynamics.robot.parameter_doubt import HeldOut, parameter_doubt
from ilr_dynamics.robot.parameter_posterior import ParameterPosterior

NOISE = 0.09
N_TERMS = n_columns(1)
N_SAMPLES = 6 * N_TERMS


def regression(columns, torques, weights):
    """Least squares of one joint, whose noise is known."""
    phi, w = columns[:, 0], weights[:, 0]
    covariance = np.linalg.inv(phi.T @ (w[:, None] * phi) / NOISE + 1e-8 * np.eye(N_TERMS))
    mean = covariance @ (phi.T @ (w * torques[:, 0])) / NOISE
    parameters = np.zeros(n_parameters(1))
    parameters[parameter_indices(1)[0]] = mean
    return ParameterPosterior(parameters, covariance[None], np.array([NOISE]))


def samples(weight, seed, n=N_SAMPLES, error=1.0):
    generator = np.random.default_rng(seed)
    columns = generator.normal(size=(n, 1, N_TERMS))
    torques = columns @ generator.normal(size=N_TERMS)
    torques += error * sqrt(NOISE) * generator.normal(size=(n, 1))
    return HeldOut(
        columns=columns,
        positions=generator.normal(size=(n, 1)),
        torques=torques,
        weights=np.full((n, 1), weight),
        noise=np.full((n, 1), NOISE),
    )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("doubt", [0.5, 1.0, 3.0])
def test_errors_of_so_many_times_the_uncertainty_give_that_factor(doubt, seed):
    """
    Samples counted c^2 times too often leave an uncertainty that is c times too small.

    Two halves each show one draw of the parameters' errors: their mean square is known to
    sqrt(2 / (2 C)) of C terms, and the factor to half of that. Here four times as much.
    """
    found = parameter_doubt(samples(doubt**2, seed), regression)
    assert found == pytest.approx(doubt, rel=4.0 * 0.5 / sqrt(N_TERMS))


@pytest.mark.parametrize("error", [0.1, 4.0])
def test_few_samples_leave_it_at_one(error):
    """All together say 1e-3 of what the prior of the factor does."""
    few = samples(1e-3 / N_SAMPLES, 0, error=error)
    assert parameter_doubt(few, regression) == pytest.approx(1.0, abs=0.03)
    assert parameter_doubt(samples(1.0, 0, n=19, error=error), regression) == 1.0


def test_samples_of_one_posture_show_no_region():
    still = samples(1.0, 0)
    still = replace(still, positions=np.ones_like(still.positions))
    assert parameter_doubt(still, regression) == 1.0


def test_it_stays_within_bounds():
    wrong = samples(1e8, 0)
    assert parameter_doubt(wrong, regression) == pytest.approx(10.0, rel=0.01)
    exact = samples(1e-3, 0, error=0.0)
    exact = replace(exact, noise=0.0 * exact.noise + 1e-12, weights=exact.weights + 1.0)
    assert parameter_doubt(exact, regression) == pytest.approx(0.01, rel=0.2)


def test_errors_only_between_postures_are_seen_along_any_direction():
    """A posture-dependent torque that no term has, in the second of two joint angles."""
    generator = np.random.default_rng(3)
    known = samples(1.0, 3)
    positions = np.column_stack(
        [2.0 * generator.normal(size=N_SAMPLES), generator.choice([-0.5, 0.5], N_SAMPLES)]
    )
    columns = known.columns.copy()
    # The first term is all that tells both sides apart, and says opposite things on them.
    columns[:, 0, 0] = 1.0
    torques = known.torques + 3.0 * np.sign(positions[:, 1:])
    plain = parameter_doubt(replace(known, columns=columns, positions=positions), regression)
    torn = replace(known, columns=columns, positions=positions, torques=torques)
    assert parameter_doubt(torn, regression) > 2.0 * plain


def test_order_and_units_of_the_samples_make_no_difference():
    given = samples(4.0, 5)
    order = np.random.default_rng(6).permutation(N_SAMPLES)
    turned = HeldOut(
        **{name: getattr(given, name)[order] for name in HeldOut.__dataclass_fields__}
    )
    found = parameter_doubt(given, regression)
    assert parameter_doubt(turned, regression) == pytest.approx(found, rel=1e-4)
    farther = replace(given, positions=100.0 * given.positions + 7.0)
    assert parameter_doubt(farther, regression) == pytest.approx(found, rel=1e-4)
