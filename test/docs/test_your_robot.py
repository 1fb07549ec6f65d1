# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""An arm that is no WAM, by the pages alone: its files, and the rehearsal over DDS."""

import os
import re
import shutil
import subprocess
import sys

import numpy as np
import yaml
from pages import CODE, DOCS, ROOT, blocks, tables

from ilr_dynamics.cli.ros_domain import OwnDomain
from ilr_dynamics.recording.rejection import Rejection
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.waypoints import read_waypoints

ARM = ROOT / "test" / "data" / "arm6"
PAGE = DOCS / "arm_files.md"


def first_column(page, *header):
    (rows,) = (rows for found, rows in tables(page) if found[: len(header)] == [*header])
    return [CODE.findall(row[0])[0] for row in rows]


def test_rehearsal_tracks_far_better_with_the_learned_model(tmp_path):
    """Simulator, recorder and controller as processes: PD, a recording, learning, tracking."""
    (script,) = (text for text in blocks(DOCS / "your_robot.md", "python") if "follow" in text)
    folder = shutil.copytree(ARM, tmp_path / "arm6")
    (folder / "rehearsal.py").write_text(script)
    # A busy machine is no failure of the driver.
    parameters = folder / "my_arm.yaml"
    patient = "effort_error: 0.05\n      answer_timeout: 2.0\n      input_timeout: 2.0"
    parameters.write_text(parameters.read_text().replace("effort_error: 0.05", patient))
    with OwnDomain() as domain:
        run = subprocess.run(
            [sys.executable, "-P", "rehearsal.py"],
            cwd=folder,
            env={**os.environ, **domain.environment()},
            capture_output=True,
            text=True,
            timeout=120.0,
        )
    assert run.returncode == 0, run.stdout + run.stderr
    printed = re.findall(r"^(\w+): error (\S+) rad², gate (\S+)$", run.stdout, re.MULTILINE)
    error = {controller: float(value) for controller, value, _ in printed}
    assert error["pd"] > 2.0 * error["analytic"] > 6.0 * error["ilr"]
    assert error["pd"] > 20.0 * error["ilr"]
    assert float(printed[-1][2]) > 0.8


def test_motors_of_the_page_are_read(tmp_path):
    (motors,) = blocks(PAGE, "xml")
    ones = "".join(
        f'<motor name="m{i}"><joint name="a{i}" ratio="1"/></motor>' for i in range(1, 5)
    )
    text = (ARM / "arm6.urdf").read_text().replace("</robot>", f"{ones}{motors}</robot>")
    (tmp_path / "arm.urdf").write_text(text)
    gears = load_description(tmp_path / "arm.urdf").gear_matrix
    np.testing.assert_array_equal(gears[4:, 4:], [[80.0, 0.0], [20.0, 50.0]])


def test_waypoints_of_the_page_are_the_same_in_both_formats(tmp_path):
    found = []
    for language, suffix in (("text", "csv"), ("yaml", "yaml")):
        # The last ones: one of YAML before that is of parameters.
        text = blocks(PAGE, language)[-1]
        path = tmp_path / f"motion.{suffix}"
        path.write_text(text)
        found.append(read_waypoints(path))
    assert (
        found[0].joint_names
        == found[1].joint_names
        == load_description(ARM / "arm6.urdf").joint_names
    )
    for csv, yaml_ in zip(found[0][1:], found[1][1:], strict=True):
        np.testing.assert_array_equal(csv, yaml_)


def test_table_of_the_plant_is_complete():
    plant = yaml.safe_load((ARM / "arm6_plant.yaml").read_text())
    names = [
        f"{name}.{below}" if isinstance(value, dict) else name
        for name, value in plant.items()
        for below in (value if isinstance(value, dict) else [""])
    ]
    assert first_column(PAGE, "number", "unit") == names


def test_table_of_rejected_samples_is_complete():
    reasons = [reason.name.lower() for reason in Rejection if reason is not Rejection.NONE]
    assert first_column(DOCS / "troubleshooting.md", "reason") == reasons
