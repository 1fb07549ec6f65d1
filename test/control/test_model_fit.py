# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""How well a model fits is said of each joint, and what has changed in words."""

import numpy as np
import pytest

from ilr_dynamics.control.model_fit import LENGTH, ModelFit
from ilr_dynamics.control.residual_observer import ResidualSample
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.fit_test import FitTest
from ilr_dynamics.robot.misfit_evidence import ChangePrior
from ilr_dynamics.robot.payload import Payload
from ilr_dynamics.robot.payload_dynamics import PayloadDynamics
from ilr_dynamics.robot.pseudo_inertia_prior import PseudoInertiaPrior

ARM = load_description("wam4")
DYNAMICS = PayloadDynamics(ARM)
STD = np.array([0.3, 0.4, 0.2, 0.1])
PAYLOAD = Payload(0.8, [0.02, 0.0, 0.03], [1e-3, 0.0, 0.0, 1e-3, 0.0, 1e-3])
RATES = np.array([1.0, 1.3, 0.7, 1.6])
PERIOD = 0.1


@pytest.fixture
def fit():
    prior = ChangePrior.with_limits(PseudoInertiaPrior(1.0, 0.15), ARM.torque_limit)
    test = FitTest(prior, PERIOD, 0.01)
    return ModelFit(test, ARM.joint_names, np.zeros(4), PERIOD)


class Motion:
    def __init__(self, fit):
        self._fit, self._time = fit, 0.0
        self._random = np.random.default_rng(0)

    def swing(self, n_samples, more=None, *, carried=None, gate=1.0, speed=1.0, doubt=0.0):
        for _ in range(n_samples):
            self._time += PERIOD
            angle = RATES * self._time
            position = [0.0, 0.7, 0.0, 1.8] + 0.4 * np.sin(angle)
            velocity = speed * 0.4 * RATES * np.cos(angle)
            columns = DYNAMICS.columns(position, velocity, np.zeros(4))
            residual = 0.5 * STD * self._random.normal(size=4)
            if more is not None:
                residual = residual + more(velocity, columns)
            sample = ResidualSample(
                position, velocity, np.zeros(4), columns, residual, STD, gate, doubt * STD
            )
            self._fit.add(sample, carried)
        return self._fit.report


def test_figures_are_those_of_the_last_minute(fit):
    motion = Motion(fit)
    report = motion.swing(LENGTH)
    assert report.fits and report.text.startswith("fits: residual torques are at most 0.5")
    np.testing.assert_allclose(report.residual, 0.5, atol=0.05)
    np.testing.assert_allclose(report.bias, 0.0, atol=0.1)
    assert (report.outside < 0.01).all()
    assert report.motion == pytest.approx(60.0)
    report = motion.swing(LENGTH, lambda *_: np.array([0.0, 3.0 * STD[1], 0.0, 0.0]))
    np.testing.assert_allclose(report.bias, [0.0, 3.0, 0.0, 0.0], atol=0.1)
    np.testing.assert_allclose(report.outside, [0.0, 1.0, 0.0, 0.0], atol=0.05)


def test_what_has_changed_is_said_in_words(fit):
    motion = Motion(fit)
    assert motion.swing(LENGTH // 2).fits
    report = motion.swing(LENGTH, lambda v, _: np.tanh(v / 0.03) * [0.0, 0.0, 1.0, 0.0])
    assert not report.fits
    name = ARM.joint_names[2]
    assert report.text.startswith(f"no longer fits: {name} dry friction +")
    assert report.text.endswith(" Nm")
    assert np.argmax(report.log_odds) == 2 and report.log_odds[2] > 12.0


def test_a_model_that_has_never_fitted_has_not_changed(fit):
    rubs = lambda v, _: np.tanh(v / 0.03) * [0.0, 0.0, 1.0, 0.0]  # noqa: E731
    report = Motion(fit).swing(LENGTH, rubs)
    assert report.text.startswith(f"does not fit: {ARM.joint_names[2]} dry friction +")
    fit.restart()
    # Within what the model doubts of all of its torques it is no change.
    assert Motion(fit).swing(LENGTH, lambda *_: STD, doubt=0.9).fits


def test_a_payload_that_is_fed_forward_is_no_change_and_another_is(fit):
    motion, parameters = Motion(fit), PAYLOAD.parameters
    report = motion.swing(100, lambda _, columns: columns @ parameters, carried=parameters)
    assert report.fits and report.payload_log_odds < 0.0
    report = motion.swing(100, lambda _, columns: columns @ parameters)
    assert report.text.startswith("no longer fits: payload +")
    assert report.payload_log_odds > 12.0
    fit.restart()
    assert fit.report.fits and fit.report.motion == 0.0


def test_one_torque_beyond_all_reason_is_not_all_that_is_said_for_a_minute(fit):
    motion = Motion(fit)
    motion.swing(100)
    motion.swing(1, lambda *_: np.array([0.0, 1e9, 0.0, 0.0]))
    report = motion.swing(LENGTH - 101)
    assert (report.residual < 5.0).all()
    usual = 0.02 * ARM.torque_limit
    for change in report.changes:
        # In a window that has only begun, a payload explains a single torque as well.
        assert change.joint == 1 or change.kind == "payload"
        assert abs(change.by) < (5.0 * usual[1] if change.joint == 1 else 1.0)


@pytest.mark.parametrize(
    ("options", "more"),
    [
        ({"gate": 0.0}, None),
        ({"speed": 0.0}, None),
        ({}, lambda *_: np.full(4, np.nan)),
    ],
)
def test_what_tells_nothing_is_left_out(fit, options, more):
    report = Motion(fit).swing(50, more, **options)
    assert report.text.startswith("not known yet")
    assert report.motion == 0.0
