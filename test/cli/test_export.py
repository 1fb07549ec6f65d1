# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What `export` writes and refuses."""

import mujoco
import numpy as np
import pinocchio
import pytest
import yaml

from ilr_dynamics.cli.export import main
from ilr_dynamics.regression import ILR
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.identified_dynamics import IdentifiedDynamics


def learned(description, path, **dynamics):
    """Save a model of an arm that is a tenth heavier than described."""
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 3 * description.n_joints))
    start = IdentifiedDynamics.from_description(description, **dynamics)
    Y = 1.1 * start.expected(X)
    Y += 0.02 * random.normal(size=Y.shape)
    model = ILR(3, global_model=start).fit(X, Y)
    model.metadata_ = {"joint_names": list(description.joint_names)}
    model.save(path)
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return learned(load_description("wam4"), tmp_path_factory.mktemp("model") / "model.npz")


def test_all_formats_are_written_and_read(model, tmp_path, capsys):
    names = {kind: tmp_path / f"out.{kind}" for kind in ("urdf", "mjcf", "yaml")}
    options = [word for kind, path in names.items() for word in (f"--{kind}", str(path))]
    assert main([str(model), *options]) == 0
    shown = capsys.readouterr().out
    assert "written: " in shown and all(str(path) in shown for path in names.values())
    assert "j4" in shown
    rigid = pinocchio.buildModelFromUrdf(str(names["urdf"]))
    simulated = mujoco.MjModel.from_xml_path(str(names["mjcf"]))
    content = yaml.safe_load(names["yaml"].read_text())
    masses = [body["value"]["mass"] for body in content["bodies"].values()]
    np.testing.assert_allclose([body.mass for body in rigid.inertias[1:]], masses)
    np.testing.assert_allclose(simulated.body_mass[1:], masses)
    assert len(content["torque_errors"]["export_to_measured"]) == 4
    # Written once more, they replace what was written.
    assert main([str(model), *options]) == 0


def test_an_arm_of_a_file_is_named(tmp_path, capsys):
    text = load_description("wam4").urdf_path.read_text().replace("0.045 0 0.55", "0.045 0 0.5")
    (tmp_path / "own.urdf").write_text(text)
    model = learned(load_description(tmp_path / "own.urdf"), tmp_path / "model.npz")
    out = ["--yaml", str(tmp_path / "out.yaml")]
    assert main([str(model), *out]) == 1
    assert "no arm of the package fits the model's 4 joints" in capsys.readouterr().err
    assert main([str(model), *out, "--robot", "wam4"]) == 1
    assert "of joint 'j4' differ from the model's" in capsys.readouterr().err
    assert not (tmp_path / "out.yaml").exists()
    assert main([str(model), *out, "--robot", str(tmp_path / "own.urdf")]) == 0


def test_a_model_without_a_description_is_refused(tmp_path, capsys):
    X = np.random.default_rng(0).normal(size=(50, 12))
    ILR(3).fit(X, X[:, :4]).save(tmp_path / "model.npz")
    out = tmp_path / "out.urdf"
    assert main([str(tmp_path / "model.npz"), "--urdf", str(out)]) == 1
    assert "has no identified dynamics, as it was learned without" in capsys.readouterr().err
    assert not out.exists()


def test_no_other_file_is_replaced(model, tmp_path, capsys):
    mine = tmp_path / "mine.urdf"
    mine.write_text("<robot/>")
    other = tmp_path / "out.yaml"
    assert main([str(model), "--urdf", str(mine), "--yaml", str(other)]) == 1
    assert "this program did not write it" in capsys.readouterr().err
    assert mine.read_text() == "<robot/>" and not other.exists()
    assert main([str(model), "--urdf", str(other), "--yaml", str(other)]) == 1
    assert "two files have one name" in capsys.readouterr().err
    assert main([str(tmp_path / "none.npz"), "--yaml", str(other)]) == 1
    assert "none.npz" in capsys.readouterr().err and not other.exists()


def test_without_a_file_to_write_the_options_are_shown(model, capsys):
    with pytest.raises(SystemExit):
        main([str(model)])
    assert "nothing to write: expected --urdf, --mjcf or --yaml" in capsys.readouterr().err


def test_gravity_that_the_driver_compensates_is_said_to_be_missing(tmp_path, capsys):
    path = learned(load_description("wam4"), tmp_path / "m.npz", gravity=np.zeros(3))
    out = tmp_path / "out.xml"
    assert main([str(path), "--mjcf", str(out)]) == 0
    assert "The driver compensates gravity" in capsys.readouterr().out
    np.testing.assert_array_equal(mujoco.MjModel.from_xml_path(str(out)).opt.gravity, 0.0)
