# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What a report says of an arm at which something pulls."""

from dataclasses import replace

import numpy as np
import pytest

from ilr_dynamics.cli.arm_report import show_potential
from ilr_dynamics.cli.html_report import HtmlReport
from ilr_dynamics.robot.arm_export import ArmExport
from ilr_dynamics.robot.arm_hypotheses import with_potential
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.identified_dynamics import IdentifiedDynamics
from ilr_dynamics.robot.representative_samples import RepresentativeSamples


@pytest.mark.parametrize("pulls", [True, False])
def test_what_pulls_at_the_arm_is_said_joint_by_joint(tmp_path, pulls):
    arm = load_description("wam4")
    dynamics = IdentifiedDynamics.from_description(arm)
    X = np.random.default_rng(0).normal(size=(100, 3 * arm.n_joints))
    Y = dynamics.expected(X)
    if pulls:
        dynamics, Y = with_potential(dynamics), Y + 2.0 * np.cos(X[:, : arm.n_joints])
    # Without the decision on a potential, for which these samples are too few.
    kept, _ = RepresentativeSamples.of_batch(X, Y, np.ones(len(X)))
    learned = replace(dynamics.with_samples(X, Y, kept.mass), representatives=kept)
    report = HtmlReport("a model")
    show_potential(report, ArmExport.of(learned, arm))
    report.write(tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert ("Something pulls at the arm" in text) == pulls
    assert (f"{arm.joint_names[-1]} " in text) == pulls
