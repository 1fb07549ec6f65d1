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
from ilr_dynamics.nodes.control_settings import ControlSettings
from ilr_dynamics.nodes.learning_parameters import learning_settings
from ilr_dynamics.nodes.parameter_file import read_parameter_file
from ilr_dynamics.recording import Recording, concatenate, training_samples
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
    """Prediction along a motion never seen: of friction, published inertials know nothing."""
    settings = learning_settings({**VALUES, "learning.n_components": 20})

    def samples(name, seconds):
        run = track(plant, controller("analytic"), path(name, seconds))
        return training_samples(recording(run), replace(settings.samples, sample_rate=50.0))

    model, _ = learn(concatenate([samples("train_3.8", 6.0), samples("train_3", 6.0)]), settings)
    unseen = samples("T1", 4.0)
    published = [MODEL.inverse_dynamics(*np.split(x, 3)) for x in unseen.X]
    # A joint that sticks, as joint 2 does all the time, carries any torque up to its friction.
    moves = np.abs(unseen.X[:, 7:14]) > 0.03
    squares = [(unseen.Y - Y) ** 2 for Y in (published, model.predict(unseen.X))]
    of_all = np.mean(squares, axis=1)
    assert (of_all[0] > of_all[1]).all()
    moving = [j for j in range(7) if moves[:, j].any()]
    assert moving == [0, 2, 3, 4, 5, 6]
    for j in moving:
        of_joint = [np.mean(square[moves[:, j], j]) for square in squares]
        assert of_joint[0] > 20.0 * of_joint[1], j
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
