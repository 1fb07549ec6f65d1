# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
An arm that changes: how soon that is noticed, what it is taken for, and false alarms.

A model is learned as in the payload benchmark. Then the arm follows T1, and after 20 s something
changes of which the controller knows nothing: friction of one joint doubles, 0.5 kg is fixed to
the tool, one joint gets an offset of torque, or all torques act 40 ms later. Besides, friction of
all joints grows by 30 % over half an hour, and an hour (and some minutes of T2 and T3, which no
model learned either) passes in which nothing changes.

alarm_s is the time until the model no longer fits, named_s until joint and kind are right, both
from the change on; wrong names those that were wrong at the end. For friction that grows, either
time is from its start.

Results of each run are kept in a folder; what was interrupted goes on where it was by --resume.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from _drift_arm import ChangingArm
from _drift_figure import draw_warming
from _drift_runs import Seen, observed
from _kept_runs import KeptRuns, Results
from _live_session import add_folder_options, new_folder
from _payload_arm import draw_payload

from ilr_dynamics.control import FeedForward

BEFORE_S, AFTER_S = 20.0, 90.0
PAYLOAD, DELAY_CYCLES = 0.5, 20
# Of a joint's largest torque.
OFFSET = 0.02
WARMER, WARMING_S = 1.3, 1800.0
UNCHANGED_S, ELSEWHERE_S = 3600.0, 300.0
TIMED_S = 30.0
FRICTION = ("viscous", "dry")


def main() -> int:
    """Run what is missing; print what there is."""
    options = _options()
    folder = options.resume or new_folder(options, "drift")
    folder.mkdir(parents=True, exist_ok=True)
    print(f"results are kept in {folder}", flush=True)
    summary: Results = {"benchmark": "drift"}
    for robot in options.robots:
        summary[robot] = _of_arm(robot, options, folder)
    print(json.dumps(summary))
    return 0


def _of_arm(robot: str, options: argparse.Namespace, folder: Path) -> Results:
    seed = options.seed
    arm = ChangingArm(seed, robot)
    kept = KeptRuns(folder, f"{robot}_{seed}")
    feedforward = kept.feedforward(arm)
    changes = {
        name: kept(name, partial(_changed, robot, seed, feedforward, name, folder))
        for name in _names(arm)
    }
    warming = kept("warming", partial(_warming, robot, seed, feedforward))
    # At once: the simulated arm does the same again if it begins anew.
    quiet = {"T1": kept("quiet_T1", partial(_quiet, arm, feedforward, "T1", options.unchanged))}
    for path in ("T2", "T3"):
        seconds = min(ELSEWHERE_S, options.unchanged)
        quiet[path] = kept(f"quiet_{path}", partial(_quiet, arm, feedforward, path, seconds))
    costs = kept("costs", partial(_costs, arm, feedforward))
    _print(robot, changes, warming, quiet)
    options.figures.mkdir(parents=True, exist_ok=True)
    draw_warming(options.figures / f"drift_{robot}.png", robot, warming, WARMER)
    return {**_summary(changes, warming, quiet), **costs}


def _names(arm: ChangingArm) -> list[str]:
    joints = arm.description.joint_names
    return [
        *(f"friction_{joint}" for joint in joints),
        *(f"offset_{joint}" for joint in joints),
        "payload",
        "delay",
    ]


def _changed(robot: str, seed: int, feedforward: FeedForward, name: str, folder: Path) -> Results:
    """One change after some time in which there was none."""
    arm = ChangingArm(seed, robot)
    joints = arm.description.joint_names
    kind, _, joint = name.partition("_")
    payload = draw_payload(PAYLOAD, np.random.default_rng([seed, 500]))

    def change() -> None:
        plant = arm.plant
        if kind == "friction":
            plant.rub(1.0 + arm.of_joint(joints.index(joint), 1.0))
        elif kind == "offset":
            largest = arm.description.torque_limit[joints.index(joint)]
            plant.offset = arm.of_joint(joints.index(joint), OFFSET * largest)
        elif kind == "payload":
            plant.load(payload, folder)
        else:
            plant.delay = DELAY_CYCLES

    done = False

    def at(seconds: float) -> None:
        nonlocal done
        if seconds >= BEFORE_S and not done:
            done = True
            change()

    right = {
        "friction": lambda named: named in {(joint, each) for each in FRICTION},
        "offset": lambda named: named == (joint, "offset"),
        "payload": lambda named: named == ("payload", "payload"),
        "delay": lambda named: named[1] == "delay",
    }[kind]
    seen = observed(arm, feedforward, "T1", BEFORE_S + AFTER_S, at)
    return _verdict(seen, BEFORE_S, right)


