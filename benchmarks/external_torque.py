# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
External torque: false alarms in an hour of free motion, and the smallest push that is found.

The arm learns from its own eights. Then it tracks other motions with the learned model, in
lock-step, while nothing touches it, and each contact that is found is a false alarm. The momentum
observer has the same model; its thresholds are the largest residuals of this very hour, one a
joint, so that it has no alarm: as good as they can be chosen. Then at drawn times of further
motions a torque pushes at one joint: the smallest step that is found within 50 ms, by bisection.

An hour of motion takes many minutes. With --keep, what was measured is kept minute by minute and
joint by joint, and another run goes on from there.
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from _external_torque_figure import draw_pushes
from _free_motion import free_motions
from _kept_runs import KeptRuns, Results
from _learned_arm import learned_predictor
from _learners import node_settings
from _momentum_observer import MomentumObserver
from _pushed_plant import PushedPlant
from _simulated_motion import Arm

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.cli.table import format_table
from ilr_dynamics.control import (
    JointPath,
    Mode,
    RigidBodyFeedForward,
    TrackingController,
)
from ilr_dynamics.control.external_torque import ExternalTorqueObserver, PredictedTorque
from ilr_dynamics.control.feedforward import Predictor
from ilr_dynamics.exceptions import TrajectoryError
from ilr_dynamics.robot.plant_config import load_plant_config

# Joint states for each look, as the node has it; bandwidths of the momentum observer, 1/s.
EVERY, GAINS = 5, (20.0, 40.0, 80.0)
HELD_S, FOUND_S = 1.0, 0.05
BISECTIONS = 9
# Alarms that follow each other so fast are one, s.
ONE_ALARM_S = 0.5
# Of the picture: when pushes begin, how long each joint has, s, and their share of its limit.
SHOWN_FROM_S, SHOWN_EACH_S, SHOWN_PUSH = 3.0, 2.0, 0.08
Keep = Callable[[str, Callable[[], Results]], Results]
OBSERVERS = ("external torque", *(f"momentum observer, K = {gain:g}/s" for gain in GAINS))


