# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import json

import pytest

from ilr_dynamics.exceptions import IlrDynamicsError
from ilr_dynamics.learning import (
    Failed,
    LearningReport,
    LearningSettings,
    LoadJob,
    Progressed,
    SaveJob,
    UpdateJob,
)
from ilr_dynamics.learning.protocol import decode_event, decode_job, encode_event, encode_job

SETTINGS = LearningSettings(("j1",))


@pytest.mark.parametrize(
    "job",
    [
        UpdateJob("/data/run 1", "/tmp", SETTINGS, "/tmp/old.npz", "/data/new.npz"),
        UpdateJob("/data/Läufe\n", "/tmp", SETTINGS),
        LoadJob("/data/model.npz", "/tmp", SETTINGS),
        SaveJob("/tmp/model.npz", "/data/model.npz", SETTINGS, overwrite=True),
    ],
)
def test_jobs_survive_their_line(job):
    line = encode_job(job)
    assert "\n" not in line
    assert decode_job(line) == job


REPORT = LearningReport(
    components_before=3,
    components_after=5,
    samples_total=900,
    samples_used=700,
    rejected={"jump": 4, "saturated_torque": 1},
    error_before=[0.5, 0.25],
    error_after=[0.125, 0.3],
    worse=True,
    gain=None,
    gains={"/data/a": None, "/data/b": -0.5},
    implausible="of another arm",
    unsettled="it ended early",
    change="changed",
    forgotten={"payload": 0.99},
    learning_time=1.5,
    findings=["delay: j1"],
    refusal="too heavy",
    overridden="too light",
    snapshot="/data/Läufe.npz",
    base="/tmp/base.npz",
    predictor="/tmp/a.predictor",
)


@pytest.mark.parametrize(
    "event",
    [
        REPORT,
        LearningReport(),
        Progressed("learning", 0.5, -1.25),
        Progressed("reading", 0.0, None),
        Failed("no\nrecording"),
    ],
)
def test_events_survive_their_line(event):
    line = encode_event(event)
    assert "\n" not in line
    assert decode_event(line.encode()) == event


@pytest.mark.parametrize(
    "line, message",
    [
        ("", "is not JSON"),
        ("update", "is not JSON"),
        ("\0", "is not JSON"),
        ("[]", "no known kind; expected update, load, save"),
        ('{"kind": "forget"}', "no known kind"),
        ('{"kind": []}', "no known kind"),
        ('{"kind": "load"}', "settings None"),
        ('{"kind": "load", "settings": {"joint_names": ["j1"]}}', "incomplete LoadJob"),
        (
            json.dumps({"kind": "load", "speed": 1, "settings": {"joint_names": ["j1"]}}),
            "unknown LoadJob speed",
        ),
    ],
)
def test_lines_that_are_no_job_are_refused(line, message):
    with pytest.raises(IlrDynamicsError, match=message):
        decode_job(line)
