# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticStatus

from ilr_dynamics.control import Mode
from ilr_dynamics.nodes.controller.diagnostic_groups import (
    FIT,
    JOINT_STATES,
    LOOP,
    MODEL,
    grouped,
    joint_state_status,
    model_status,
)
from ilr_dynamics.nodes.controller.diagnostics import (
    LoopState,
    LoopStatistics,
    input_warnings,
    loop_status,
)

TRACKING = LoopState(
    active=True,
    mode=Mode.TRACKING,
    fault="",
    without_model=False,
    listeners=1,
    publishers=1,
    rate=500.0,
    largest_lag=0.1,
)


def add(
    statistics,
    time,
    *,
    gate=1.0,
    limited=False,
    prepared=True,
    saturated=False,
    learned=True,
    late=0.0,
):
    feedforward = SimpleNamespace(gate=gate, unseen_weight=1.0 - gate, std=np.array([0.5, 2.0]))
    command = SimpleNamespace(
        time=time, limited=limited, prepared=prepared, feedforward=feedforward
    )
    loop_time = 1e-4 * (1 + round(time / 0.002) % 2)
    statistics.add(command, time + late, loop_time, learned=learned, saturated=saturated)
    statistics.look_ahead_times.append(3.0 * loop_time)


@pytest.fixture
def busy():
    """A hundred cycles without a fault in them."""
    statistics = LoopStatistics()
    for k in range(100):
        add(statistics, 0.002 * k)
    return statistics


def test_figures_of_a_period():
    statistics = LoopStatistics()
    for k in range(100):
        add(
            statistics,
            0.002 * k,
            gate=0.5 if k else 0.25,
            limited=k in (7, 8),
            prepared=k > 4,
            saturated=k == 7,
            late=0.001 * (k == 50),
        )
    statistics.unusable = 3
    figures = statistics.summary(period=0.2)
    assert figures["rate [Hz]"] == "500.0"
    assert figures["largest gap [ms]"] == "2.00"
    assert figures["largest interval of receipt [ms]"] == "3.000"
    assert 0.0 < float(figures["jitter of receipt 99 % [ms]"]) <= 1.0
    assert figures["cycles with a torque or rate limit"] == "2"
    assert figures["cycles at a torque limit"] == "1"
    assert figures["unusable joint states"] == "3"
    assert figures["loop time median [ms]"] == "0.150"
    assert figures["loop time largest [ms]"] == "0.200"
    assert figures["look-ahead median [ms]"] == "0.450"
    assert figures["look-ahead 99 % [ms]"] == figures["look-ahead largest [ms]"] == "0.600"
    assert figures["cycles with a prepared feed-forward"] == "95"
    assert figures["cycles that waited for the feed-forward"] == "5"
    assert figures["gate mean"] == "0.497"
    assert figures["gate smallest"] == "0.250"
    assert figures["weight of the unseen mean"] == "0.502"
    assert figures["predicted std largest [Nm]"] == "2.000"
    assert figures["cycles without trust in the model"] == "1"


def test_figures_begin_anew(busy):
    busy.take()
    figures = busy.summary(period=0.2)
    assert figures["cycles with a prepared feed-forward"] == "0"
    assert figures["cycles that waited for the feed-forward"] == "0"
    assert "look-ahead median [ms]" not in figures


def test_cycles_without_a_learned_model_say_nothing_about_one():
    statistics = LoopStatistics()
    add(statistics, 0.0, learned=False, gate=0.0)
    assert not any("gate" in name for name in statistics.summary(1.0))
    assert loop_status(TRACKING, statistics) == (DiagnosticStatus.OK, "tracking")


def test_gap_across_a_clear_is_seen_and_one_across_a_pause_is_not():
    statistics = LoopStatistics()
    add(statistics, 0.0)
    statistics.take()
    add(statistics, 0.05)
    assert statistics.summary(1.0)["largest gap [ms]"] == "50.00"
    statistics.restart()
    add(statistics, 9.0)
    assert statistics.summary(1.0)["largest gap [ms]"] == "0.00"


def test_silence_has_a_rate_of_zero():
    assert LoopStatistics().summary(1.0)["rate [Hz]"] == "0.0"


def test_loop_that_does_well_is_ok(busy):
    assert loop_status(TRACKING, busy) == (DiagnosticStatus.OK, "tracking")
    assert loop_status(replace(TRACKING, active=False), busy) == (
        DiagnosticStatus.OK,
        "not active",
    )


def test_fault_is_an_error_with_its_reason(busy):
    state = replace(TRACKING, mode=Mode.FAULT, fault="velocity of joint j2 is 3.1 rad/s")
    assert loop_status(state, busy) == (
        DiagnosticStatus.ERROR,
        "fault: velocity of joint j2 is 3.1 rad/s",
    )


def test_fault_comes_with_what_is_wrong_with_the_joint_states(busy):
    state = replace(TRACKING, mode=Mode.FAULT, fault="they contradict each other", publishers=2)
    assert loop_status(state, busy) == (
        DiagnosticStatus.ERROR,
        "fault: they contradict each other, 2 publishers of joint states",
    )