def _warming(robot: str, seed: int, feedforward: FeedForward) -> Results:
    """Friction of all joints that grows bit by bit."""
    arm = ChangingArm(seed, robot)
    last = -1.0

    def at(seconds: float) -> None:
        nonlocal last
        if seconds >= last + 1.0:
            last = seconds
            share = min(max(seconds, 0.0) / WARMING_S, 1.0)
            factor = 1.0 + (WARMER - 1.0) * share
            arm.plant.rub(np.full(arm.description.n_joints, factor))

    seen = observed(arm, feedforward, "T1", WARMING_S, at)
    results = _verdict(seen, 0.0, lambda named: named[1] in FRICTION)
    for joint in arm.description.joint_names:
        named = {(joint, kind) for kind in FRICTION}
        results[f"named_{joint}"] = _first(
            seen, lambda all_, named=named: not named.isdisjoint(all_)
        )
    return {
        **results,
        "times": np.round(seen.times, 1).tolist(),
        "residuals": seen.residuals,
        "outside": seen.outside,
        "joints": list(arm.description.joint_names),
    }


def _quiet(arm: ChangingArm, feedforward: FeedForward, path: str, seconds: float) -> Results:
    seen = observed(arm, feedforward, path, seconds, lambda at: None)
    alarms = sum(
        bool(now) and not before
        for before, now in zip([[], *seen.named[:-1]], seen.named, strict=True)
    )
    return {
        "seconds": seconds,
        "alarms": alarms,
        "texts": seen.texts,
        "largest_residual": float(np.max(seen.residuals)),
        "largest_outside": float(np.max(seen.outside)),
    }


def _costs(arm: ChangingArm, feedforward: FeedForward) -> Results:
    seen = observed(arm, feedforward, "T1", TIMED_S, lambda at: None, is_timed=True)
    costs = 1e6 * np.array(seen.costs)
    return {
        "us_per_cycle": float(costs.mean()),
        "us_of_the_longest_in_a_thousand": float(np.quantile(costs, 0.999)),
    }


def _verdict(seen: Seen, start: float, right: Callable[[tuple[str, str]], bool]) -> Results:
    before = [named for at, named in zip(seen.times, seen.named, strict=True) if at < start]
    alarm = _first(seen, bool, start)
    named = _first(seen, lambda all_: any(map(right, all_)), start)
    return {
        "alarm_s": None if alarm is None else alarm - start,
        "named_s": None if named is None else named - start,
        "wrong": [" ".join(name) for name in seen.named[-1] if not right(name)],
        "alarms_before": sum(map(bool, before)),
        "texts": seen.texts,
        "outside_at_the_end": seen.outside[-1],
    }


def _first(
    seen: Seen, is_so: Callable[[list[tuple[str, str]]], bool], start: float = 0.0
) -> float | None:
    found = zip(seen.times, seen.named, strict=True)
    return next((round(at, 1) for at, named in found if at >= start and is_so(named)), None)


def _print(robot: str, changes: Results, warming: Results, quiet: Results) -> None:
    print(f"\n{robot}: time until noticed and until rightly named, s; wrong at the end; report")
    for name, found in {**changes, "warming": warming}.items():
        texts = found["texts"]
        cells = [str(found[key]) for key in ("alarm_s", "named_s")]
        wrong = ", ".join(found["wrong"]) or "-"
        print(f"{name:>14} {cells[0]:>8} {cells[1]:>8}  {wrong:<16} {texts[-1] if texts else ''}")
    for path, found in quiet.items():
        print(
            f"{path:>14} {found['seconds']:g} s unchanged: {found['alarms']} alarms, residual at "
            f"most {found['largest_residual']:.2f} predicted deviations"
        )


def _summary(changes: Results, warming: Results, quiet: Results) -> Results:
    return {
        "false_alarms": sum(found["alarms"] for found in quiet.values())
        + sum(found["alarms_before"] for found in changes.values()),
        "hours_unchanged": round(sum(found["seconds"] for found in quiet.values()) / 3600.0, 3),
        "warming_named_s": warming["named_s"],
        "warming_wrong": warming["wrong"],
        **{f"{name}_named_s": found["named_s"] for name, found in changes.items()},
        "wrong_at_the_end": sum(len(found["wrong"]) for found in changes.values()),
    }


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    robots = ("wam4", "wam7")
    parser.add_argument(
        "--robots", nargs="+", choices=robots, default=["wam4"], help="(%(default)s)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of arm and payload (%(default)s)")
    parser.add_argument(
        "--unchanged",
        type=float,
        default=UNCHANGED_S,
        help="time in which nothing happens, s (%(default)s)",
    )
    parser.add_argument(
        "--resume", type=Path, metavar="FOLDER", help="go on with what an earlier run kept there"
    )
    add_folder_options(parser)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
