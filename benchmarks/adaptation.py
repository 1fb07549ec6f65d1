# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
An arm that changes, and one that does not: what an update forgets by itself.

A model is learned from eights, in three rounds, by the jobs that the node's learner runs, from
recordings. Then, each time from there:

- the arm has half a kilogram at its tool and twice the friction, and one recording of 30 s of it
  is learned: T1_after_update is the error on T1, beside that without the update
  (T1_after_change), with an update that forgets nothing, and of the arm's own inverse;
- the arm has not changed, and ten recordings are learned, of eights that it knows and of motions
  that it does not: T1_ratio_unchanged is the error on T1, over that of updates that forget
  nothing;
- the friction of one joint has doubled, and 30 s are learned: others_std_ratio is the largest
  deviation of any parameter that this joint's friction is no part of, over what it is if nothing
  is forgotten.

Results are kept in a folder; what was interrupted goes on where it was by --resume.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from _adaptation_figure import draw_errors
from _adaptation_runs import (
    feedforward_of,
    never_forgetting,
    record_bag,
    tracking_error,
    update,
)
from _changed_arm import changed_arm
from _closed_loop import N_ROUNDS, given_feedforward, training_paths
from _learners import node_learning_settings
from _live_session import add_folder_options, new_folder
from _plant_paths import plant_path
from _simulated_motion import Arm

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.control import FeedForward, JointPath, RigidBodyFeedForward
from ilr_dynamics.learning import LearningSettings
from ilr_dynamics.regression import load_snapshot
from ilr_dynamics.robot.change_groups import change_groups
from ilr_dynamics.robot.identified_dynamics import IdentifiedDynamics
from ilr_dynamics.robot.plant import WamPlant
from ilr_dynamics.robot.tool_paths import figure_eight, training_periods

ROBOT = "wam4"
PAYLOAD, FRICTION = 0.5, 2.0
SECONDS_OF_EACH = 6.0
SECONDS_UNCHANGED = 8.0
# The joint whose friction alone changes.
JOINT = 3
# Motions that the model has not learned.
ELSEWHERE = ("T2", "T3", "A", "R11", "R12")
Results = dict[str, Any]


class Session:
    """
    One arm, its recordings and its models.

    Parameters
    ----------
    seed
        Of the arm and of the model.
    folder
        Where all is kept.
    """

    def __init__(self, seed: int, folder: Path) -> None:
        self.seed, self.folder = seed, folder
        self.arm = Arm(seed, ROBOT)
        self.settings = node_learning_settings(self.arm, random_state=seed)
        folder.mkdir(parents=True, exist_ok=True)

    def kept(self, name: str, work: Callable[[], Results]) -> Results:
        """Results of some work, done now unless it was."""
        path = self.folder / f"{name}.json"
        if not path.exists():
            results = work()
            path.write_text(json.dumps(results))
            print(f"seed {self.seed}: {name}: {json.dumps(results)}", flush=True)
        return dict(json.loads(path.read_text()))

    def learned(
        self, name: str, recordings: Path, known: Path | None, *, adapt: bool = True
    ) -> tuple[Path, str]:
        """Model that was updated by recordings, and what the update said of a change."""
        settings: LearningSettings = self.settings if adapt else never_forgetting(self.settings)
        target, said = self.folder / f"{name}.npz", self.folder / f"{name}.txt"
        report = update(recordings, settings, known, target)
        if report is not None:
            said.write_text(report.change)
        return target, said.read_text()

    def base(self) -> Path:
        """Model of the arm as it is."""
        feedforward: FeedForward = RigidBodyFeedForward(self.arm.model)
        model: Path | None = None
        for number in range(N_ROUNDS):
            recordings = self.folder / f"round_{number}"
            recordings.mkdir(exist_ok=True)
            for index, path in enumerate(training_paths(self.arm)):
                record_bag(recordings / f"eight_{index}", self.arm, feedforward, [path])
            model, _ = self.learned(f"model_{number}", recordings, model)
            feedforward = feedforward_of(model)
        assert model is not None
        return model

    def of_changed_arm(self, base: Path) -> Results:
        """Half a kilogram and twice the friction."""
        folder = self.folder
        arm = changed_arm(self.seed, ROBOT, payload=PAYLOAD, friction=FRICTION, folder=folder)
        record_bag(folder / "changed", arm, feedforward_of(base), _half_a_minute(arm))
        model, said = self.learned("model_changed", folder / "changed", base)
        never, _ = self.learned("model_never", folder / "changed", base, adapt=False)
        return {
            "T1_before": tracking_error(self.arm, feedforward_of(base)),
            "T1_after_change": tracking_error(arm, feedforward_of(base)),
            "T1_after_update": tracking_error(arm, feedforward_of(model)),
            "T1_forgetting_nothing": tracking_error(arm, feedforward_of(never)),
            "T1_own_inverse": tracking_error(arm, given_feedforward("perfect_pd", arm)),
            "said": said,
        }

    def of_unchanged_arm(self, base: Path) -> Results:
        """Ten recordings of the arm as it was."""
        feedforward = feedforward_of(base)
        paths = [*_half_a_minute(self.arm), *(plant_path(name, self.arm) for name in ELSEWHERE)]
        errors, changes = [], []
        for adapt in (True, False):
            model = base
            for number, path in enumerate(paths):
                bag = self.folder / f"unchanged_{number}"
                record_bag(bag, self.arm, feedforward, [path], SECONDS_UNCHANGED)
                name = f"model_unchanged_{number}_{'adapt' if adapt else 'never'}"
                model, said = self.learned(name, bag, model, adapt=adapt)
                changes += [said] if "nothing" not in said and adapt else []
            errors.append(tracking_error(self.arm, feedforward_of(model)))
        return {"T1_adapting": errors[0], "T1_never": errors[1], "false_alarms": changes}

    def of_one_joint(self, base: Path) -> Results:
        """Twice the friction of one joint."""
        arm = Arm(self.seed, ROBOT)
        usual = arm.plant.config.friction
        factor = np.where(np.arange(arm.description.n_joints) == JOINT, FRICTION, 1.0)
        rough = replace(usual, dry=factor * usual.dry, viscous=factor * usual.viscous)
        config = replace(arm.plant.config, friction=rough)
        arm.plant = WamPlant(arm.description, config, seed=self.seed)
        bag = self.folder / "one_joint"
        record_bag(bag, arm, feedforward_of(base), _half_a_minute(arm))
        adapting, said = self.learned("model_one_joint", bag, base)
        never, _ = self.learned("model_one_joint_never", bag, base, adapt=False)
        dynamics, of_never, before = (_dynamics(path) for path in (adapting, never, base))
        own = _friction_of(JOINT, dynamics)
        others = np.setdiff1d(np.arange(len(dynamics.parameters)), own)
        std, std_of_never, std_before = (
            _deviations(of)[others] for of in (dynamics, of_never, before)
        )
        return {
            "said": said,
            "others_std_ratio": float(np.max(std / std_of_never)),
            "others_std_ratio_to_before": float(np.max(std / std_before)),
            "T1_after_update": tracking_error(arm, feedforward_of(adapting)),
            "T1_forgetting_nothing": tracking_error(arm, feedforward_of(never)),
        }