@pytest.mark.parametrize(
    ("state", "figures", "text"),
    [
        ({}, {"loop_times": []}, "no joint states"),
        ({}, {"unusable": 4}, "4 joint states not answered"),
        ({"listeners": 0}, {}, "no subscriber to the torque"),
        ({}, {"saturated": 1}, "a torque at its limit"),
        ({"without_model": True}, {}, "no model is loaded"),
        ({}, {"gates": [0.4] * 100}, "the learned model is not trusted"),
    ],
)
def test_what_a_person_should_look_at_is_a_warning(busy, state, figures, text):
    for name, value in figures.items():
        setattr(busy, name, value)
    level, found = loop_status(replace(TRACKING, **state), busy)
    assert level == DiagnosticStatus.WARN
    assert found == f"tracking, {text}"


@pytest.mark.parametrize(
    ("state", "lag", "kind", "text"),
    [
        ({"rate": 630.0}, None, "rate", "joint states at 500 Hz instead of 630 Hz"),
        ({}, 0.2, "clock", "joint states stamped 0.200 s behind the node's clock"),
        ({}, -3.5, "clock", "joint states stamped 3.500 s ahead of the node's clock"),
        ({"publishers": 2}, None, "publishers", "2 publishers of joint states"),
        (
            {"publishers": 2, "publisher_names": ("/driver", "/joint_state_publisher")},
            None,
            "publishers",
            "2 publishers of joint states (/driver, /joint_state_publisher)",
        ),
        (
            {"wrong_velocity": "the velocities of joint j2 are 0 times the change"},
            None,
            "velocity",
            "positions differentiated: the velocities of joint j2 are 0 times the change",
        ),
    ],
)
def test_joint_states_that_are_wrong_are_a_warning(busy, state, lag, kind, text):
    state = replace(TRACKING, **state)
    assert input_warnings(state, busy, lag) == {kind: text}
    assert loop_status(state, busy, lag) == (DiagnosticStatus.WARN, f"tracking, {text}")


def test_values_are_grouped(busy):
    values = {"controller": "ilr", "model": "/m.npz", "joint states: rate [times]": "3"}
    groups = grouped({**busy.summary(0.2), **values, "torque at its limit [times]": "4"})
    assert list(groups) == [LOOP, JOINT_STATES, MODEL, FIT]
    assert {"controller", "rate [Hz]", "loop time median [ms]"} <= set(groups[LOOP])
    assert "torque at its limit [times]" in groups[LOOP]
    assert {"largest gap [ms]", "joint states: rate [times]"} <= set(groups[JOINT_STATES])
    assert {"model", "gate mean"} <= set(groups[MODEL])
    assert set(grouped({"fit residual of j1 [std]": "0.70"})[FIT]) == {"fit residual of j1 [std]"}


@pytest.mark.parametrize(
    ("state", "figures", "level", "text"),
    [
        ({}, {}, DiagnosticStatus.OK, "answered"),
        ({"active": False}, {}, DiagnosticStatus.OK, "not active"),
        ({}, {"loop_times": []}, DiagnosticStatus.WARN, "none"),
        (
            {"publishers": 2},
            {"unusable": 4},
            DiagnosticStatus.WARN,
            "4 not answered, 2 publishers of joint states",
        ),
    ],
)
def test_joint_states_have_a_status_of_their_own(busy, state, figures, level, text):
    for name, value in figures.items():
        setattr(busy, name, value)
    assert joint_state_status(replace(TRACKING, **state), busy, None) == (level, text)


def test_model_has_a_status_of_its_own(busy):
    assert model_status(TRACKING, busy, "/m.npz") == (DiagnosticStatus.OK, "used")
    busy.gates = [0.4] * 100
    assert model_status(TRACKING, busy, "/m.npz") == (DiagnosticStatus.WARN, "not trusted")
    busy.gates = []
    assert model_status(TRACKING, busy, "/m.npz")[1] == "loaded, not used"
    assert model_status(TRACKING, busy, "") == (DiagnosticStatus.OK, "none")
    state = replace(TRACKING, without_model=True)
    assert model_status(state, busy, "") == (DiagnosticStatus.WARN, "no model is loaded")


def test_joint_states_may_be_a_little_rare_and_late(busy):
    state = replace(TRACKING, rate=620.0)
    assert loop_status(state, busy, 0.09) == (DiagnosticStatus.OK, "tracking")


def test_rate_by_stamps_is_that_since_the_last_clear(busy):
    assert busy.stamped_rate == pytest.approx(500.0)
    busy.take()
    assert busy.stamped_rate is None
    for k in range(10):
        add(busy, 0.198 + 0.01 * (k + 1))
    assert busy.stamped_rate == pytest.approx(100.0)
    assert busy.summary(1.0)["rate by stamps [Hz]"] == "100.0"


def test_lag_is_that_at_receipt():
    statistics = LoopStatistics()
    assert statistics.lag(clock=1000.0, steady=5.0) is None
    add(statistics, 2.0, late=0.05)
    assert statistics.lag(clock=102.5, steady=2.3) == pytest.approx(100.25)
    statistics.take()
    assert statistics.lag(clock=102.5, steady=2.3) is None