def main() -> int:
    """Learn, look, push; print tables and a line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--robot", default="wam4", choices=("wam4", "wam7"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=1, help="of recordings of all eights")
    parser.add_argument("--snapshot", help="model of this arm, learned if it is not there")
    parser.add_argument("--minutes", type=float, default=60.0, help="of free motion")
    parser.add_argument("--keep", type=Path, help="folder of what was measured, to go on with")
    parser.add_argument("--pushes", type=int, default=20, help="of each joint")
    parser.add_argument("--figure", type=Path, help="picture of some pushes to draw")
    options = parser.parse_args()
    arm = Arm(options.seed, options.robot)
    predictor = learned_predictor(arm, options.seed, options.rounds, options.snapshot)
    rig = Rig(arm, options.seed, predictor)
    has_tests = options.seed < 101
    motions = free_motions(arm, options.seed, test_paths=has_tests)
    if options.figure:
        draw_pushes(
            options.figure,
            options.robot,
            arm.description.joint_names,
            _some_pushes(rig, next(motions)),
        )
        motions = free_motions(arm, options.seed, test_paths=has_tests)
    keep: Keep = _keep_nothing
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
        keep = KeptRuns(options.keep, f"{options.robot}_{options.seed}")
    free = _free_motion(rig, motions, 60.0 * options.minutes, keep)
    rig.largest = free["largest residual"]
    pushes = {}
    for j, joint in enumerate(arm.description.joint_names):
        # Other motions than before.
        other = free_motions(arm, options.seed + 1000 * (j + 1), test_paths=has_tests)
        random = np.random.default_rng([options.seed, 27, j])
        work = partial(_smallest_pushes, rig, other, j, options.pushes, random)
        pushes[joint] = keep(f"{options.minutes:g}_minutes_{options.pushes}_pushes_{joint}", work)
    rows = [
        {"joint": joint}
        | {
            f"{name}, {share} [Nm]": round(float(np.quantile(found[name], quantile)), 2)
            for name in OBSERVERS
            for share, quantile in (("half", 0.5), ("nine of ten", 0.9))
        }
        for joint, found in pushes.items()
    ]
    print(
        f"{free['alarms']} false alarms in {free['minutes']:.1f} min of free motion; largest "
        f"torques, in thresholds: {free['largest share']}; {free['cost']} us a cycle for the "
        f"external torque; {free['speed']} times real time\n"
    )
    print(format_table(list(rows[0]), [list(map(str, row.values())) for row in rows]))
    report = {
        "robot": options.robot,
        "seed": options.seed,
        "minutes": free["minutes"],
        "false_alarms": free["alarms"],
        "largest_share": free["largest share"],
        "quantile": rig.quantile,
        "cost_us": free["cost"],
        "smallest_push_nm": rows,
    }
    print(json.dumps({"benchmark": "external_torque", **report}))
    return 0


class Rig:
    """A simulated arm that is tracked, with both observers."""

    def __init__(self, arm: Arm, seed: int, predictor: Predictor) -> None:
        self._settings = node_settings(arm, "ilr")
        self._physics = RigidBodyFeedForward(arm.model)
        self._feedforward = self._settings.feedforward(self._physics, predictor)
        self._predictor, self._expected = predictor, PredictedTorque(predictor)
        self.plant = PushedPlant(arm.model, load_plant_config(arm.description.name), seed)
        self.n_joints = arm.description.n_joints
        self.largest: FloatArray = np.zeros((len(GAINS), self.n_joints))
        self.cost = 0.0
        # Models do not change, and are not copied.
        self._shared = (
            self._settings,
            self._physics,
            self._feedforward,
            predictor,
            self._expected,
            arm,
        )

    def start(self, path: JointPath) -> None:
        """Put the arm at the beginning of a path."""
        settings, plant = self._settings, self.plant
        period = plant.config.cycle
        self._controller = TrackingController(
            settings.limits,
            settings.gains,
            settings.supervision,
            self._feedforward,
            self._physics,
            period=period,
        )
        self._observer = ExternalTorqueObserver(
            settings.limits.torque, settings.least_std, period, EVERY, 1.0
        )
        self.quantile = self._observer.quantile
        self._momentum = MomentumObserver(self._torque, GAINS, period, EVERY)
        self._last: FloatArray = np.zeros(self.n_joints)
        self._path, self._moving = path, False
        plant.push = np.zeros(self.n_joints)
        self._measured = plant.reset(path.positions[0])

    def step(self) -> bool:
        """Go on by a cycle; False at the end of the path."""
        state, controller = self._measured, self._controller
        if not self._moving and state.time >= HELD_S - 1e-9:
            controller.set_trajectory(self._path, state.time - self._path.start)
            self._moving = True
        command = controller.step(state.time, state.position, state.velocity)
        if command is None or command.mode is Mode.FAULT:
            raise TrajectoryError(f"at {state.time:.2f} s: {controller.fault}")
        began = time.thread_time()
        self.found = self._observer.add(command, None, self._expected)
        self.cost += time.thread_time() - began
        self.residual = self._momentum.add(state.position, state.velocity, self._last)
        self._last = state.torque
        self._measured = self.plant.step(command.torque)
        controller.look_ahead()
        return not self._moving or command.mode is Mode.TRACKING

    def copy(self) -> Rig:
        """The arm and all that follows it, as they are now."""
        return copy.deepcopy(self, {id(part): part for part in self._shared})

    def finds(self, observer: int, joint: int, push: float) -> bool:
        """Whether a push from now on is found in time; nothing changes."""
        rig = self.copy()
        rig.plant.push = push * np.eye(self.n_joints)[joint]
        for _ in range(round(FOUND_S / self.plant.config.cycle)):
            try:
                rig.step()
            except TrajectoryError:
                # Nobody misses that.
                return True
            if observer == 0:
                if rig.found is not None and rig.found.contact:
                    return True
            elif (np.abs(rig.residual) > rig.largest)[observer - 1].any():
                return True
        return False

    def _torque(
        self, position: FloatArray, velocity: FloatArray, acceleration: FloatArray
    ) -> FloatArray:
        return self._predictor.query(np.concatenate((position, velocity, acceleration))).mean


def _keep_nothing(_: str, work: Callable[[], Results]) -> Results:
    return work()


def _free_motion(
    rig: Rig, motions: Iterator[JointPath], duration: float, keep: Keep
) -> dict[str, Any]:
    """False alarms of the external torque, and the largest residuals of the other."""
    parts: list[Results] = []
    time_s = 0.0
    while time_s < duration:
        work = partial(_one_free_motion, rig, next(motions))
        parts.append(keep(f"free_{len(parts)}", work))
        time_s += parts[-1]["time"]
        alarms = sum(part["alarms"] for part in parts)
        print(f"external torque: {time_s / 60.0:.1f} min, {alarms} alarms", file=sys.stderr)
    n_cycles = time_s / rig.plant.config.cycle
    return {
        "minutes": round(time_s / 60.0, 2),
        "alarms": alarms,
        "largest share": np.max([part["shares"] for part in parts], axis=0).round(3).tolist(),
        "largest residual": np.max([part["residuals"] for part in parts], axis=0),
        "cost": round(1e6 * sum(part["cost"] for part in parts) / n_cycles, 2),
        "speed": round(time_s / sum(part["taken"] for part in parts), 1),
    }


def _one_free_motion(rig: Rig, path: JointPath) -> Results:
    """The same of one motion, and the processor's time, s, of all and of the external torque."""
    began, cost = time.thread_time(), rig.cost
    largest, shares = np.zeros_like(rig.largest), np.zeros(rig.n_joints)
    alarms = cycles = 0
    rig.start(path)
    last_alarm, going = -np.inf, True
    while going:
        going = rig.step()
        cycles += 1
        largest = np.maximum(largest, np.abs(rig.residual))
        found = rig.found
        if found is None:
            continue
        shares = np.maximum(shares, np.abs(found.torque) / found.threshold)
        if found.contact:
            alarms += int(found.time - last_alarm > ONE_ALARM_S)
            last_alarm = found.time
    return {
        "time": cycles * rig.plant.config.cycle,
        "alarms": alarms,
        "shares": shares.tolist(),
        "residuals": largest.tolist(),
        "cost": rig.cost - cost,
        "taken": time.thread_time() - began,
    }


