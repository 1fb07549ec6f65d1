# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Monitor of the senders of joint states: at most one is answered, contradictions are found."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np

from ilr_dynamics.arrays import BoolArray, FloatArray
from ilr_dynamics.control.supervision import Supervision

__all__ = ["SenderWatch"]

# Largest distance between states of two senders that agree, rad, plus the motion in between.
_AGREEMENT = 0.005
# Time after which a silent sender, or a contradiction, is forgotten, s.
_MEMORY = 3.0
# A sender is silent after twice its own interval, of which at most this counts, s.
_LONGEST_INTERVAL = 1.0
_MAX_SENDERS = 8
# Time for which one of several senders must be alone before it is answered, s. Of senders that
# publish at the same instants, a subscription that keeps only the newest state shows one.
_ALONE = 1.0


class SenderWatch:
    """
    Selects at most one sender of joint states to answer, and detects contradictions.

    Which of two senders is the arm cannot be known. The first one received is believed until it
    is silent. A state of another sender at other positions contradicts it. The believed sender is
    then answered only if it has moved and no other has: a node that fills in zeros never moves. If
    a contradiction lasts longer than ``input_timeout`` neither is answered, and `contradiction` is
    set. A sender is answered again once it has been alone for a second, or once the others are
    known to be gone.

    Senders are distinguished by their identity. Where the middleware gives none, they are by
    their states: consecutive states of one sender are no farther apart than an arm can move.

    Parameters
    ----------
    is_present : callable, optional
        Whether the sender of a given identity still exists, silent or not. Without it a silent
        sender counts as gone.

    Attributes
    ----------
    contradiction : str
        Description of a contradiction that has lasted too long; else empty.
    """

    def __init__(self, is_present: Callable[[Hashable], bool] | None = None) -> None:
        self._is_present = is_present
        self.reset()

    def reset(self, *, several: bool = False) -> None:
        """
        Forget all senders.

        Parameters
        ----------
        several : bool
            Whether more than one is expected. Then none is answered until it has been received
            for a second without a contradiction.
        """
        self.contradiction = ""
        self._settled = not several
        self._believed: _Sender | None = None
        self._others: list[_Sender] = []
        self._alone_since: float | None = None
        self._differed = False

    def refusal(
        self,
        time: float,
        received: float,
        position: FloatArray,
        sender: Hashable | None,
        fits: bool,
        supervision: Supervision,
        joints: tuple[str, ...],
    ) -> str | None:
        """
        Return why a joint state must not be answered, or None.

        Parameters
        ----------
        time, received : float
            Stamp of the joint state, and time of its receipt by a steady clock, s.
        position : ndarray of shape (n_joints,)
            Measured position, rad.
        sender : hashable or None
            Identity of the sender; None where it is unknown.
        fits : bool
            Whether the state can follow the last one that was answered.
        supervision : Supervision
            Bounds on the motion of the arm and on the time between states.
        joints : tuple of str
            Names of the joints, for the text.
        """
        believed = self._believed
        if believed is None:
            believed = self._believed = _Sender(sender, time, received, position)
            return self._probation(believed, supervision.input_timeout)
        if not self._others and self._settled and sender == believed.identity:
            if fits:
                believed.add(time, received, position)
                return None
            if sender is not None:
                # An invalid or repeated state of the only sender.
                believed.received = received
                return None
        found = self._find(time, position, sender, supervision)
        if found is None:
            found = _Sender(sender, time, received, position)
            if sender is None and abs(time - believed.time) > supervision.input_timeout:
                # The only sender, whose clock has jumped or which was silent; if it is another
                # one, the old one will be received again.
                self._others = [believed, *self._others][:_MAX_SENDERS]
                self._believed = found
                return self._probation(found, supervision.input_timeout)
            self._others = [found, *self._others][:_MAX_SENDERS]
        else:
            found.add(time, received, position)
        if found is not believed:
            if not self._takes_over(found, believed, supervision.input_timeout):
                return self._refuse_other(found, believed, supervision, joints)
            self._others.remove(found)
            self._others.append(believed)
            self._believed = found
            # The believed sender was received after this one: both are active, and take turns.
            if believed.received > found.since > -np.inf:
                self._settled, self._alone_since = False, None
        return self._verdict(found, supervision, joints)

    def _find(
        self, time: float, position: FloatArray, sender: Hashable | None, supervision: Supervision
    ) -> _Sender | None:
        assert self._believed is not None
        for known in (self._believed, *self._others):
            if sender is not None or known.identity is not None:
                if sender == known.identity:
                    return known
            elif known.may_continue(time, position, supervision):
                return known
        return None

    def _takes_over(self, other: _Sender, believed: _Sender, timeout: float) -> bool:
        """Whether the believed sender is gone, or was a single outlier."""
        if self._is_gone(believed, other.received, timeout):
            return True
        return other.identity is None and believed.count == 1 and other.count > 2

    def _refuse_other(
        self,
        other: _Sender,
        believed: _Sender,
        supervision: Supervision,
        joints: tuple[str, ...],
    ) -> str:
        if not other.update_contradiction(believed, supervision):
            return "from another sender, whose states agree"
        self._alone_since, self._differed = None, True
        since, now = other.since, other.received
        # A contradiction needs both senders to exist.
        if now - since > supervision.input_timeout and (
            self._is_present is not None or believed.received > since
        ):
            self._settled = False
            self.contradiction = _contradiction(other, believed, supervision, joints)
        return _contradiction(other, believed, supervision, joints)

    def _verdict(
        self, believed: _Sender, supervision: Supervision, joints: tuple[str, ...]
    ) -> str | None:
        """Return why the believed sender's state must not be answered either, or None."""
        now, timeout = believed.received, supervision.input_timeout
        lasting = _MEMORY if self._is_present is None else timeout
        self._others = [o for o in self._others if not self._is_gone(o, now, lasting)]
        against = [o for o in self._others if self._contradicts(o, believed, supervision)]
        if not against:
            if self._is_present is not None and self._differed and not self._others:
                self._settled, self._differed, self.contradiction = True, False, ""
            return self._probation(believed, timeout)
        if not believed.moved or any(other.moved for other in against):
            self._settled = False
        if self._settled:
            return None
        self._alone_since = None
        text = _contradiction(against[0], believed, supervision, joints)
        if self._is_present is not None and now - against[0].since > timeout:
            self.contradiction = text
        return text

    def _contradicts(self, other: _Sender, believed: _Sender, supervision: Supervision) -> bool:
        """Whether another sender contradicts the believed one at present."""
        if self._is_gone(other, believed.received, supervision.input_timeout):
            return False
        # Without identities a single state that does not fit is an outlier rather than a sender.
        if other.identity is None and (other.count == 1 or other.received < believed.began):
            return False
        return other.differed == other.received or bool(other.differs(believed, supervision).any())

    def _is_gone(self, sender: _Sender, now: float, timeout: float) -> bool:
        if self._is_present is None or sender.identity is None:
            return sender.is_silent(now, timeout)
        return not self._is_present(sender.identity)

    def _probation(self, believed: _Sender, timeout: float) -> str | None:
        """Return why a sender that has not been alone for long enough is not answered, or None."""
        if self._settled:
            return None
        now = believed.received
        if self._alone_since is None or believed.interval > timeout:
            # After a silence of all senders it may be another one that is received first.
            self._alone_since = now
        if now - self._alone_since <= _ALONE:
            return (
                "several senders of joint states: none is answered until it has been alone for "
                f"{_ALONE:g} s"
            )
        self._settled, self.contradiction = True, ""
        return None


