# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Identified arms, exported: torque errors on new motions, and what other tools make of the files.

Bodies of the export can exist; those that least squares identifies often cannot. What that costs
is the ratio of both torque errors (root mean square over all joints) on motions that were not
learned: the test paths of the simulated arms, and the held-out rows of recorded ones.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import mujoco
import numpy as np
import pinocchio
from _closed_loop import joined, record, training_paths
from _real_data_sets import SETS, add_data_option
from _simulated_motion import Arm

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.cli.table import format_table
from ilr_dynamics.control import RigidBodyFeedForward
from ilr_dynamics.robot.arm_export import ArmExport
from ilr_dynamics.robot.description import RobotDescription
from ilr_dynamics.robot.export_mjcf import exported_mjcf
from ilr_dynamics.robot.export_urdf import exported_urdf
from ilr_dynamics.robot.identified_dynamics import IdentifiedDynamics
from ilr_dynamics.robot.pseudo_inertia import pseudo_inertia
from ilr_dynamics.robot.tool_paths import tool_path

RECORDED = ("real_barrett_wam7", "sl_barrett_wam7_simulated", "real_baxter7")
EVERY, TEST_PATHS = 5, ("T1", "T2", "T3")


@dataclass(frozen=True)
class Case:
    """An arm, what is learned of it and what is new to it."""

    name: str
    description: RobotDescription
    start: IdentifiedDynamics
    learned: tuple[FloatArray, FloatArray]
    new: tuple[FloatArray, FloatArray]


def main() -> int:
    """Export all arms, print a table and a line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--robots", nargs="*", default=["wam4", "wam7"])
    parser.add_argument("--seeds", type=int, default=3, help="simulated arms of each kind")
    parser.add_argument("--thin", type=int, default=3, help="one of so many recorded rows")
    add_data_option(parser)
    options = parser.parse_args()
    rows = []
    for case in (*_simulated(options), *_recorded(options)):
        rows.append(_row(case))
        print(f"export: {case.name}", file=sys.stderr)
    print(format_table(list(rows[0]), [list(row.values()) for row in rows]))
    print(json.dumps({"benchmark": "export", "rows": rows}))
    return 0


def _simulated(options: argparse.Namespace) -> Iterator[Case]:
    for robot in options.robots:
        for seed in range(options.seeds):
            arm = Arm(seed, robot)
            feedforward = RigidBodyFeedForward(arm.model)
            paths = [arm.joint_path(tool_path(name)) for name in TEST_PATHS]
            learned, new = (
                joined([record(arm, feedforward, path, every=EVERY) for path in chosen])
                for chosen in (training_paths(arm), paths)
            )
            start = IdentifiedDynamics.from_description(arm.description)
            yield Case(f"simulated {robot}, seed {seed}", arm.description, start, learned, new)


def _recorded(options: argparse.Namespace) -> Iterator[Case]:
    for name in RECORDED:
        data = SETS[name]
        if missing := data.missing(options.data_dir):
            print(f"export: {name} is left out: no {', '.join(missing)}", file=sys.stderr)
            continue
        split = data.splits(options.data_dir)["extrapolation"]
        description = data.description(options.data_dir)
        assert description is not None
        start = IdentifiedDynamics.from_description(description, gravity=data.gravity)
        learned = split.X[:: options.thin], split.Y[:: options.thin]
        yield Case(name, description, start, learned, (split.X_test, split.Y_test))


def _row(case: Case) -> dict[str, object]:
    X, Y = case.learned
    dynamics = case.start.updated(X, Y, np.ones(len(X)))
    # What follows from the sums is computed when first asked for.
    dynamics.expected(X[:1])
    started = time.perf_counter()
    arm = ArmExport.of(dynamics, case.description)
    seconds = time.perf_counter() - started
    X, Y = case.new
    errors = [
        float(np.sqrt(np.mean((torque - Y) ** 2)))
        for torque in (case.start.expected(X), dynamics.expected(X), arm.torque(X))
    ]
    impossible = np.linalg.eigvalsh(pseudo_inertia(arm.bodies(dynamics.parameters)))[:, 0] <= 0.0
    return {
        "arm": case.name,
        "impossible bodies": f"{impossible.sum()} of {arm.n_joints}",
        "described [Nm]": round(errors[0], 4),
        "identified [Nm]": round(errors[1], 4),
        "exported [Nm]": round(errors[2], 4),
        "ratio": round(errors[2] / errors[1], 4),
        "Pinocchio - MuJoCo [Nm]": float(f"{_disagreement(arm):.2g}"),
        "ms": round(1e3 * seconds),
    }


def _disagreement(arm: ArmExport) -> float:
    """Largest difference of torques without friction between both tools, Nm."""
    n = arm.n_joints
    simulated = mujoco.MjModel.from_xml_string(exported_mjcf(arm, "benchmark"))
    simulated.dof_damping[:] = simulated.tendon_damping[:] = 0.0
    simulated.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_FRICTIONLOSS
    simulated.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_LIMIT
    with TemporaryDirectory() as folder:
        path = Path(folder) / "arm.urdf"
        path.write_text(exported_urdf(arm, "benchmark"))
        rigid = pinocchio.buildModelFromUrdf(str(path))
    rigid.gravity.linear = arm.dynamics.gravity
    of_mujoco, of_pinocchio = mujoco.MjData(simulated), rigid.createData()
    largest = 0.0
    for motion in np.random.default_rng(0).normal(size=(500, 3, n)):
        of_mujoco.qpos[:], of_mujoco.qvel[:], of_mujoco.qacc[:] = motion
        mujoco.mj_inverse(simulated, of_mujoco)
        torque = pinocchio.rnea(rigid, of_pinocchio, *motion) + arm.rotor_inertia @ motion[2]
        largest = max(largest, float(np.max(np.abs(torque - of_mujoco.qfrc_inverse))))
    return largest


if __name__ == "__main__":
    sys.exit(main())
