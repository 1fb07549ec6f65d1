# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Program `export MODEL --urdf FILE --mjcf FILE --yaml FILE`: the identified arm for others."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.atomic_file import atomic_writer
from ilr_dynamics.cli.argument_parser import ArgumentParser
from ilr_dynamics.cli.described_arm import add_arm_options, described_arm, identified_dynamics
from ilr_dynamics.cli.output_file import check_output_path
from ilr_dynamics.cli.program import run_program
from ilr_dynamics.cli.table import format_table
from ilr_dynamics.exceptions import FileAccessError
from ilr_dynamics.regression import load_snapshot
from ilr_dynamics.regression.mixture_regressor import MixtureRegressor
from ilr_dynamics.robot.arm_export import ArmExport
from ilr_dynamics.robot.export_mjcf import exported_mjcf
from ilr_dynamics.robot.export_urdf import exported_urdf
from ilr_dynamics.robot.export_yaml import exported_yaml

__all__ = ["main"]

# By it a file is known that may be replaced.
MARK = "export of ilr_dynamics"
FORMATS = ("urdf", "mjcf", "yaml")
# Of errors of torques by their names in the YAML.
TITLES = {
    "export_to_measured": "error",
    "identified_to_measured": "of identified",
    "model_to_measured": "of model",
    "export_to_identified": "export - identified",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Write what a model has identified of an arm as URDF, MJCF and YAML.

    Parameters
    ----------
    arguments : sequence of str, optional
        Command line without the program's name; by default that of the process.

    Returns
    -------
    int
        Exit code: 0, or 1 after a message on stderr.
    """
    return run_program("export", _export, arguments)


def _parser() -> argparse.ArgumentParser:
    parser = ArgumentParser(
        prog="export",
        description="Write what a model has identified of an arm in the formats of other tools: "
        "bodies with inertias that bodies can have, rotors and friction.",
    )
    parser.add_argument("snapshot", metavar="MODEL", help="model, as .npz file")
    parser.add_argument("--urdf", metavar="FILE", help="bodies, and <dynamics> of the joints")
    parser.add_argument("--mjcf", metavar="FILE", help="the same with rotors, for MuJoCo")
    parser.add_argument(
        "--yaml", metavar="FILE", help="all parameters, and the standard deviation of each"
    )
    add_arm_options(parser)
    return parser


def _export(arguments: Sequence[str] | None) -> None:
    parser = _parser()
    options = parser.parse_args(arguments)
    paths = {kind: path for kind in FORMATS if (path := getattr(options, kind))}
    if not paths:
        parser.error("nothing to write: expected --urdf, --mjcf or --yaml with a file")
    for path in paths.values():
        check_output_path(path, MARK.encode())
    if len({Path(path).resolve() for path in paths.values()}) < len(paths):
        raise FileAccessError("two files have one name; expected another for each format")
    model = load_snapshot(options.snapshot)
    dynamics = identified_dynamics(model, options.snapshot)
    description = described_arm(model, dynamics, options.arm, options.tool_frame)
    arm = ArmExport.of(dynamics, description)
    errors = torque_errors(arm, model)
    note = f"{MARK}: {description.name} as identified by {Path(options.snapshot).name}"
    note = " ".join(note.replace("--", "- -").split())
    texts = {
        "urdf": lambda: exported_urdf(arm, f"{note}. Rotors are not in a URDF"),
        "mjcf": lambda: exported_mjcf(arm, note),
        "yaml": lambda: exported_yaml(arm, note, errors),
    }
    for kind, path in paths.items():
        try:
            with atomic_writer(path) as file:
                file.write(texts[kind]().encode())
        except OSError as error:
            raise FileAccessError(f"cannot write {path}: {error}") from error
    print(_table(arm, errors))
    if not np.any(dynamics.gravity):
        print("\nThe driver compensates gravity: the exported arm is without it")
    print(f"\nwritten: {', '.join(paths.values())}")


def torque_errors(arm: ArmExport, model: MixtureRegressor) -> dict[str, FloatArray]:
    """
    Return errors of torques at the states that stand for all that the model learned.

    Parameters
    ----------
    arm : ArmExport
        Identified arm.
    model : MixtureRegressor
        Model that it is part of.

    Returns
    -------
    dict of str to ndarray of shape (n,)
        Root mean square differences by name, Nm; none if the model learned nothing.
    """
    kept = arm.dynamics.representatives
    if not len(kept.X):
        return {}
    exported, identified = arm.torque(kept.X), arm.dynamics.expected(kept.X)
    return {
        "export_to_measured": _rms(exported - kept.Y),
        "identified_to_measured": _rms(identified - kept.Y),
        "model_to_measured": _rms(np.asarray(model.predict(kept.X)) - kept.Y),
        "export_to_identified": _rms(exported - identified),
    }


def _rms(errors: FloatArray) -> FloatArray:
    return np.asarray(np.sqrt(np.mean(errors**2, axis=0)))


def _table(arm: ArmExport, errors: dict[str, FloatArray]) -> str:
    damping, friction = arm.joint_friction()
    bodies, std = arm.bodies(arm.parameters), arm.bodies(arm.std)
    rows = [
        [
            joint,
            f"{bodies[k, 0]:.3g} ± {std[k, 0]:.1g} ({arm.dynamics.inertial_prior[k, 0]:.3g})",
            float(arm.rotor_inertia[k, k]),
            float(damping[k]),
            float(friction[k]),
            *(float(error[k]) for error in errors.values()),
        ]
        for k, joint in enumerate(arm.description.joint_names)
    ]
    titles = ["joint", "mass [kg] (described)", "rotor [kg m²]", "damping [Nms/rad]", "dry [Nm]"]
    table = format_table([*titles, *(TITLES[name] for name in errors)], rows)
    return f"{table}\nerrors: root mean square torque at what was learned, Nm" if errors else table


if __name__ == "__main__":
    sys.exit(main())
