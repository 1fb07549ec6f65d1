# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Changes of an arm are told from each other, and from none, by their evidence."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from payloads import box
from scipy.stats import multivariate_normal

from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.misfit_evidence import (
    KINDS,
    RESIDUAL,
    SHARPER,
    ChangePrior,
    change_rows,
    log_odds,
)
from ilr_dynamics.robot.misfit_explanation import Change, explanation, sharpened
from ilr_dynamics.robot.payload_dynamics import PayloadDynamics
from ilr_dynamics.robot.pseudo_inertia_prior import PseudoInertiaPrior

ARM = load_description("wam4")
DYNAMICS = PayloadDynamics(ARM)
PRIOR = ChangePrior.with_limits(PseudoInertiaPrior(1.0, 0.15), ARM.torque_limit)
STD = np.array([0.3, 0.4, 0.2, 0.1])
PAYLOAD = box(0.5, [0.03, -0.02, 0.04], [0.08, 0.08, 0.12]).parameters


def seen(seed, changes=(), payload=None, n_samples=60, noise=0.5, doubt=0.0):
    """Rows (m, 4, 16) of samples at random states, with (joint, kind, size) added."""
    random = np.random.default_rng(seed)
    rows = []
    for _ in range(n_samples):
        position = [0.0, 0.7, 0.0, 1.8] + random.uniform(-0.5, 0.5, 4)
        velocity = random.uniform(-1.0, 1.0, 4)
        rate = random.normal(0.0, 10.0, 4)
        columns = DYNAMICS.columns(position, velocity, random.normal(size=4))
        residual = noise * STD * random.normal(size=4)
        terms = dict(
            zip(KINDS, (np.ones(4), velocity, np.tanh(velocity / 0.03), rate), strict=True)
        )
        for joint, kind, size in changes:
            residual[joint] += size * terms[kind][joint]
        if payload is not None:
            residual += columns @ payload
        rows.append(change_rows(columns, velocity, rate, residual, doubt * STD, STD))
    return np.array(rows)


def sums(rows):
    return np.einsum("tjm,tjn->jmn", rows, rows), np.full(4, float(len(rows)))


def explained(rows, cost=10.0):
    products, counts = sums(rows)
    changes = explanation(sharpened(products, counts, PRIOR), PRIOR, cost)
    return {(change.joint, change.kind): change for change in changes}


@given(st.integers(0, 1000), st.sampled_from([0.3, 1.0, 2.0]))
def test_odds_are_those_of_normal_distributions(seed, noise):
    """The marginal distributions of all torques, written down."""
    rows = seen(seed, n_samples=5, noise=noise)
    of_joints, of_arm = log_odds(*sums(rows), PRIOR)

    def log_density(z, spread, kappa):
        return multivariate_normal.logpdf(z, np.zeros(len(z)), np.eye(len(z)) / kappa + spread)

    for joint in range(4):
        z = rows[:, joint, RESIDUAL]
        best = np.clip(len(z) / (z @ z), SHARPER[0], SHARPER[-1])
        unchanged = log_density(z, 0.0, best)
        for kind in range(4):
            column = rows[:, joint, 10 + kind] * PRIOR.of_joint[joint, kind]
            each = [log_density(z, np.outer(column, column), kappa) for kappa in SHARPER]
            odds = np.logaddexp.reduce(each) - np.log(len(each)) - unchanged
            assert of_joints[joint, kind] == pytest.approx(odds, rel=1e-6, abs=1e-6)
    unchanged = sum(
        log_density(z, 0.0, np.clip(len(z) / (z @ z), SHARPER[0], SHARPER[-1]))
        for z in rows[:, :, RESIDUAL].T
    )
    z = rows[:, :, RESIDUAL].ravel()
    for found, (columns, scale) in zip(of_arm, PRIOR.of_arm.values(), strict=True):
        scaled = (rows[:, :, columns] * scale).reshape(len(z), -1)
        each = [log_density(z, scaled @ scaled.T, kappa) for kappa in SHARPER]
        odds = np.logaddexp.reduce(each) - np.log(len(each)) - unchanged
        assert found == pytest.approx(odds, rel=1e-6, abs=1e-6)


@given(st.integers(0, 1000), st.floats(0.1, 1.0), st.integers(1, 60))
def test_what_a_model_doubts_makes_all_samples_count_as_few(seed, doubt, n_samples):
    """As n / (1 + n e): never as more than 1 / e."""
    rows = seen(seed, [(1, "dry", 2.0 * STD[1])], n_samples=n_samples, doubt=doubt)
    products, counts = sums(rows)
    of_joints, of_arm = log_odds(products, counts, PRIOR)
    rows[..., -1] = 0.0
    certain, _ = sums(rows)
    for n_alike, found, of in ((1, of_joints, 0), (4, of_arm, 1)):
        share = 1.0 / (1.0 + n_alike * n_samples * doubt**2)
        expected = log_odds(share * certain, share * counts, PRIOR)[of]
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
        assert share * n_samples < 1.0 / (n_alike * doubt**2)


