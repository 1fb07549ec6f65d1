# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Guiding by hand: the force that moves the tool, with the learned and with the analytic model.

The arm learns from its own eights. Then, in postures drawn from these, it is guided as the node
does it by the arm's parameter file, in lock-step with the simulated arm. A force in a drawn
direction pulls at the tool; the smallest that moves the tool by 3 cm within a second is found by
bisection. And nobody touches the arm for two seconds, or lets it go after such a pull, with a
quarter more force: how far a joint moves from half a second later on. With --reach, postures are
drawn around those, where the model knows less.
"""

from __future__ import annotations

import argparse
import json
import sys

import numpy as np
from _closed_loop import training_paths
from _learned_arm import learned_predictor
from _learners import node_settings
from _pushed_plant import PushedPlant
from _simulated_motion import Arm

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.cli.table import format_table
from ilr_dynamics.control import Mode, RigidBodyFeedForward, TrackingController
from ilr_dynamics.control.feedforward import Predictor
from ilr_dynamics.robot.plant_config import load_plant_config

FAR, PULL_S, ALONE_S = 0.03, 1.0, 2.0
HARDER, AT_REST_S = 1.25, 0.5
SETTLE_S, FADE_S = 0.3, 0.5
STRONGEST, BISECTIONS = 40.0, 8


def main() -> int:
    """Learn, guide, print a table and a line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--robot", default="wam4", choices=("wam4", "wam7"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=3, help="of recordings of all eights")
    parser.add_argument("--snapshot", help="model of this arm, learned if it is not there")
    parser.add_argument("--postures", type=int, default=8)
    parser.add_argument(
        "--reach", type=float, default=0.0, help="distance from recorded ones, rad"
    )
    options = parser.parse_args()
    arm = Arm(options.seed, options.robot)
    rigs = {
        "analytic": Rig(arm, options.seed, None),
        "learned": Rig(
            arm,
            options.seed,
            learned_predictor(arm, options.seed, options.rounds, options.snapshot),
        ),
    }
    random = np.random.default_rng(options.seed)
    paths = training_paths(arm)
    rows = []
    for index in range(options.postures):
        path = paths[random.integers(len(paths))]
        posture = path.sample(random.uniform(path.start, path.end)).position
        posture = posture + random.uniform(-options.reach, options.reach, len(posture))
        direction = random.normal(size=3)
        direction /= np.linalg.norm(direction)
        forces = {name: rig.smallest_force(posture, direction) for name, rig in rigs.items()}
        alone = {name: rig.wandering(posture) for name, rig in rigs.items()}
        let_go = rigs["learned"].going_on(posture, HARDER * forces["learned"] * direction)
        rows.append(
            {
                "posture": str(index + 1),
                **{f"{name} [N]": round(force, 2) for name, force in forces.items()},
                "ratio": round(forces["learned"] / forces["analytic"], 3),
                **{f"{name}, alone [mrad]": round(far, 2) for name, far in alone.items()},
                "learned, let go [mrad]": round(let_go, 2),
            }
        )
        print(f"guiding: {index + 1} of {options.postures}", file=sys.stderr)
    print(format_table(list(rows[0]), [list(row.values()) for row in rows]))
    ratios = [row["ratio"] for row in rows]
    print(f"ratio: median {np.median(ratios):.3g}, largest {max(ratios):.3g}")
    report = {"robot": options.robot, "seed": options.seed, "rows": rows}
    print(json.dumps({"benchmark": "guiding", **report}))
    return 0


class Rig:
    """A simulated arm that is guided with one model."""

    def __init__(self, arm: Arm, seed: int, predictor: Predictor | None) -> None:
        name = arm.description.name
        self._plant = PushedPlant(arm.model, load_plant_config(name), seed)
        physics = RigidBodyFeedForward(arm.model)
        settings = node_settings(arm, "analytic" if predictor is None else "ilr")
        self._controller = TrackingController(
            settings.limits,
            settings.gains,
            settings.supervision,
            settings.feedforward(physics, predictor),
            physics,
            guidance=settings.guidance(physics, predictor),
        )

    def smallest_force(self, posture: FloatArray, direction: FloatArray) -> float:
        """Smallest force that moves the tool, N."""
        low, high = 0.0, STRONGEST
        for _ in range(BISECTIONS):
            force = 0.5 * (low + high)
            moved, _ = self._moved(posture, force * direction, PULL_S)
            low, high = (low, force) if moved > FAR else (force, high)
        return high

    def wandering(self, posture: FloatArray) -> float:
        """How far a joint moves when nobody touches the arm, mrad."""
        return 1e3 * self._moved(posture, np.zeros(3), ALONE_S)[1]

    def going_on(self, posture: FloatArray, force: FloatArray) -> float:
        """How far a joint still moves after a pull, once it should be at rest, mrad."""
        self._moved(posture, force, PULL_S)
        self._plant.force = np.zeros(3)
        self._run(AT_REST_S)
        before = self._plant.position
        self._run(ALONE_S)
        return float(1e3 * np.max(np.abs(self._plant.position - before)))

    def _moved(
        self, posture: FloatArray, force: FloatArray, duration: float
    ) -> tuple[float, float]:
        """How far the tool, m, and the joint that moves most, rad, come by a force."""
        plant, controller = self._plant, self._controller
        controller.reset()
        plant.force = np.zeros(3)
        self._measured = plant.reset(posture)
        self._run(SETTLE_S)
        if refusal := controller.guide():
            raise RuntimeError(refusal)
        self._run(FADE_S)
        tool, joints = plant.tool(), plant.position
        plant.force = force
        self._run(duration)
        if controller.mode is not Mode.GUIDING:
            # It moved faster than an arm may.
            return np.inf, np.inf
        far = np.linalg.norm(plant.tool() - tool)
        return float(far), float(np.max(np.abs(plant.position - joints)))

    def _run(self, duration: float) -> None:
        for _ in range(round(duration / self._plant.config.cycle)):
            state = self._measured
            command = self._controller.step(state.time, state.position, state.velocity)
            assert command is not None, self._controller.refusal
            self._controller.look_ahead()
            self._measured = self._plant.step(command.torque)


if __name__ == "__main__":
    sys.exit(main())