class _Sender:
    """One sender, with its newest state and its contradictions."""

    def __init__(
        self, identity: Hashable | None, time: float, received: float, position: FloatArray
    ) -> None:
        self.identity = identity
        self.time = self.began_time = time
        self.received = self.began = received
        self.position = position
        self.count = 1
        self.moved = False
        self.since = self.differed = -np.inf
        self._first = position.tolist()
        self.interval = 0.0

    def add(self, time: float, received: float, position: FloatArray) -> None:
        """Record a further state."""
        self.count += 1
        self.interval = received - self.received
        self.time, self.received, self.position = time, received, position
        if not self.moved:
            self.moved = position.tolist() != self._first

    def is_silent(self, now: float, timeout: float) -> bool:
        """Whether the last state is older than twice the sender's usual interval."""
        usual = min(self.interval, _LONGEST_INTERVAL)
        return now - self.received > max(timeout, 2.0 * usual)

    def may_continue(self, time: float, position: FloatArray, supervision: Supervision) -> bool:
        """Whether a state can be the sender's next one, or a late one of its newest."""
        elapsed = abs(time - self.time)
        if elapsed > supervision.input_timeout:
            return False
        return not supervision.has_jumped(position - self.position, elapsed).any()

    def differs(self, believed: _Sender, supervision: Supervision) -> BoolArray:
        """Whether each joint's position (n_joints,) differs from the believed sender's."""
        # The stamps may be from different clocks: the smaller of both differences counts.
        apart = min(
            abs(self.time - believed.time),
            abs(self.received - believed.received),
            supervision.input_timeout,
        )
        bound = _AGREEMENT + 2.0 * apart * supervision.velocity
        # With this form of the comparison a NaN differs.
        return ~(np.abs(self.position - believed.position) <= bound)

    def update_contradiction(self, believed: _Sender, supervision: Supervision) -> bool:
        """Return whether the newest state differs, and keep the time since when."""
        if not self.differs(believed, supervision).any():
            return False
        if self.received - self.differed > _MEMORY:
            self.since = self.received
        self.differed = self.received
        return True


def _contradiction(
    other: _Sender, believed: _Sender, supervision: Supervision, joints: tuple[str, ...]
) -> str:
    distance = np.abs(other.position - believed.position)
    joint = int(np.argmax(distance))
    return (
        f"two senders of joint states contradict each other: joint {joints[joint]} is at "
        f"{believed.position[joint]:.3f} rad by one and at {other.position[joint]:.3f} rad by "
        "the other: expected one publisher on the topic"
    )
