# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Motion and torque of a recording, with the torques of the described arm at the same states."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy

from ilr_dynamics.arrays import BoolArray, FloatArray, IndexArray
from ilr_dynamics.inspection.spread_states import spread_states
from ilr_dynamics.recording import Recording, Samples, SampleSettings, training_samples
from ilr_dynamics.recording.joint_state import NANOSECONDS
from ilr_dynamics.robot.description import STANDING, RobotDescription
from ilr_dynamics.robot.rigid_body import RigidBodyModel

__all__ = ["ENOUGH_ROWS", "SIGN_SPEEDS", "Evidence", "MotionTerms", "motion_terms"]

# States at which torques are compared: ten a second for two minutes.
ENOUGH = 1200
# A joint that is slower may stick, rad/s: its torque is then no function of its state.
SLIPS = 0.03
# Nor is that of a joint that was just turned round: gears and bearings give by some mrad before
# all of the friction is back, rad.
TURNED = 0.01
# From a row to where its torque may come from, s: half a filter's window and a delay.
SMEARED = 0.05
# States in which a joint slips, of which fewer say nothing.
ENOUGH_ROWS = 100
# Speeds over which the direction of friction changes, rad/s: of a joint that slips, and of one
# that creeps.
SIGN_SPEEDS = (0.02, 0.2)
# A joint that moves less shows nothing, rad.
MOVES = 0.01
# What no model explains of a joint's torque stays alike for as long as the joint moves by so much,
# rad: a quarter of a wave of friction that varies sixteen times in a turn.
ALIKE_MOTION = 0.1
# Between states that follow each other, in nominal periods (`SampleSettings.max_gap`).
LONGEST_STEP = 3.5


@dataclass(frozen=True)
class MotionTerms:
    """
    Torques of the described bodies and what they are linear in, at some states.

    Attributes
    ----------
    torque : ndarray of shape (n, n_joints)
        Of all bodies, without weight, Nm.
    gravity : ndarray of shape (n, n_joints, 3)
        For 1 m/s^2 along each axis of the base, kg m.
    load : ndarray of shape (n, n_joints, 4)
        For a mass and its first moments at the last joint, Nm/kg and Nm/(kg m).
    """

    torque: FloatArray
    gravity: FloatArray
    load: FloatArray


def motion_terms(model: RigidBodyModel, X: FloatArray) -> MotionTerms:
    """
    Ask the rigid-body model for the terms of its torque.

    Parameters
    ----------
    model : RigidBodyModel
    X : ndarray of shape (n, 3 n_joints)
        [q, qd, qdd], rad, rad/s, rad/s^2.
    """
    n, n_joints = len(X), X.shape[1] // 3
    torque, columns = np.empty((n, n_joints)), np.empty((n, n_joints, 3))
    load = np.empty((n, n_joints, 4))
    for row, state in enumerate(X.reshape(n, 3, n_joints)):
        torque[row] = model.inverse_dynamics(*state)
        columns[row] = model.gravity_columns(state[0])
        load[row] = model.last_body_columns(*state)
    return MotionTerms(torque - columns @ model.description.gravity, columns, load)