def main() -> int:
    """Run what is missing; print what there is."""
    options = _options()
    folder = options.resume or new_folder(options, "adaptation")
    folder.mkdir(parents=True, exist_ok=True)
    print(f"results are kept in {folder}", flush=True)
    of_seeds = [_of_seed(seed, folder) for seed in options.seeds]
    changed, one_joint, unchanged = zip(*of_seeds, strict=True)
    summary = {
        "benchmark": "adaptation",
        "seeds": options.seeds,
        **{
            name: _rounded(_worst([of[name] for of in changed]))
            for name in changed[0]
            if name != "said"
        },
        "T1_ratio_unchanged": _rounded(_worst([_ratio(of) for of in unchanged])),
        "false_alarms": sum(len(of["false_alarms"]) for of in unchanged),
        "others_std_ratio": _rounded(_worst([of["others_std_ratio"] for of in one_joint])),
        "others_std_ratio_to_before": _rounded(
            _worst([of["others_std_ratio_to_before"] for of in one_joint])
        ),
        "said": [[of["said"] for of in (a, b)] for a, b in zip(changed, one_joint, strict=True)],
    }
    options.figures.mkdir(parents=True, exist_ok=True)
    draw_errors(options.figures / f"adaptation_{ROBOT}.png", changed[0])
    print(json.dumps(summary))
    return 0


def _of_seed(seed: int, folder: Path) -> tuple[Results, Results, Results]:
    session = Session(seed, folder / f"seed_{seed}")
    base = session.base()
    return (
        session.kept("changed", lambda: session.of_changed_arm(base)),
        session.kept("one_joint", lambda: session.of_one_joint(base)),
        session.kept("unchanged", lambda: session.of_unchanged_arm(base)),
    )


def _half_a_minute(arm: Arm) -> list[JointPath]:
    return [
        arm.joint_path(replace(figure_eight(period), duration=SECONDS_OF_EACH))
        for period in training_periods()
    ]


def _dynamics(snapshot: Path) -> IdentifiedDynamics:
    dynamics = load_snapshot(snapshot).global_model_
    assert isinstance(dynamics, IdentifiedDynamics)
    return dynamics


def _deviations(dynamics: IdentifiedDynamics) -> FloatArray:
    """Deviations (P,) of the parameters, with scales of the prior that are the same for all."""
    alike = replace(dynamics, prior_scales=np.ones_like(dynamics.prior_scales))
    return np.sqrt(np.diagonal(np.linalg.inv(alike.parameter_precision)))


def _friction_of(joint: int, dynamics: IdentifiedDynamics) -> IndexArray:
    """Indices of the parameters that are friction of one joint."""
    parameters = dynamics.parameters
    groups = change_groups(dynamics.motors, dynamics.tool, parameters, np.ones_like(parameters))
    return groups[1 + joint].parameters


def _ratio(unchanged: Results) -> float | None:
    adapting, never = unchanged["T1_adapting"], unchanged["T1_never"]
    return None if adapting is None or never is None else adapting / never


def _worst(values: list[float | None]) -> float | None:
    """Largest value; None if one run ended in a fault."""
    known = [value for value in values if value is not None]
    return max(known) if len(known) == len(values) else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--seeds", type=int, nargs="+", default=[0], help="of the arms (%(default)s)"
    )
    parser.add_argument(
        "--resume", type=Path, metavar="FOLDER", help="go on with what an earlier run kept there"
    )
    add_folder_options(parser)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
