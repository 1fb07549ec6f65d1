# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Whether the learned model still fits, and what has changed: over DDS, of an arm that wears."""

import time
from dataclasses import replace

import numpy as np
import pytest
from controller_bench import trajectory
from diagnostic_msgs.msg import DiagnosticStatus

from ilr_dynamics.nodes.shared import qos
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.plant import WamPlant
from ilr_dynamics.robot.plant_config import load_plant_config
from ilr_dynamics_msgs.msg import ModelFit
from ilr_dynamics_msgs.srv import LoadSnapshot

WORN = 3
TOPIC = "/inverse_dynamics/model_fit"


@pytest.fixture
def worn():
    """An arm one joint of which rubs three times as much."""
    config = load_plant_config("wam4")
    factor = np.ones(4)
    factor[WORN] = 3.0
    usual = config.friction
    rough = replace(usual, dry=factor * usual.dry, viscous=factor * usual.viscous)
    return WamPlant(load_description("wam4"), replace(config, friction=rough), seed=0)


def fit_status(arm):
    arm.diagnosis()
    (status,) = (one for one in arm.diagnostics[-1].status if one.name.endswith(": model fit"))
    return status


def cycles_until(arm, condition):
    deadline = time.monotonic() + 30.0
    while not condition():
        assert time.monotonic() < deadline, "not told within 30 s"
        arm.cycle()


def test_a_worn_joint_is_named_and_an_unchanged_arm_fits(arm, snapshot, worn):
    told = []
    arm.node.create_subscription(ModelFit, TOPIC, told.append, 10)
    # The analytic model states no deviation, so there is nothing that could fit.
    arm.publish(trajectory(arm.joints, arm.eight, approach=1.0))
    arm.run(1.5)
    assert not told
    status = fit_status(arm)
    assert status.level == DiagnosticStatus.OK
    assert status.message.startswith("not known yet")
    assert arm.set_parameters(controller="ilr").successful
    loaded = arm.ask(LoadSnapshot, "load_snapshot", snapshot_uri=snapshot)
    assert loaded.success, loaded.message
    arm.follow_eight()
    assert told and all(each.fits for each in told)
    assert told[-1].joint_names == arm.joints
    assert (np.array(told[-1].residual) < 2.0).all()
    status = fit_status(arm)
    assert (status.level, status.message) == (DiagnosticStatus.OK, told[-1].text)
    values = {item.key: item.value for item in status.values}
    assert f"fit outside 95 % of {arm.joints[0]} [%]" in values

    bare, arm.plant = arm.plant, worn
    try:
        arm.measured = worn.reset(arm.measured.position)
        for _ in range(8):
            arm.follow_eight()
            # While the joint turns one way only friction is an offset, as the first alarm may say.
            if not told[-1].fits and "offset" not in told[-1].changed_kinds:
                break
        last = told[-1]
        assert not last.fits
        assert set(last.changed_joints) == {arm.joints[WORN]}
        assert set(last.changed_kinds) <= {"viscous", "dry"}
        assert len(last.changed_by) == len(last.changed_std) == len(last.changed_kinds)
        assert min(last.changed_by) > 0.0
        assert np.argmax(last.log_odds) == WORN
        status = fit_status(arm)
        assert status.level == DiagnosticStatus.WARN
        assert status.message.startswith(f"no longer fits: {arm.joints[WORN]} ")
        # Whoever asks only now, at rest, is told so too, until what was seen is forgotten.
        late = []
        arm.node.create_subscription(ModelFit, TOPIC, late.append, qos.LATCHED)
        cycles_until(arm, lambda: late)
        assert late[0].text == last.text
        assert arm.set_parameters(guide__margin=0.2).successful
        cycles_until(arm, lambda: not late[-1].motion)
        assert late[-1].text.startswith("not known yet")
    finally:
        arm.plant = bare


def test_nothing_is_watched_where_that_is_asked_for(start_bench):
    with start_bench(parameters=["model_fit.alarms_per_hour:=0.0"]) as bench:
        assert bench.node.get_publishers_info_by_topic(TOPIC)
        bench.diagnosis(moving=False)
        (status,) = (
            one for one in bench.diagnostics[-1].status if one.name.endswith(": model fit")
        )
        assert status.level == DiagnosticStatus.OK
        assert status.message == "not watched: model_fit.alarms_per_hour is 0"
