# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Trajectory goal: whether the arm follows the trajectory, and how that ends."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from enum import Enum, IntEnum
from typing import NamedTuple

import numpy as np

from ilr_dynamics.control.command import Command
from ilr_dynamics.control.goal_tolerances import GoalTolerances
from ilr_dynamics.control.joint_path import JointPath
from ilr_dynamics.control.modes import Mode

__all__ = ["CANCELED", "End", "ErrorCode", "Outcome", "TrajectoryGoal", "aborted"]


class ErrorCode(IntEnum):
    """Error code of a result; the numbers are those of control_msgs/FollowJointTrajectory."""

    SUCCESSFUL = 0
    INVALID_GOAL = -1
    INVALID_JOINTS = -2
    OLD_HEADER_TIMESTAMP = -3
    PATH_TOLERANCE_VIOLATED = -4
    GOAL_TOLERANCE_VIOLATED = -5


class End(Enum):
    """State in which a goal ends."""

    SUCCEEDED = "succeeded"
    ABORTED = "aborted"
    CANCELED = "canceled"


class Outcome(NamedTuple):
    """
    End of a goal.

    Attributes
    ----------
    end : End
        Final state.
    code : ErrorCode
        Error code of the result.
    text : str
        Reason, for people.
    """

    end: End
    code: ErrorCode
    text: str


# Codes, and how the texts begin, are those of joint_trajectory_controller.
SUCCEEDED = Outcome(End.SUCCEEDED, ErrorCode.SUCCESSFUL, "Goal successfully reached!")
CANCELED = Outcome(End.CANCELED, ErrorCode.SUCCESSFUL, "Goal canceled: the arm is held.")


def aborted(text: str, code: ErrorCode = ErrorCode.INVALID_GOAL) -> Outcome:
    """Return the outcome of a goal that was aborted for a reason."""
    return Outcome(End.ABORTED, code, text)


class TrajectoryGoal:
    """
    Observer of an arm that follows a trajectory, until the goal is reached or missed.

    It changes nothing: whoever gives it the commands makes the arm brake.

    Parameters
    ----------
    path : JointPath
        Trajectory that was asked for; it ends at rest.
    start : float
        Time at which the path's own time is zero, by the stamps of joint states, s.
    tolerances : GoalTolerances
        Tolerances on the way and at the end.
    joints : sequence of str
        Names of the joints, for texts.
    on_end : callable
        Callback with the outcome, once.

    Attributes
    ----------
    last : Command or None
        Command that was observed last.
    ended : bool
        Whether the goal has ended.
    joints : sequence of str
        Names of the joints.
    """

    def __init__(
        self,
        path: JointPath,
        start: float,
        tolerances: GoalTolerances,
        joints: Sequence[str],
        on_end: Callable[[Outcome], None],
    ) -> None:
        self.last: Command | None = None
        self.ended = False
        self._path, self._start, self._tolerances = path, start, tolerances
        self.joints, self._on_end = joints, on_end
        self._times = path.times.tolist()
        self._rest = np.zeros_like(path.positions[-1])
        self._decided: Outcome | None = None

    def elapsed(self, time: float) -> float:
        """Return the trajectory's own time at ``time``, s."""
        return time - self._start

    def next_point(self, time: float) -> int:
        """Return the index of the trajectory's next point at ``time``; at its end the last."""
        return min(bisect_right(self._times, self.elapsed(time)), len(self._times) - 1)

    def observe(self, command: Command) -> bool:
        """
        Judge a control cycle.

        Parameters
        ----------
        command : Command
            Command of the cycle.

        Returns
        -------
        bool
            Whether the arm has left the path: it is to brake, and the goal ends once it has.
        """
        self.last = command
        if self.ended:
            return False
        if self._decided is not None:
            if command.mode is not Mode.STOPPING:
                self.end(self._decided)
            return False
        if self.elapsed(command.time) < self._path.end:
            return self._leaves_path(command)
        self._judge_arrival(command)
        return False

    def end(self, outcome: Outcome) -> None:
        """End the goal now; an outcome that was decided before holds."""
        if not self.ended:
            self.ended = True
            self._on_end(self._decided or outcome)

    def end_at_rest(self, outcome: Outcome) -> bool:
        """
        Decide how the goal ends once the arm, which is about to brake, has come to rest.

        Until then the controller takes no new trajectory.

        Returns
        -------
        bool
            Whether that was not decided before.
        """
        if self.ended or self._decided is not None:
            return False
        self._decided = outcome
        return True

    def _leaves_path(self, command: Command) -> bool:
        desired = command.reference
        violation = self._tolerances.path.violation(
            desired.position - command.position, desired.velocity - command.velocity, self.joints
        )
        return violation is not None and self.end_at_rest(
            aborted(
                f"Aborted due to path tolerance violation: {violation}",
                ErrorCode.PATH_TOLERANCE_VIOLATED,
            )
        )

    def _judge_arrival(self, command: Command) -> None:
        violation = self._tolerances.goal.violation(
            self._path.positions[-1] - command.position,
            self._rest - command.velocity,
            self.joints,
        )
        late = self.elapsed(command.time) - self._path.end
        if violation is None:
            self.end(SUCCEEDED)
        elif late > self._tolerances.goal_time:
            self.end(
                aborted(
                    f"Aborted due to goal_time_tolerance exceeding by {late:f} seconds: "
                    f"{violation}",
                    ErrorCode.GOAL_TOLERANCE_VIOLATED,
                )
            )