def _smallest_pushes(
    rig: Rig, motions: Iterator[JointPath], joint: int, n: int, random: np.random.Generator
) -> dict[str, list[float]]:
    """Smallest torque on a joint that each observer finds in time, at n times, Nm."""
    found: dict[str, list[float]] = {name: [] for name in OBSERVERS}
    largest = 0.5 * float(rig.plant.description.torque_limit[joint])
    while len(found[OBSERVERS[0]]) < n:
        rig.start(next(motions))
        until, going = random.uniform(1.0, 2.0), True
        while going and len(found[OBSERVERS[0]]) < n:
            going = rig.step()
            until -= rig.plant.config.cycle
            if until > 0.0 or not going:
                continue
            until = random.uniform(2.0, 8.0)
            sign = random.choice([-1.0, 1.0])
            for observer, name in enumerate(OBSERVERS):
                low, high = 0.0, largest
                for _ in range(BISECTIONS):
                    push = 0.5 * (low + high)
                    low, high = (
                        (low, push) if rig.finds(observer, joint, sign * push) else (push, high)
                    )
                found[name].append(high)
    print(f"external torque: joint {joint + 1} of {rig.n_joints}", file=sys.stderr)
    return found


def _some_pushes(rig: Rig, path: JointPath) -> dict[str, FloatArray]:
    """External torques while a push at each joint comes and goes."""
    rig.start(path)
    limit, n = rig.plant.description.torque_limit, rig.n_joints
    rows = []
    for cycle in range(round((SHOWN_FROM_S + SHOWN_EACH_S * n) / rig.plant.config.cycle)):
        since = cycle * rig.plant.config.cycle - SHOWN_FROM_S
        joint, within = divmod(since, SHOWN_EACH_S)
        push = SHOWN_PUSH * limit * (np.arange(n) == joint) * (within < 0.5 * SHOWN_EACH_S)
        rig.plant.push = push if since >= 0.0 else np.zeros(n)
        rig.step()
        if rig.found is not None and since >= -0.5:
            # What pushed at the time that the estimate is of.
            rows.append((rig.found.time, rig.found.torque, rig.found.threshold, rig.plant.push))
    names = ("time", "torque", "threshold", "push")
    return {
        name: np.array(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)
    }


if __name__ == "__main__":
    sys.exit(main())
