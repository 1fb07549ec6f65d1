# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from ilr_dynamics.exceptions import InvalidParameterError, SnapshotError
from ilr_dynamics.learning.settings import (
    LearningSettings,
    load_compatible_snapshot,
    snapshot_metadata,
)
from ilr_dynamics.recording import BagLimits, SampleSettings
from ilr_dynamics.regression import ILR

SETTINGS = LearningSettings(("j1", "j2"), model={"n_components": 4})


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    return ILR(n_components=4).fit(rng.normal(size=(50, 6)), rng.normal(size=(50, 2)))


@pytest.fixture
def save(fitted, tmp_path):
    def save_with(**changes):
        path = tmp_path / "model.npz"
        fitted.save(path, {**snapshot_metadata(SETTINGS, []), **changes})
        return path

    return save_with


def test_settings_survive_json():
    settings = LearningSettings(
        ("a", "b"),
        True,
        "/arm/joint_states",
        None,
        {"n_components": 5, "input_scale": [1.0, 2.0]},
        SampleSettings(sample_rate=100.0, torque_limit=[1.0, 2.0]),
        BagLimits(max_memory=7),
        "wam4",
        gravity=(9.81, 0.0, 0.0),
        directories=("/data", "~/models"),
    )
    assert LearningSettings.from_json(json.loads(json.dumps(settings.to_json()))) == settings


@pytest.mark.parametrize(
    "values, message",
    [
        ({}, "incomplete LearningSettings: .*joint_names"),
        ({"joint_names": []}, "joint_names are"),
        ({"joint_names": ["a", "a"]}, "joint_names are"),
        ({"joint_names": "ab"}, "joint_names are 'ab'"),
        ({"joint_names": ["a"], "weight": True}, "unknown LearningSettings weight"),
        ({"joint_names": ["a"], "gravity": 9.81}, "gravity is 9.81; expected three numbers"),
        ({"joint_names": ["a"], "gravity": [0.0, 9.81]}, r"gravity is \(0.0, 9.81\)"),
        ({"joint_names": ["a"], "gravity": [0.0, 0.0, np.nan]}, "gravity is .*nan"),
        ({"joint_names": ["a"], "samples": {"window": 1}}, "unknown SampleSettings window"),
        (
            {"joint_names": ["a"], "driver_compensates_gravity": "no"},
            "driver_compensates_gravity is 'no'",
        ),
        ({"joint_names": ["a"], "directories": "/data"}, "directories are '/data'"),
        ({"joint_names": ["a"], "directories": [1]}, r"directories are \(1,\)"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(values, message):
    with pytest.raises(InvalidParameterError, match=message):
        LearningSettings.from_json(values)


def test_snapshot_of_this_arm_is_loaded(save, fitted):
    model = load_compatible_snapshot(save(recordings=["/data/run1"]), SETTINGS)
    np.testing.assert_array_equal(model.statistics_, fitted.statistics_)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"joint_names": ["j2", "j1"]}, r"\['j2', 'j1'\]; expected \['j1', 'j2'\]"),
        ({"joint_names": None}, r"joint_names = None; expected \['j1', 'j2'\]"),
        ({"driver_compensates_gravity": True}, "gravity = True; expected False"),
        (
            {"gravity": [9.81, 0.0, 0.0]},
            r"gravity = \[9.81, 0.0, 0.0\]; expected \[0.0, 0.0, -9.81\]",
        ),
        (
            {"units": {"position": "deg"}},
            "units = {'position': 'deg'}; expected {'position': 'rad'",
        ),
    ],
)
def test_snapshot_of_another_arm_is_refused_naming_both(save, changes, message):
    with pytest.raises(SnapshotError, match=message):
        load_compatible_snapshot(save(**changes), SETTINGS)


def test_snapshot_of_before_gravity_was_told_is_of_an_arm_that_stands(fitted, tmp_path):
    metadata = snapshot_metadata(SETTINGS, [])
    del metadata["gravity"]
    fitted.save(tmp_path / "old.npz", metadata)
    load_compatible_snapshot(tmp_path / "old.npz", SETTINGS)
    with pytest.raises(SnapshotError, match=r"gravity = \[0.0, 0.0, -9.81\]; expected"):
        load_compatible_snapshot(tmp_path / "old.npz", replace(SETTINGS, gravity=(0.0, 0.0, 9.81)))


def test_snapshot_of_another_size_is_refused(save):
    three = replace(SETTINGS, joint_names=("j1", "j2", "j3"))
    path = save(joint_names=["j1", "j2", "j3"])
    with pytest.raises(SnapshotError, match="maps 6 inputs to 2 outputs; expected 9 to 3"):
        load_compatible_snapshot(path, three)


@pytest.mark.parametrize("recordings", [3, [3], "run1"])
def test_snapshot_that_does_not_say_what_it_was_learned_from_is_refused(save, recordings):
    with pytest.raises(SnapshotError, match="was learned from .*; expected URIs"):
        load_compatible_snapshot(save(recordings=recordings), SETTINGS)


@pytest.mark.parametrize("uri", ["", "/nowhere/model.npz"])
def test_missing_snapshot_is_named(uri):
    with pytest.raises(SnapshotError, match=uri or "no URI"):
        load_compatible_snapshot(uri, SETTINGS)
