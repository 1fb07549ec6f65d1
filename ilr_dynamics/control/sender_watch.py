# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Whether all joint states come from one sender, and what to believe if not."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np

from ilr_dynamics.arrays import BoolArray, FloatArray
from ilr_dynamics.control.supervision import Supervision

__all__ = ["SenderWatch"]

# How far two senders of one arm's states may be apart, rad, beside what it moves in between.
_AGREEMENT = 0.005
# A sender that was not heard for so long, s, is forgotten; so is that it contradicted another.
_MEMORY = 3.0
# A sender is missed after twice its own interval, which counts as this at most, s.
_LONGEST_INTERVAL = 1.0
_MAX_SENDERS = 8
# For how long one of several has to be heard alone before it is answered, s. Senders in step with
# each other hide one another: a subscription that keeps the newest state alone loses the first.
_ALONE = 1.0


class SenderWatch:
    """
    Tells the states of one sender from those of another, and answers one of them at most.

    Which of two senders is the arm nobody can know. The one heard first is believed, until it is
    silent. A state of another that is somewhere else contradicts it. The believed one is then
    answered only if it has moved and no other has: a node that fills in zeros never moves. If it
    lasts for longer than ``input_timeout`` neither is, and `contradiction` says so. Who was not
    answered for that is answered again once it was heard alone for a second, or once the others
    are known to be gone.

    Senders are known by their identity. Where the middleware gives none they are told apart by
    their states: those of one follow each other as an arm moves.

    Parameters
    ----------
    is_present : callable, optional
        Whether a sender of some identity still exists, heard or not. Without it one that is silent
        is gone.

    Attributes
    ----------
    contradiction : str
        What senders contradict each other in, once they have for too long; else empty.
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
            Whether more than one is expected. None is answered then before it was heard for
            a second without a contradiction.
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
        Return why a joint state is not to be answered, or None.

        Parameters
        ----------
        time, received : float
            Its stamp, and when it came by a steady clock, s.
        position : ndarray of shape (n_joints,)
            Measured, rad.
        sender : hashable or None
            Who sent it; None where nobody knows.
        fits : bool
            Whether it can follow the state that was answered last.
        supervision : Supervision
            How far an arm moves, and how long is too long.
        joints : tuple of str
            Names for the text.
        """
        believed = self._believed
        if believed is None:
            believed = self._believed = _Sender(sender, time, received, position)
            return self._patience(believed, supervision.input_timeout)
        if not self._others and self._settled and sender == believed.identity:
            if fits:
                believed.heard(time, received, position)
                return None
            if sender is not None:
                # A bad state, or one that is no news, of the one sender there is.
                believed.received = received
                return None
        found = self._find(time, position, sender, supervision)
        if found is None:
            found = _Sender(sender, time, received, position)
            if sender is None and abs(time - believed.time) > supervision.input_timeout:
                # Its clock has jumped, or it was silent; if not, the old one will be heard again.
                self._others = [believed, *self._others][:_MAX_SENDERS]
                self._believed = found
                return self._patience(found, supervision.input_timeout)
            self._others = [found, *self._others][:_MAX_SENDERS]
        else:
            found.heard(time, received, position)
        if found is not believed:
            if not self._takes_over(found, believed, supervision.input_timeout):
                return self._refuse_other(found, believed, supervision, joints)
            self._others.remove(found)
            self._others.append(believed)
            self._believed = found
            # Heard after one another they take turns; else one has given way to the other.
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
        """Whether the believed sender is gone, or was but one stray state."""
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
        if not other.note_contradiction(believed, supervision):
            return "from another sender, which says the same"
        self._alone_since, self._differed = None, True
        since, now = other.since, other.received
        # To contradict each other both have to be there.
        if now - since > supervision.input_timeout and (
            self._is_present is not None or believed.received > since
        ):
            self._settled = False
            self.contradiction = _contradiction(other, believed, supervision, joints)
        return _contradiction(other, believed, supervision, joints)

    def _verdict(
        self, believed: _Sender, supervision: Supervision, joints: tuple[str, ...]
    ) -> str | None:
        """Return why even the believed sender's state is not to be answered, or None."""
        now, timeout = believed.received, supervision.input_timeout
        lasting = _MEMORY if self._is_present is None else timeout
        self._others = [o for o in self._others if not self._is_gone(o, now, lasting)]
        against = [o for o in self._others if self._is_against(o, believed, supervision)]
        if not against:
            if self._is_present is not None and self._differed and not self._others:
                self._settled, self._differed, self.contradiction = True, False, ""
            return self._patience(believed, timeout)
        if not believed.moved or any(other.moved for other in against):
            self._settled = False
        if self._settled:
            return None
        self._alone_since = None
        text = _contradiction(against[0], believed, supervision, joints)
        if self._is_present is not None and now - against[0].since > timeout:
            self.contradiction = text
        return text

    def _is_against(self, other: _Sender, believed: _Sender, supervision: Supervision) -> bool:
        """Whether another sender contradicts the believed one now."""
        if self._is_gone(other, believed.received, supervision.input_timeout):
            return False
        # Without identities a single state that does not fit is a bad one rather than a sender.
        if other.identity is None and (other.count == 1 or other.received < believed.began):
            return False
        return other.differed == other.received or bool(other.differs(believed, supervision).any())

    def _is_gone(self, sender: _Sender, now: float, timeout: float) -> bool:
        if self._is_present is None or sender.identity is None:
            return sender.is_silent(now, timeout)
        return not self._is_present(sender.identity)

    def _patience(self, believed: _Sender, timeout: float) -> str | None:
        """Return that a sender is not answered yet, as it was not alone for long enough."""
        if self._settled:
            return None
        now = believed.received
        if self._alone_since is None or believed.interval > timeout:
            # After a silence of all it may be the other's turn.
            self._alone_since = now
        if now - self._alone_since <= _ALONE:
            return (
                "several senders of joint states: none is answered before it was heard alone for "
                f"{_ALONE:g} s"
            )
        self._settled, self.contradiction = True, ""
        return None


class _Sender:
    """Whoever sent a series of states."""

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

    def heard(self, time: float, received: float, position: FloatArray) -> None:
        """Note a further state."""
        self.count += 1
        self.interval = received - self.received
        self.time, self.received, self.position = time, received, position
        if not self.moved:
            self.moved = position.tolist() != self._first

    def is_silent(self, now: float, timeout: float) -> bool:
        """Whether it was missed for longer than it usually takes."""
        usual = min(self.interval, _LONGEST_INTERVAL)
        return now - self.received > max(timeout, 2.0 * usual)

    def may_continue(self, time: float, position: FloatArray, supervision: Supervision) -> bool:
        """Whether a state can be this sender's next, or be of its last few moments."""
        elapsed = abs(time - self.time)
        if elapsed > supervision.input_timeout:
            return False
        return not supervision.has_jumped(position - self.position, elapsed).any()

    def differs(self, believed: _Sender, supervision: Supervision) -> BoolArray:
        """Tell of which joints (n_joints,) this sender says something else than another."""
        # By stamps of different clocks they may be far apart.
        apart = min(
            abs(self.time - believed.time),
            abs(self.received - believed.received),
            supervision.input_timeout,
        )
        bound = _AGREEMENT + 2.0 * apart * supervision.velocity
        # Written so that what is not a number differs.
        return ~(np.abs(self.position - believed.position) <= bound)

    def note_contradiction(self, believed: _Sender, supervision: Supervision) -> bool:
        """Return whether the newest state differs; remember since when."""
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
