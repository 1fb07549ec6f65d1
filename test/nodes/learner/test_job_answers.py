# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Requests and answers of the learner's services; test_services.py has them in the node."""

import math
from dataclasses import replace

import pytest

from ilr_dynamics.exceptions import LearnerError
from ilr_dynamics.learning import LearningReport, Progressed
from ilr_dynamics.nodes.learner.job_answers import MAX_TEXT, check_texts, feedback, fill
from ilr_dynamics_msgs.action import Learn
from ilr_dynamics_msgs.srv import LoadSnapshot, SaveSnapshot, UpdateModel

LEARNED = LearningReport(
    components_before=3,
    components_after=5,
    samples_total=900,
    samples_used=700,
    rejected={"jump": 4, "saturated_torque": 1},
    error_before=[0.5, 0.25],
    error_after=[0.125, 0.25],
    learning_time=1.25,
    findings=["warning (delay): j1"],
    snapshot="/data/new.npz",
)


def filled(answer, report):
    fill(answer, report)
    return {name: getattr(answer, name) for name in answer.get_fields_and_field_types()}


@pytest.mark.parametrize("kind", [UpdateModel.Response, Learn.Result])
def test_a_model_that_was_learned_is_told_whole(kind):
    told = filled(kind(), LEARNED)
    arrays = ("rejection_counts", "newest_error_before", "newest_error_after")
    assert {name: list(told.pop(name)) for name in arrays} == {
        "rejection_counts": [4, 1],
        "newest_error_before": [0.5, 0.25],
        "newest_error_after": [0.125, 0.25],
    }
    assert told == {
        "success": True,
        "message": "learned from 700 samples in 1.2 s",
        "samples_used": 700,
        "samples_rejected": 5,
        "rejection_reasons": ["jump", "saturated_torque"],
        "components_before": 3,
        "components_after": 5,
        "learning_time": 1.25,
        "findings": ["warning (delay): j1"],
        "snapshot_uri": "/data/new.npz",
    }


def test_a_model_that_was_refused_is_told_with_why():
    told = filled(UpdateModel.Response(), replace(LEARNED, refusal="worse", snapshot=""))
    assert (told["success"], told["message"], told["snapshot_uri"]) == (False, "worse", "")
    assert told["samples_used"] == 700


def test_a_model_that_was_wanted_all_the_same_is_told_with_why_not():
    told = filled(Learn.Result(), replace(LEARNED, overridden="it is worse"))
    assert told["success"]
    assert told["message"] == "learned from 700 samples in 1.2 s, although it is worse"


def test_a_model_whose_inference_ended_early_is_told_with_how_far_it_got():
    told = filled(UpdateModel.Response(), replace(LEARNED, unsettled="it ended early"))
    assert told["success"]
    assert told["message"] == "learned from 700 samples in 1.2 s; it ended early"


def test_an_update_tells_what_has_changed():
    changed = "changed since the earlier samples: payload (99% forgotten) (log odds 12.0)"
    report = replace(LEARNED, change=changed, gains={"/data/a": 1.0})
    assert filled(UpdateModel.Response(), report)["message"] == (
        f"learned from 700 samples in 1.2 s; {changed}; "
        "gain in nats per effective sample: /data/a +1.00"
    )


def test_a_model_of_several_recordings_is_told_with_what_each_added():
    gains = {"/data/a": None, "/data/b": 1.234, "/data/c": -0.001}
    report = replace(LEARNED, gains=gains, notes=["/data/d is left out"])
    assert filled(UpdateModel.Response(), report)["message"] == (
        "learned from 700 samples in 1.2 s; /data/d is left out; "
        "gain in nats per effective sample: /data/a first, /data/b +1.23, /data/c -0.00"
    )
    only = filled(Learn.Result(), replace(LEARNED, gains={"/data/a": None}))
    assert only["message"] == "learned from 700 samples in 1.2 s"


def test_a_model_that_was_loaded_or_saved_is_told_with_its_path():
    report = LearningReport(components_after=5, samples_total=900, snapshot="/data/a.npz")
    assert filled(LoadSnapshot.Response(), report) == {
        "success": True,
        "message": "loaded /data/a.npz",
        "components": 5,
        "samples": 900,
    }
    assert filled(SaveSnapshot.Response(), report) == {
        "success": True,
        "message": "saved /data/a.npz",
        "snapshot_uri": "/data/a.npz",
    }


def test_progress_before_the_first_iteration_has_no_bound():
    message = feedback(Progressed("reading", 0.5, None))
    assert (message.stage, message.progress) == ("reading", 0.5)
    assert math.isnan(message.lower_bound)
    assert feedback(Progressed("learning", 0.5, -1.5)).lower_bound == -1.5


def test_a_text_that_is_too_long_is_refused_by_its_name():
    check_texts(UpdateModel.Request(bag_uri="x" * MAX_TEXT))
    with pytest.raises(LearnerError, match="snapshot_uri has 4097 characters: expected at most"):
        check_texts(Learn.Goal(snapshot_uri="x" * (MAX_TEXT + 1)))
