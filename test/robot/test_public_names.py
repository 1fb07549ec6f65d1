# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Models of arms are imported from the package, which does not wait for what it does not use."""

import subprocess
import sys

import numpy as np
import pytest

from ilr_dynamics import robot
from ilr_dynamics.regression import ILR
from ilr_dynamics.robot.description import load_description


@pytest.mark.parametrize("name", robot.__all__)
def test_every_public_name_is_that_of_its_module(name):
    value = getattr(robot, name)
    assert value.__name__ == name and value.__module__.startswith("ilr_dynamics.robot.")
    assert name in dir(robot)


def test_names_are_imported_from_the_package():
    assert robot.load_description is load_description
    with pytest.raises(ImportError, match="cannot import name 'Robot'"):
        from ilr_dynamics.robot import Robot  # noqa: F401


def test_other_modules_do_not_import_the_rigid_body_library():
    code = (
        "import sys, ilr_dynamics.robot.description, ilr_dynamics.robot as robot\n"
        "assert 'pinocchio' not in sys.modules\n"
        "robot.RigidBodyModel\n"
        "assert 'pinocchio' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-P", "-c", code], check=True, timeout=60)


def test_a_program_that_loads_identified_dynamics_need_not_import_them(tmp_path):
    X = np.random.default_rng(0).normal(size=(20, 12))
    dynamics = robot.IdentifiedDynamics.from_description(load_description("wam4"))
    ILR(2, global_model=dynamics).fit(X, X[:, :4]).save(tmp_path / "model.npz")
    code = (
        "import sys; from ilr_dynamics.regression import load_snapshot\n"
        "assert 'ilr_dynamics.robot.identified_dynamics' not in sys.modules\n"
        f"load_snapshot({str(tmp_path / 'model.npz')!r})\n"
    )
    subprocess.run([sys.executable, "-P", "-c", code], check=True, timeout=60)
