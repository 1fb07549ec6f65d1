# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""A simulated arm that takes something up while it moves."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
from _simulated_motion import Arm

from ilr_dynamics.robot.description import RobotDescription, load_description
from ilr_dynamics.robot.mujoco_model import build_mujoco_model
from ilr_dynamics.robot.payload import Payload
from ilr_dynamics.robot.plant import WamPlant

__all__ = ["LoadableArm", "LoadablePlant", "draw_payload"]

# Where the centre of mass of what is taken up may lie from the tool point along each axis, m, and
# the radius of gyration about each of its axes.
OFFSET, GYRATION = 0.06, (0.02, 0.05)
_MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


class LoadablePlant(WamPlant):
    """The simulated WAM, to whose tool a body can be fixed between two cycles."""

    def load(self, payload: Payload | None, folder: Path) -> None:
        """Fix a body to the tool, or take it off; motion goes on as it was."""
        description = self.description
        if payload is not None:
            description = described_with(description, payload, folder)
        position, velocity = self.position, self.velocity
        self._model = build_mujoco_model(
            description,
            timestep=self.config.physics_step,
            armature=self.transmission.reflected_inertia,
            damping=self.config.friction.viscous,
        )
        self._data = mujoco.MjData(self._model)
        self._data.qpos[:], self._data.qvel[:] = position, velocity
        mujoco.mj_forward(self._model, self._data)
        self._load[:] = self._data.qfrc_bias


class LoadableArm(Arm):
    """
    A simulated arm with a `LoadablePlant`.

    Parameters
    ----------
    seed, name
        As of `Arm`.
    friction
        Factor of dry and viscous friction.
    """

    def __init__(self, seed: int, name: str, friction: float = 1.0) -> None:
        super().__init__(seed, name)
        usual = self.plant.config.friction
        rough = replace(usual, dry=friction * usual.dry, viscous=friction * usual.viscous)
        self.plant: LoadablePlant = LoadablePlant(
            self.description, replace(self.plant.config, friction=rough), seed=seed
        )


def draw_payload(mass: float, random: np.random.Generator) -> Payload:
    """A body of a mass, kg, somewhere at the tool, with some size."""
    gyration = random.uniform(*GYRATION, 3)
    second = np.diag(mass * gyration**2 / 2.0)
    tensor = np.trace(second) * np.eye(3) - second
    return Payload(mass, random.uniform(-OFFSET, OFFSET, 3), tensor[np.triu_indices(3)])


def described_with(
    description: RobotDescription, payload: Payload, folder: Path
) -> RobotDescription:
    """The description of the arm with a body fixed to its tool."""
    tree = ElementTree.parse(description.urdf_path)
    tool = tree.find(f"link[@name='{description.tool_frame}']")
    assert tool is not None and tool.find("inertial") is None
    inertial = ElementTree.SubElement(tool, "inertial")
    ElementTree.SubElement(inertial, "mass", value=repr(payload.mass))
    ElementTree.SubElement(inertial, "origin", xyz=" ".join(map(repr, payload.com.tolist())))
    moments = map(repr, payload.inertia.tolist())
    ElementTree.SubElement(inertial, "inertia", **dict(zip(_MOMENTS, moments, strict=True)))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "loaded.urdf"
    tree.write(path)
    return load_description(path)
