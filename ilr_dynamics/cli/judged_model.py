# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Model that is judged by recordings: the arm that its metadata name, and what it predicts."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ilr_dynamics.cli.learning_options import DEFAULTS, add_bags, given_parameters
from ilr_dynamics.exceptions import RobotDescriptionError, SnapshotError
from ilr_dynamics.inspection.inspect_recording import with_continuous_joints
from ilr_dynamics.learning import LearningSettings, load_compatible_snapshot, read_samples
from ilr_dynamics.nodes.settings import command_topic, state_topic
from ilr_dynamics.recording import Samples, SampleSettings
from ilr_dynamics.recording.bag_metadata import STORAGE_SUFFIXES
from ilr_dynamics.regression import load_snapshot
from ilr_dynamics.regression.mixture_regressor import MixtureRegressor
from ilr_dynamics.robot.description import STANDING, RobotDescription
from ilr_dynamics.robot.identified_dynamics import IdentifiedDynamics

__all__ = ["JudgedModel", "add_model_and_bags", "model_and_bags"]

SNAPSHOT_SUFFIX = ".npz"


@dataclass(frozen=True)
class JudgedModel:
    """
    Model with the arm that it is of.

    Attributes
    ----------
    path : str
        Its file.
    model : MixtureRegressor
    settings : LearningSettings
        Joints and topics by which recordings are read.
    """

    path: str
    model: MixtureRegressor
    settings: LearningSettings

    @classmethod
    def load(cls, path: str, options: argparse.Namespace) -> JudgedModel:
        """
        Load a model.

        Parameters
        ----------
        path : str
            Snapshot.
        options : argparse.Namespace
            Options of `add_recording_options`.

        Raises
        ------
        SnapshotError
            If it cannot be read or names no arm.
        InvalidParameterError
            If an option is out of range.
        """
        metadata = load_snapshot(path).metadata_
        if "joint_names" not in metadata or "driver_compensates_gravity" not in metadata:
            raise SnapshotError(
                f"the snapshot {path} has {list(metadata) or 'nothing'} about its arm; "
                "expected joint_names and driver_compensates_gravity"
            )
        values = {**DEFAULTS, **given_parameters(options)}
        settings = LearningSettings(
            joint_names=tuple(metadata["joint_names"]),
            driver_compensates_gravity=metadata["driver_compensates_gravity"],
            gravity=tuple(metadata.get("gravity", STANDING)),
            state_topic=state_topic(values),
            command_topic=command_topic(values),
            controller_state_topic=values["learning.controller_state_topic"] or None,
            prefix=values["prefix"],
            samples=SampleSettings(sample_rate=values["learning.sample_rate"] or None),
        )
        return cls(path, load_compatible_snapshot(path, settings), settings)

    @property
    def dynamics(self) -> IdentifiedDynamics | None:
        """Identified dynamics; None if it was learned without the arm's description."""
        found = self.model.global_model_
        return found if isinstance(found, IdentifiedDynamics) else None

    def samples(
        self,
        bag: str,
        description: RobotDescription | None = None,
        progress: Callable[[float], None] = lambda share: None,
    ) -> Samples:
        """
        Read the samples of a recording as they are learned from.

        Parameters
        ----------
        bag : str
            Folder or file of a rosbag2.
        description : RobotDescription, optional
            The arm, whose continuous joints may wrap.
        progress : callable
            Called with the share that is done.

        Raises
        ------
        RecordingError
            If it cannot be read, lacks joints, or has too few usable states.
        """
        settings = with_continuous_joints(self.settings, description)
        return read_samples(bag, settings, lambda stage, share, bound: progress(share))

    def check_same_robot(self, other: JudgedModel) -> None:
        """
        Check that another model is of the same robot.

        Raises
        ------
        SnapshotError
            If its joints or its gravity are others.
        """
        for name in ("joint_names", "driver_compensates_gravity", "gravity"):
            found, expected = (getattr(model.settings, name) for model in (other, self))
            if found != expected:
                raise SnapshotError(
                    f"the snapshot {other.path} is for {name} = {found}; expected {expected}, as "
                    f"{self.path} has"
                )

    def check_joints(self, description: RobotDescription) -> None:
        """
        Check that a description has as many joints as the model.

        Raises
        ------
        RobotDescriptionError
            If it has more or less.
        """
        found, expected = description.n_joints, len(self.settings.joint_names)
        if found != expected:
            raise RobotDescriptionError(
                f"{description.urdf_path}: {found} joints, expected {expected} as the model "
                f"{self.path} has"
            )


def add_model_and_bags(parser: argparse.ArgumentParser) -> None:
    """Add a model, which may be left out, and recordings to a parser."""
    parser.add_argument("snapshot", nargs="?", metavar="MODEL", help="model, as .npz file")
    add_bags(parser)


def model_and_bags(options: argparse.Namespace) -> tuple[str | None, list[str]]:
    """Tell a model from recordings: without a model, the first of several is a recording."""
    first = options.snapshot
    if first is None or _may_be_model(Path(first)):
        return first, options.bags
    return None, [first, *options.bags]


def _may_be_model(path: Path) -> bool:
    """Whether it is called a model, or is a file that is no recording's."""
    is_other_file = path.is_file() and path.suffix not in STORAGE_SUFFIXES
    return path.suffix == SNAPSHOT_SUFFIX or is_other_file
