# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Whatever happens, in whatever order, the torque stays finite and bounded in size and rate."""

import dataclasses

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from ilr_dynamics.control import (
    FeedForwardTorque,
    Gains,
    JointLimits,
    JointPath,
    Mode,
    Supervision,
    TrackingController,
)
from ilr_dynamics.control.guiding import Guidance, Guide
from ilr_dynamics.exceptions import TrajectoryError

PERIOD = 0.002
LIMITS = JointLimits(
    ("j1", "j2"), [-2.0, -1.5], [2.0, 1.5], [2.0, 2.0], [20.0, 10.0], [200.0, 100.0]
)

angles = hnp.arrays(float, 2, elements=st.floats(-3.0, 3.0))
measured = hnp.arrays(
    float, 2, elements=st.one_of(st.floats(-4.0, 4.0), st.sampled_from([np.nan, np.inf, 1e300]))
)
feedforward = hnp.arrays(
    float, 2, elements=st.one_of(st.floats(-30.0, 30.0), st.sampled_from([np.nan, np.inf, 1e300]))
)
steps = st.sampled_from([PERIOD, PERIOD, 1e-5, 0.0, -0.001, 0.05, 0.2, -5.0, 1e6, np.nan])


class Constant:
    def __init__(self, torque):
        self.torque = torque

    def __call__(self, reference):
        return FeedForwardTorque(self.torque, np.zeros(2))


class AnyEvents(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.controller = TrackingController(
            LIMITS,
            Gains([40.0, 20.0], [3.0, 1.0]),
            Supervision([0.1, 0.1], [0.5, 0.5], [3.0, 3.0], let_down_time=1.0),
            fault_feedforward=Constant(np.array([5.0, 5.0])),
            guidance=Guidance(
                Guide(0.8, 0.9, [0.3, 0.1], [1.0, 1.0], [15.0, 5.0], 0.1, [40.0, 20.0]),
                Constant(np.array([4.0, -4.0])),
            ),
        )
        self.time = 1000.0
        self.torque = np.zeros(2)

    def step(self, after, position, velocity):
        # The first state has no predecessor: it counts as one cycle.
        elapsed = PERIOD if self.controller.mode is Mode.WAITING else after
        time = self.time + after
        command = self.controller.step(time, position, velocity)
        if command is None:
            assert self.controller.refusal
            return
        self.time = time
        assert self.controller.mode is not Mode.WAITING
        assert (self.controller.mode is Mode.FAULT) == bool(self.controller.fault)
        self.check(command.torque, min(max(elapsed, 0.0), PERIOD))
        self.controller.look_ahead()

    def check(self, torque, elapsed):
        assert np.isfinite(torque).all()
        # A limit that was lowered is reached at the rate limit.
        bound = np.maximum(self.controller.limits.torque, np.abs(self.torque))
        assert (np.abs(torque) <= bound).all()
        rate = self.controller.limits.torque_rate
        assert (np.abs(torque - self.torque) <= rate * elapsed + 1e-9).all()
        self.torque = torque

    @rule(silence=st.floats(0.1, 10.0), ticks=st.integers(1, 100))
    def go_blind(self, silence, ticks):
        for k in range(ticks):
            torque = self.controller.step_blind(silence + 0.02 * k)
            if self.controller.mode is Mode.WAITING:
                assert torque is None
                return
            assert self.controller.mode is Mode.FAULT
            if torque is None:
                assert not self.torque.any()
            else:
                self.check(torque, PERIOD)

    @rule(torque=st.floats(0.0, 20.0), slower=st.floats(0.1, 1.0))
    def exchange_limits(self, torque, slower):
        self.controller.limits = dataclasses.replace(
            LIMITS, torque=[torque, torque], torque_rate=slower * LIMITS.torque_rate
        )

    @rule()
    def fail(self):
        self.controller.fail("found elsewhere")

    @rule(after=steps, position=measured, velocity=measured)
    def any_state(self, after, position, velocity):
        self.step(after, position, velocity)

    @rule(cycles=st.integers(1, 100), offset=st.floats(-0.2, 0.2))
    def follow_well(self, cycles, offset):
        for _ in range(cycles):
            wanted = self.controller.reference
            self.step(PERIOD, wanted.position + offset, wanted.velocity)

    @rule(end=angles, within=st.floats(0.0, 2.0), start=st.sampled_from([None, -0.1, 0.1]))
    def point(self, end, within, start):
        self.trajectory(start, [within], [end])

    @rule(scale=st.floats(0.0, 0.5), velocity=angles, start=st.sampled_from([None, -0.1, 0.1]))
    def motion(self, scale, velocity, start):
        here = self.controller.reference.position
        points = here + scale * np.array([[0.0, 0.0], [0.3, -0.3], [0.1, 0.1]])
        speeds = scale * np.array([[0.0, 0.0], velocity, velocity])
        self.trajectory(start, [0.0, 0.5, 0.9], points, speeds)

    def trajectory(self, start, *fields):
        try:
            self.controller.set_trajectory(
                JointPath(*fields), None if start is None else self.time + start
            )
        except TrajectoryError:
            return
        assert self.controller.mode is Mode.TRACKING

    @rule(torque=feedforward)
    def exchange_feedforward(self, torque):
        self.controller.set_feedforward(Constant(torque))

    @rule(kp=st.floats(0.0, 1e4), kd=st.floats(0.0, 1e3))
    def exchange_gains(self, kp, kd):
        self.controller.gains = Gains([kp, kp], [kd, kd])

    @rule()
    def guide(self):
        self.controller.guide()

    @rule()
    def stop(self):
        self.controller.stop()

    @rule()
    def hold(self):
        self.controller.hold()

    @precondition(lambda self: self.controller.mode is not Mode.WAITING)
    @rule()
    def deactivate(self):
        while (torque := self.controller.step_release()) is not None:
            self.check(torque, PERIOD)
        assert not self.torque.any()
        self.controller.reset()
        assert self.controller.mode is Mode.WAITING
        self.torque = np.zeros(2)


TestAnyEvents = AnyEvents.TestCase
TestAnyEvents.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
