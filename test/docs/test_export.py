# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The page on exports: its code gives the torque of the export, its tables name what there is."""

import numpy as np
import pytest
import yaml
from pages import CODE, DOCS, blocks, tables

from ilr_dynamics.cli.export import TITLES, torque_errors
from ilr_dynamics.regression import ILR
from ilr_dynamics.robot.arm_export import ArmExport
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.export_urdf import exported_urdf
from ilr_dynamics.robot.export_yaml import exported_yaml
from ilr_dynamics.robot.identified_dynamics import IdentifiedDynamics
from ilr_dynamics.robot.rigid_body import RigidBodyModel

PAGE = DOCS / "export.md"


@pytest.mark.parametrize("robot", ["wam4", "wam7"])
def test_the_code_of_the_page_gives_the_torque_of_the_export(robot, tmp_path):
    arm = load_description(robot)
    n, random = arm.n_joints, np.random.default_rng(0)
    X = random.normal(size=(800, 3 * n))
    rigid = RigidBodyModel(arm)
    Y = np.array([rigid.inverse_dynamics(*np.split(x, 3)) for x in X])
    # Friction of all kinds, so that no part of the law is zero.
    q, qd, _ = np.split(X, 3, axis=1)
    Y += (1.0 + 0.1 * np.abs(Y) + 0.3 * np.sin(5.0 * q)) * np.tanh(qd / 0.1) + 0.4 * qd
    model = ILR(3, global_model=IdentifiedDynamics.from_description(arm)).fit(X, Y)
    export = ArmExport.of(model.global_model_, arm)
    path = tmp_path / "out.urdf"
    path.write_text(exported_urdf(export, "note"))
    errors = torque_errors(export, model)
    content = yaml.safe_load(exported_yaml(export, "note", errors))
    names: dict = {}
    (code,) = blocks(PAGE, "python")
    exec(code, names)
    test = random.normal(size=(20, 3 * n))
    found = [names["exported_torque"](str(path), content, *np.split(x, 3)) for x in test]
    np.testing.assert_allclose(found, export.torque(test), atol=1e-6)
    # And so the model's own torque, within the error that is stated.
    difference = export.torque(test) - model.global_model_.expected(test)
    stated = np.array(content["torque_errors"]["export_to_identified"])
    assert np.all(np.sqrt(np.mean(difference**2, axis=0)) < 3.0 * stated + 1e-3)


def test_the_errors_are_those_of_the_file():
    (rows,) = (rows for header, rows in tables(PAGE) if header[0] == "entry")
    assert [CODE.findall(row[0])[0] for row in rows] == list(TITLES)