@pytest.mark.parametrize("alike", ["all", "by direction", "by halves", "none"])
@pytest.mark.parametrize("kind", KINDS)
def test_odds_are_expected_to_be_at_most_one_whatever_doubts_have_in_common(kind, alike):
    """E[B] in closed form, of one kind and the precision that the model predicts."""
    n, doubt = 40, 0.8
    rows = seen(0, n_samples=n, doubt=doubt)[:, 1]
    signs = {
        "all": np.ones(n),
        "by direction": np.sign(rows[:, 10 + KINDS.index("viscous")]),
        "by halves": np.where(np.arange(n) < n // 2, 1.0, -1.0),
    }
    doubts = np.outer(signs[alike], signs[alike]) if alike in signs else np.eye(n)
    covariance = doubt**2 * doubts + (1.0 - doubt**2) * np.eye(n)
    x = rows[:, 10 + KINDS.index(kind)] * PRIOR.of_joint[1, KINDS.index(kind)]

    def log_expectation(share):
        """Of exp(z' M z / 2) / sqrt(1 + A), M being what a change explains."""
        A = share * x @ x
        M = share**2 * np.outer(x, x) / (1.0 + A)
        log_determinant = np.linalg.slogdet(np.eye(n) - covariance @ M)[1]
        eigenvalues = np.linalg.eigvals(covariance @ M).real
        return np.inf if eigenvalues.max() >= 1.0 else -0.5 * (log_determinant + np.log1p(A))

    assert log_expectation(1.0 / (1.0 + n * doubt**2)) <= 1e-12
    if (alike, kind) in {("all", "offset"), ("by direction", "dry")}:
        assert log_expectation(1.0) > 1.0


@pytest.mark.parametrize("joint", range(4))
@pytest.mark.parametrize(
    ("kind", "share"), [("offset", 1.5), ("viscous", 3.0), ("dry", 1.5), ("delay", 0.2)]
)
def test_each_kind_is_told_from_the_others(joint, kind, share):
    size = share * STD[joint]
    found = explained(seen(joint, [(joint, kind, size)]))
    assert set(found) == {(joint, kind)}
    change = found[joint, kind]
    assert change.by == pytest.approx(size, abs=4.0 * change.std)
    assert 0.0 < change.std < 0.3 * size


def test_a_payload_is_told_from_friction_and_both_are_found_together():
    rough = [(0, "dry", 0.8), (2, "viscous", 1.0)]
    assert set(explained(seen(1, rough))) == {(0, "dry"), (2, "viscous")}
    found = explained(seen(2, payload=PAYLOAD))
    assert set(found) == {(None, "payload")}
    assert found[None, "payload"].by == pytest.approx(0.5, abs=0.1)
    both = explained(seen(3, rough, PAYLOAD))
    assert set(both) == {(None, "payload"), (0, "dry"), (2, "viscous")}
    # Put down what was fed forward.
    assert explained(seen(4, payload=-PAYLOAD))[None, "payload"].by < -0.3


@pytest.mark.parametrize(("spread", "stays"), [(0.01, True), (0.4, False)])
@pytest.mark.parametrize("before", ["dry", "viscous"])
@pytest.mark.parametrize("grown", ["dry", "viscous"])
def test_a_kind_that_was_named_stays_unless_another_is_clearly_likelier(
    spread, stays, before, grown
):
    """At one speed dry and viscous friction cannot be told apart, at many they can."""
    random = np.random.default_rng(0)
    rows = []
    for _ in range(100):
        velocity = random.choice([-1.0, 1.0], 4) * (0.5 + random.uniform(-spread, spread, 4))
        residual = 0.5 * STD * random.normal(size=4)
        residual[1] += 1.0 * (np.sign(velocity[1]) if grown == "dry" else 2.0 * velocity[1])
        rows.append(
            change_rows(np.zeros((4, 10)), velocity, np.zeros(4), residual, np.zeros(4), STD)
        )
    products, counts = sums(np.array(rows))
    named = [Change(1, before, 1.0, 0.1)]
    changes = explanation(sharpened(products, counts, PRIOR), PRIOR, 10.0, before=named)
    expected = before if stays else grown
    assert [(change.joint, change.kind) for change in changes] == [(1, expected)]


def test_a_delay_of_all_joints_is_told_from_one_of_each():
    late = [(joint, "delay", 0.006) for joint in range(4)]
    found = explained(seen(5, late))
    assert set(found) == {(None, "delay")}
    assert found[None, "delay"].by == pytest.approx(0.006, abs=4.0 * found[None, "delay"].std)


@given(st.integers(0, 1000), st.floats(0.1, 1.0))
def test_nothing_is_found_where_nothing_changed(seed, noise):
    assert not explained(seen(seed, noise=noise), cost=12.0)
