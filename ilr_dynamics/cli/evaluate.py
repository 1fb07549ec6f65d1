# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Program `evaluate [MODEL.npz] BAG`: a model on a recording, or how well the arm tracked."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.cli.learning_options import DEFAULTS, add_recording_options, given_parameters
from ilr_dynamics.cli.output_file import check_output_path
from ilr_dynamics.cli.table import format_table
from ilr_dynamics.cli.tracking_evaluation import draw_tracking, read_tracking, tracking_tables
from ilr_dynamics.exceptions import IlrDynamicsError, SnapshotError
from ilr_dynamics.learning import LearningSettings, load_compatible_snapshot, read_samples
from ilr_dynamics.nodes.settings import command_topic
from ilr_dynamics.recording import Samples, SampleSettings
from ilr_dynamics.regression import load_snapshot
from ilr_dynamics.robot.description import STANDING

__all__ = ["main"]

COVERAGE = 0.95
# By it a picture is known that may be replaced, of the formats with a field for it near the
# beginning.
MARK = "evaluate of ilr_dynamics"
MARK_NAMES = {"": "Software", ".png": "Software", ".svg": "Creator"}


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Print how well a model predicts a recording, or how well an arm tracked, and draw it.

    Parameters
    ----------
    arguments : sequence of str, optional
        Command line without the program's name; by default that of the process.

    Returns
    -------
    int
        Exit code: 0, or 1 after a message on stderr.
    """
    options = _parser().parse_args(arguments)
    try:
        _evaluate(options)
    except IlrDynamicsError as error:
        print(f"evaluate: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="evaluate",
        description="Compare the torques a model predicts with a recording. Without a model: show "
        "how well the arm tracked, by the controller's reports in the recording.",
    )
    parser.add_argument("snapshot", nargs="?", metavar="SNAPSHOT", help="model, as .npz file")
    parser.add_argument("bag", metavar="BAG", help="folder or file of a rosbag2")
    parser.add_argument(
        "--picture",
        default="evaluate.png",
        metavar="FILE",
        help="where to draw the torques; '' for no picture (default: %(default)s)",
    )
    parser.add_argument(
        "--controller-state",
        default="/inverse_dynamics/controller_state",
        metavar="TOPIC",
        help="topic of the controller's reports, without a model (default: %(default)s)",
    )
    add_recording_options(parser)
    return parser


def _evaluate(options: argparse.Namespace) -> None:
    if options.picture:
        check_output_path(options.picture, MARK.encode(), [options.bag])
    if options.snapshot is None:
        tracking = read_tracking(options.bag, options.controller_state)
        print(tracking_tables(tracking))
        if options.picture:
            _save(Path(options.picture), draw_tracking(tracking))
            print(f"\npicture: {options.picture}")
        return
    settings = _settings(options)
    model = load_compatible_snapshot(options.snapshot, settings)
    samples = read_samples(options.bag, settings)
    mean = np.asarray(model.predict(samples.X))
    lower, upper = model.predict_interval(samples.X, COVERAGE)
    print(_table(samples, mean, lower, upper))
    print(f"\n{samples.n_used} samples; a constant torque has nMSE 1")
    if options.picture:
        _draw(Path(options.picture), samples, mean, lower, upper)
        print(f"picture: {options.picture}")


def _settings(options: argparse.Namespace) -> LearningSettings:
    """Settings of the arm named in the snapshot."""
    metadata = load_snapshot(options.snapshot).metadata_
    if "joint_names" not in metadata or "driver_compensates_gravity" not in metadata:
        raise SnapshotError(
            f"the snapshot {options.snapshot} has {list(metadata) or 'nothing'} about its arm; "
            "expected joint_names and driver_compensates_gravity"
        )
    values = {**DEFAULTS, **given_parameters(options)}
    return LearningSettings(
        joint_names=tuple(metadata["joint_names"]),
        driver_compensates_gravity=metadata["driver_compensates_gravity"],
        gravity=tuple(metadata.get("gravity", STANDING)),
        state_topic=values["learning.state_topic"],
        command_topic=command_topic(values),
        prefix=values["prefix"],
        samples=SampleSettings(sample_rate=values["learning.sample_rate"] or None),
    )


def _table(samples: Samples, mean: FloatArray, lower: FloatArray, upper: FloatArray) -> str:
    error = np.mean((mean - samples.Y) ** 2, axis=0)
    normalized = error / np.var(samples.Y, axis=0)
    covered = np.mean((lower <= samples.Y) & (samples.Y <= upper), axis=0)
    rows = [
        [joint, float(np.sqrt(error[k])), float(normalized[k]), f"{covered[k]:.1%}"]
        for k, joint in enumerate(samples.joint_names)
    ]
    rows.append(
        [
            "all",
            float(np.sqrt(error.mean())),
            float(normalized.mean()),
            f"{covered.mean():.1%}",
        ]
    )
    return format_table(["joint", "rms error [Nm]", "nMSE", f"in {COVERAGE:.0%} interval"], rows)


def _draw(
    path: Path, samples: Samples, mean: FloatArray, lower: FloatArray, upper: FloatArray
) -> None:
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt  # only after the backend is chosen

    figure, axes = plt.subplots(
        len(samples.joint_names), 1, sharex=True, squeeze=False, layout="constrained"
    )
    figure.set_size_inches(10.0, 2.0 * len(samples.joint_names) + 1.0)
    for k, axis in enumerate(axes[:, 0]):
        band = {"color": "C0", "alpha": 0.25, "linewidth": 0, "label": f"{COVERAGE:.0%} interval"}
        axis.fill_between(samples.time, lower[:, k], upper[:, k], **band)
        axis.plot(samples.time, mean[:, k], color="C0", lw=1.0, label="predicted")
        axis.plot(samples.time, samples.Y[:, k], color="k", lw=0.8, label="measured")
        axis.set_ylabel(f"{samples.joint_names[k]} [Nm]")
    axes[-1, 0].set_xlabel("time [s]")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), ncols=3, loc="outside upper center")
    plt.close(figure)
    _save(path, figure)


def _save(path: Path, figure: Figure) -> None:
    try:
        name = MARK_NAMES.get(path.suffix.lower())
        figure.savefig(path, dpi=120, metadata=None if name is None else {name: MARK})
    except (OSError, ValueError) as error:
        raise IlrDynamicsError(f"cannot draw to {path}: {error}") from error


if __name__ == "__main__":
    sys.exit(main())
