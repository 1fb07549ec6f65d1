# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The arm with seven joints as config/wam7.yaml has it: simulated, in lock-step, without ROS."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ilr_dynamics.control import JointPath, RigidBodyFeedForward, TrackingController, track
from ilr_dynamics.learning import learn
from ilr_dynamics.nodes.parameter_file import read_parameter_file
from ilr_dynamics.nodes.settings import ControlSettings, learning_settings
from ilr_dynamics.recording import Recording, training_samples
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.plant import WamPlant
from ilr_dynamics.robot.plant_config import load_plant_config
from ilr_dynamics.robot.rigid_body import RigidBodyModel
from ilr_dynamics.robot.tool_paths import joint_path, tool_path

CONFIG = Path(__file__).parents[2] / "config" / "wam7.yaml"
ARM = load_description("wam7")
MODEL = RigidBodyModel(ARM)
PHYSICS = RigidBodyFeedForward(MODEL)
KNOT_RATE = 50.0

VALUES = read_parameter_file(CONFIG, "/inverse_dynamics")


def controller(kind, predictor=None):
    settings = ControlSettings.from_values({**VALUES, "controller": kind}, ARM)
    return TrackingController(
        settings.limits,
        settings.gains,
        settings.supervision,
        settings.feedforward(PHYSICS, predictor),
        PHYSICS,
        period=1.0 / VALUES["rate"],
    )


def path(name, seconds):
    motion = joint_path(tool_path(name), MODEL, KNOT_RATE)
    return JointPath(*(field[: round(KNOT_RATE * seconds) + 1] for field in motion))


@pytest.fixture(scope="module")
def plant():
    return WamPlant(ARM, load_plant_config("wam7"), seed=0)


@pytest.mark.parametrize("name", ["T1", "T2", "T3"])
def test_published_inertials_track_far_better_than_the_pd_alone(plant, name):
    pd, analytic = (track(plant, controller(kind), path(name, 4.0)) for kind in ("pd", "analytic"))
    assert pd.mean_squared_error > 5.0 * analytic.mean_squared_error
    assert pd.mean_pd_torque > 2.0 * analytic.mean_pd_torque
    errors = [np.mean((run.desired - run.position) ** 2, axis=0) for run in (pd, analytic)]
    # What is left in the wrist is friction, which published inertials do not know.
    assert (errors[0] > 0.8 * errors[1]).all()


def test_settings_of_the_file_make_a_model_of_the_arm(plant):
    """Prediction along a motion never seen: of friction, published inertials know nothing.

    The last bit of a torque decides when a joint that sticks breaks loose, and so what is
    recorded. Errors are therefore told in units of what friction is there in the simulated arm.
    """
    settings = learning_settings({**VALUES, "learning.n_components": 20})

    def samples(name, seconds):
        run = track(plant, controller("analytic"), path(name, seconds))
        return training_samples(recording(run), replace(settings.samples, sample_rate=50.0))

    one, other = samples("train_3.8", 6.0), samples("train_3", 6.0)
    both = {
        name: np.concatenate([getattr(one, name), getattr(other, name)])
        for name in ("time", "X", "Y")
    }
    model, _ = learn(replace(one, **both), settings)
    unseen = samples("T1", 4.0)
    published = np.array([MODEL.inverse_dynamics(*np.split(x, 3)) for x in unseen.X])
    learned = model.predict(unseen.X)
    position, velocity, _ = np.split(unseen.X, 3, axis=1)
    friction = plant.config.friction
    moves = np.abs(velocity) > 0.03
    # Joint 2 sticks all the time, or nearly so; the others move in 44 to 73 % of the samples.
    often = moves.mean(axis=0) > 0.25
    assert often.tolist() == [True, False, True, True, True, True, True]

    def shares(error, of, where):
        return np.sqrt(np.sum(where * error**2, axis=0) / np.sum(where * of**2, axis=0))

    slips = friction.smooth_torque(position, velocity, published, width=1e-3)[:, often]
    of_published, of_learned = (
        shares((unseen.Y - torque)[:, often], slips, moves[:, often])
        for torque in (published, learned)
    )
    assert (of_published > 0.75).all()
    # At velocities that were measured and smoothed, even the simulated arm's own law of friction
    # leaves up to 0.43 of it, in joint 7: that is what can be told from such samples.
    assert (of_learned < 0.5).all()
    assert np.sqrt(np.mean(of_learned**2)) < 0.25
    # A joint that sticks carries any torque up to its friction at rest, and nobody can tell which.
    holds = friction.dry_level(position, np.zeros_like(position), published)
    assert (shares(unseen.Y - learned, holds, ~moves) < 1.0).all()
    controller("ilr", model.predictor()).step(0.0, unseen.X[0, :7], unseen.X[0, 7:14])


def recording(result):
    return Recording(
        joint_names=ARM.joint_names,
        stamp=np.round(1e9 * result.time).astype(np.int64),
        position=result.position,
        velocity=result.velocity,
        torque=result.torque,
        commanded=True,
        driver_compensates_gravity=False,
        rejected=Counter(),
    )