class Evidence:
    """
    Motion and torque of a recording, at the states where both are known.

    Parameters
    ----------
    recording : Recording
    settings : SampleSettings
        Of the samples; delays and limits are not applied here.
    description : RobotDescription or None
        The arm; None if it is not known.
    compensated : bool
        Whether the driver adds the weight to the torques, so that they do not hold it.
    """

    def __init__(
        self,
        recording: Recording,
        settings: SampleSettings,
        description: RobotDescription | None,
        compensated: bool,
    ) -> None:
        self.recording = recording
        self.settings = settings
        self.joints = recording.joint_names
        self.description = description
        steps = settings.command_delay if recording.commanded else settings.effort_delay
        self.expected_delay = steps * recording.period
        """From a state to the middle of the action of its torque, s."""
        everything = replace(
            settings,
            command_delay=0.0,
            effort_delay=0.0,
            sample_rate=None,
            torque_limit=None,
            minimum_speed=None,
        )
        spread = spread_states(recording, everything, ENOUGH)
        self.samples: Samples = training_samples(spread.recording, everything)
        """States with their torques as they were sent or reported, smoothed alike: every one, or
        of a long recording those around the rows."""
        self._centres = spread.centres
        self.gravity = np.array(STANDING) if description is None else description.gravity
        """By the description, in the axes of the base, m/s^2."""
        self.nominal_gravity = np.zeros(3) if compensated else self.gravity

    @cached_property
    def rows(self) -> IndexArray:
        """Samples that are compared, spread over the recording."""
        n = self.samples.n_used
        if self._centres is None:
            return np.unique(np.linspace(0, n - 1, min(n, ENOUGH)).round().astype(np.intp))
        # Both are the same quotient of the same integers, so that they are equal or far apart.
        time = (self._centres - self.recording.stamp[0]) / NANOSECONDS
        rows = np.minimum(np.searchsorted(self.samples.time, time), n - 1)
        return rows[self.samples.time[rows] == time]

    @property
    def duration(self) -> float:
        """Time that the rows stand for, s."""
        n = self.samples.n_used if self._centres is None else len(self.recording.stamp)
        return n * self.recording.period

    @property
    def spacing(self) -> float:
        """Time from a row to the next, on average, s."""
        return self.duration / len(self.rows)

    def independent_share(self, lasting: float) -> FloatArray:
        """
        Information of each row about each joint, as a share of that of an independent state.

        The errors of a model of a joint's torque last for some time, and in slow motion for as
        long as it takes the joint to get elsewhere.

        Parameters
        ----------
        lasting : float
            Time for which errors are alike however fast the joint is, s.

        Returns
        -------
        ndarray of shape (n, n_joints)
            From 0 to 1.
        """
        n = len(self.joints)
        speed = np.abs(self.samples.X[self.rows, n : 2 * n])
        return np.minimum(self.spacing * np.minimum(1.0 / lasting, speed / ALIKE_MOTION), 1.0)

    @cached_property
    def moving(self) -> BoolArray:
        """Whether each joint moves, shape (n_joints,)."""
        n = len(self.joints)
        return np.asarray(np.ptp(self.samples.X[:, :n], axis=0) >= MOVES)

    @cached_property
    def slipping(self) -> BoolArray:
        """Whether each joint slips at the rows and around them, shape (n, n_joints).

        The filter smears what a joint that sticks is held by into the motion before and after.
        """
        n = len(self.joints)
        slips = np.abs(self.samples.X[:, n : 2 * n]) > SLIPS
        width = 2 * round(SMEARED / self.recording.period) + 1
        slips = scipy.ndimage.minimum_filter1d(slips, width, axis=0, mode="nearest")[self.rows]
        gone = [self._since_turned(joint) for joint in range(n)]
        return np.asarray(slips & (np.column_stack(gone) > TURNED))

    def _since_turned(self, joint: int) -> FloatArray:
        """How far a joint went since it last turned round, at the rows (n,), rad."""
        n = len(self.joints)
        position, velocity = self.samples.X[:, joint], self.samples.X[:, n + joint]
        # Beyond a gap, or before a stretch of a long recording, it may have turned.
        gap = np.diff(self.samples.time) > LONGEST_STEP * self.recording.period
        turns = np.append(0, np.flatnonzero(np.diff(np.signbit(velocity)) | gap) + 1)
        last = turns[np.searchsorted(turns, self.rows, side="right") - 1]
        return np.asarray(np.abs(position[self.rows] - position[last]))

    @cached_property
    def described(self) -> FloatArray:
        """Torque of the described bodies at the rows, (n, n_joints), with the weight it holds."""
        assert self.terms is not None
        return self.terms.torque + self.terms.gravity @ self.nominal_gravity

    @cached_property
    def model(self) -> RigidBodyModel | None:
        """The described arm."""
        return None if self.description is None else RigidBodyModel(self.description)

    @cached_property
    def terms(self) -> MotionTerms | None:
        """Torques of the described arm at the rows."""
        if self.model is None:
            return None
        return motion_terms(self.model, self.samples.X[self.rows])

    def rigid_torque(self, X: FloatArray) -> FloatArray:
        """Torque (n, n_joints) of the described bodies at other states X (n, 3 n_joints), Nm."""
        assert self.model is not None
        states = X.reshape(len(X), 3, -1)
        torque = np.array([self.model.inverse_dynamics(*state) for state in states])
        if np.array_equal(self.nominal_gravity, self.gravity):
            return torque
        change = self.nominal_gravity - self.gravity
        return torque + np.array([self.model.gravity_columns(q) @ change for q, _, _ in states])

    def torque(self, delay: float) -> tuple[FloatArray, BoolArray]:
        """
        Torque that acts at the rows if it acts so much later than it is stamped.

        Parameters
        ----------
        delay : float
            s.

        Returns
        -------
        torque : ndarray of shape (n, n_joints)
            Nm.
        known : ndarray of shape (n,), bool
            Where no gap lies between.
        """
        time = self.samples.time
        at = time[self.rows] - delay
        after = np.clip(np.searchsorted(time, at), 1, len(time) - 1)
        step = time[after] - time[after - 1]
        inside = (time[0] <= at) & (at <= time[-1])
        near = step <= LONGEST_STEP * self.recording.period
        share = np.clip((at - time[after - 1]) / step, 0.0, 1.0)[:, np.newaxis]
        torque = (1.0 - share) * self.samples.Y[after - 1] + share * self.samples.Y[after]
        return torque, inside & near

    def friction(self, X: FloatArray) -> FloatArray:
        """
        Columns of what acts in each joint alone, for its torque to be fitted by.

        Parameters
        ----------
        X : ndarray of shape (n, 3 n_joints)

        Returns
        -------
        ndarray of shape (n, n_joints, 5)
            Dry friction at two speeds, viscous friction, rotor inertia, a constant.
        """
        _, velocity, acceleration = np.split(X, 3, axis=1)
        signs = [np.tanh(velocity / speed) for speed in SIGN_SPEEDS]
        return np.stack([*signs, velocity, acceleration, np.ones_like(velocity)], axis=-1)
