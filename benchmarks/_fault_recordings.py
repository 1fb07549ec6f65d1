# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Recordings whose truth is known: of a motion, the torques that it really takes.

Most motions are given, and torques follow by inverse dynamics, friction and motors included; some
are what the simulated plant does in the hands of a controller. A command answers the state that
has its stamp, acts one period later and is held for one; the effort of a state is what acts from
that state on.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from _fault_arms import AS_DESCRIBED, Arm, Drives, World
from _fault_motions import STYLES, Motion, Room, draw_motion
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.signal import lfilter

from ilr_dynamics.arrays import BoolArray, FloatArray, IndexArray
from ilr_dynamics.recording import RecordingWriter
from ilr_dynamics.recording.joint_state import encode_joint_state
from ilr_dynamics.robot.encoder import Encoder
from ilr_dynamics.robot.friction import JointFriction
from ilr_dynamics.robot.plant import WamPlant
from ilr_dynamics.robot.torque_ripple import TorqueRipple

__all__ = [
    "COMMAND_TOPIC",
    "STATE_TOPIC",
    "JointStateBlock",
    "Recorded",
    "Setup",
    "Stream",
    "draw_setup",
    "record",
    "room_of",
    "simulate",
    "write_recording",
    "write_streams",
]

Stamps = NDArray[np.int64]

STATE_TOPIC, COMMAND_TOPIC = "/joint_states", "/joint_torque_command"
NANOSECONDS = 1_000_000_000
# Periods from a stamp to the middle of the torque's action.
COMMAND_DELAY, EFFORT_DELAY = 1.5, 0.5
# Recorded motions stay away from the torque limits, of which saturation is about.
OF_TORQUE_LIMIT = 0.8
# Both joints of a recording by which delays are judged, rad/s.
FAST = 0.3
# Of a recording, and of one of slow motion, s.
DURATION, SLOW_DURATION = (12.0, 18.0), (20.0, 30.0)
TRIES = 30


@dataclass(frozen=True)
class Setup:
    """
    All that is drawn of a recording without a fault.

    Attributes
    ----------
    arm : Arm
    motion : Motion
    drives : Drives
    seed : int
        Of what is noise.
    rate : float
        States a second, Hz.
    duration : float
        s.
    counts : float
        Of an encoder, in units of the plant's.
    velocity_cutoff : float or None
        Of the driver's velocities, rad/s; None: it sends none.
    jitter : float
        Standard deviation of the time between states, in periods.
    command_noise, effort_noise : float
        Standard deviations, of the rms of each joint's torque.
    commanded : bool
        Whether commands were recorded, or efforts alone.
    measured : bool
        Whether efforts are measured where there are commands; else the driver repeats those.
    simulated : bool
        Whether a controller moves the plant along the motion.
    storage : str
    shuffled : bool
        Whether messages name the joints in another order.
    """

    arm: Arm
    motion: Motion
    drives: Drives
    seed: int
    rate: float
    duration: float
    counts: float
    velocity_cutoff: float | None
    jitter: float
    command_noise: float
    effort_noise: float
    commanded: bool
    measured: bool
    simulated: bool
    storage: str
    shuffled: bool

    @property
    def period(self) -> float:
        return 1.0 / self.rate

    @property
    def delay(self) -> float:
        """Time from a state to the middle of the action of the torque with its stamp, s."""
        return (COMMAND_DELAY if self.commanded else EFFORT_DELAY) * self.period

    def moving(self, least: float = 0.2) -> IndexArray:
        """Joints that move at least so far, rad."""
        return np.flatnonzero(np.ptp(self.sketch()[0], axis=0) >= least)

    def fast(self) -> bool:
        """Whether two joints exceed 0.3 rad/s."""
        return int(np.count_nonzero(np.abs(self.sketch()[1]).max(axis=0) > FAST)) >= 2

    def sketch(self, every: float = 0.02) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Motion at some times only."""
        return self.motion.at(np.arange(0.0, self.duration, every))


@dataclass
class Stream:
    """
    Messages of one topic, in the order in which they were sent.

    Attributes
    ----------
    stamp, received : ndarray of shape (n,), int64
        Of header and bag, ns.
    sent : ndarray of shape (n,)
        When it was really written, s: the order in the file.
    position, velocity, effort : ndarray of shape (n, n_joints) or None
    """

    stamp: Stamps
    received: Stamps
    sent: FloatArray
    position: FloatArray | None = None
    velocity: FloatArray | None = None
    effort: FloatArray | None = None

    def taken(self, rows: IndexArray | BoolArray) -> Stream:
        """Return some messages."""
        fields = {
            name: None if values is None else values[rows] for name, values in vars(self).items()
        }
        return Stream(**fields)

    def joined(self, other: Stream) -> Stream:
        """Return the messages of both, of the same fields, in the order of sending."""
        fields = {}
        for name, values in vars(self).items():
            fields[name] = (
                None if values is None else np.concatenate([values, getattr(other, name)])
            )
        joined = Stream(**fields)
        return joined.taken(np.argsort(joined.sent, kind="stable"))


@dataclass
class Recorded:
    """
    A recording in memory, and what is true of it.

    Attributes
    ----------
    setup : Setup
    states : Stream
    commands : Stream or None
    delay : float
        Truth: from a stamp to the middle of the action of its torque, s.
    time : ndarray of shape (n,)
        Truth: of the states within the motion, s.
    motion, torque : tuple of 3 ndarray and ndarray of shape (n, n_joints)
        Truth at the states: position, velocity, acceleration; torque at `delay` later, without
        noise, Nm. Empty if simulated.
    """

    setup: Setup
    states: Stream
    commands: Stream | None
    delay: float
    time: FloatArray
    motion: tuple[FloatArray, ...] = ()
    torque: FloatArray | None = None

    @property
    def streams(self) -> list[Stream]:
        return [self.states] if self.commands is None else [self.states, self.commands]

    def torques(self) -> list[FloatArray]:
        """Arrays, to change in place, of all torques."""
        return [stream.effort for stream in self.streams if stream.effort is not None]


def room_of(arm: Arm, centre: Mapping[int, float] | None = None) -> Room:
    """Return where the joints of an arm may go."""
    robot = arm.description
    return Room(robot.position_lower, robot.position_upper, robot.velocity_limit, centre or {})


def draw_setup(
    random: Generator,
    arm: Arm,
    storage: str,
    styles: Collection[str] = STYLES,
    simulated: float = 0.0,
    commanded: float = 0.7,
    velocities: float = 0.9,
    centre: Mapping[int, float] | None = None,
) -> Setup:
    """
    Draw a recording without a fault.

    Parameters
    ----------
    random : Generator
    arm : Arm
    storage : str
    styles : collection of str
        Motions to choose from.
    simulated, commanded, velocities : float
        Probabilities that a controller moves the plant, that commands were recorded, and that
        the driver sends velocities.
    centre : mapping of int to float, optional
        Joints that move about a given angle, rad.
    """
    robot = arm.description
    for _ in range(TRIES):
        style = str(random.choice(sorted(styles)))
        by_plant = bool(random.uniform() < simulated)
        lasts = SLOW_DURATION if style == "slow" else DURATION
        duration = float(random.uniform(*lasts))
        at_rest = by_plant or bool(random.uniform() < 0.25)
        pauses = int(random.choice([0, 0, 1, 2]))
        setup = Setup(
            arm=arm,
            motion=draw_motion(random, room_of(arm, centre), duration, style, pauses, at_rest),
            drives=_draw_drives(random, arm),
            seed=int(random.integers(2**31)),
            rate=float(random.choice([250.0, 500.0, 500.0, 500.0, 500.0, 1000.0])),
            duration=duration,
            counts=float(np.exp(random.uniform(0.0, np.log(8.0)))),
            velocity_cutoff=(
                float(np.exp(random.uniform(np.log(120.0), np.log(600.0))))
                if random.uniform() < velocities
                else None
            ),
            jitter=float(random.choice([0.0, random.uniform(0.0, 0.05)])),
            command_noise=float(np.exp(random.uniform(np.log(0.001), np.log(0.01)))),
            effort_noise=float(np.exp(random.uniform(np.log(0.002), np.log(0.02)))),
            commanded=bool(random.uniform() < commanded),
            measured=bool(random.uniform() < 0.5),
            simulated=by_plant,
            storage=storage,
            shuffled=bool(random.uniform() < 0.3),
        )
        # A motion that asks for too much is made slower.
        for _ in range(4):
            if _within(setup):
                return setup
            setup = replace(setup, motion=setup.motion.slower(1.3))
    raise RuntimeError(f"no motion found for {robot.name}")


def _within(setup: Setup) -> bool:
    """Whether a motion keeps to the limits of positions and torques."""
    robot = setup.arm.description
    q, v, a = setup.sketch()
    margin = 0.02
    inside = (q >= robot.position_lower + margin) & (q <= robot.position_upper - margin)
    start = np.zeros(setup.arm.n_joints)
    torque = setup.arm.torque(q, v, a, setup.drives, start)
    return bool(inside.all() and (np.abs(torque) < OF_TORQUE_LIMIT * robot.torque_limit).all())


def _draw_drives(random: Generator, arm: Arm) -> Drives:
    """Friction and ripple about those of the plant."""
    usual, n = arm.config.friction, arm.n_joints
    return Drives(
        JointFriction(
            dry=usual.dry * np.exp(random.uniform(np.log(0.4), np.log(1.6), n)),
            viscous=usual.viscous * np.exp(random.uniform(np.log(0.5), np.log(2.0), n)),
            position_amplitude=random.uniform(0.0, usual.position_amplitude),
            position_period=usual.position_period * random.uniform(0.7, 1.5),
            load_coefficient=random.uniform(0.0, 0.05),
            stribeck_amplitude=random.uniform(0.0, 0.6),
            stribeck_velocity=usual.stribeck_velocity * random.uniform(0.5, 2.0),
        ),
        presliding=float(np.exp(random.uniform(np.log(1e-4), np.log(1e-3)))),
        ripple=random.uniform(0.0, 1.2),
        ripple_phase=random.uniform(0.0, 2.0 * np.pi, n),
    )


def record(setup: Setup, world: World = AS_DESCRIBED) -> Recorded:
    """
    Make the recording of a setup.

    Parameters
    ----------
    setup : Setup
    world : World
        What the arm really stands in and carries. The plant knows no other than the described.
    """
    if setup.simulated:
        if world != AS_DESCRIBED:
            raise ValueError("the simulated plant is as it is described")
        return simulate(setup)
    arm, period, random = setup.arm, setup.period, np.random.default_rng(setup.seed)
    time = np.arange(round(setup.duration * setup.rate)) * period
    time = time + period * setup.jitter * random.standard_normal(len(time)).clip(-3.0, 3.0)
    # What acts during the period after each state is known from one period before the first on.
    acting = np.concatenate([[time[0] - period], time, [time[-1] + period]]) + 0.5 * period
    motion = setup.motion.at(acting + world.extra_delay)
    start = random.uniform(-0.7, 0.7, arm.n_joints)
    torque = arm.torque(*motion, setup.drives, start, world)
    size = np.sqrt(np.mean(torque**2, axis=0))
    effort = torque[1:-1]
    command = torque[2:] + setup.command_noise * size * random.standard_normal(effort.shape)
    truth = torque[2:] if setup.commanded else effort
    if setup.measured or not setup.commanded:
        effort = effort + setup.effort_noise * size * random.standard_normal(effort.shape)
    else:
        effort = np.vstack([effort[:1], command[:-1]])
    at_states = setup.motion.at(time)
    measured = _encode(setup, at_states[0], random.uniform(0.0, 1.0, arm.n_joints))
    velocity = _driver_velocity(setup, time, measured, at_states[1][0])
    recorded = _as_streams(setup, random, time, measured, velocity, effort, command)
    recorded.delay = setup.delay + world.extra_delay
    recorded.motion, recorded.torque = at_states, truth
    return recorded


def simulate(
    setup: Setup,
    steps: FloatArray | None = None,
    gains: tuple[FloatArray, FloatArray] | None = None,
) -> Recorded:
    """
    Let a controller move the plant: feed-forward of the model, and feedback.

    Parameters
    ----------
    setup : Setup
    steps : ndarray of shape (n, n_joints), optional
        Added to the reference of the position at each state, rad.
    gains : tuple of 2 ndarray of shape (n_joints,), optional
        Of position and velocity, Nm/rad and Nms/rad; by default those of the arm's parameters.
    """
    arm, period, random = setup.arm, setup.period, np.random.default_rng(setup.seed)
    n = round(setup.duration * setup.rate)
    time = np.arange(n + 1) * period
    config = replace(
        arm.config,
        cycle=period,
        start_offset=0.0,
        friction=setup.drives.friction,
        ripple=TorqueRipple(
            setup.drives.ripple * arm.config.ripple.amplitude, arm.config.ripple.periods_per_turn
        ),
        encoder=Encoder(
            round(setup.counts * arm.config.encoder.counts_per_turn),
            setup.velocity_cutoff or arm.config.encoder.velocity_cutoff,
        ),
    )
    plant = WamPlant(arm.description, config, seed=setup.seed)
    reference, reference_velocity, _ = setup.motion.at(time)
    forward = arm.rigid_torque(*setup.motion.at(time + COMMAND_DELAY * period))
    if steps is not None:
        reference = reference + steps
    kp, kd = gains or (arm.kp, arm.kd)
    measurement = plant.reset(reference[0])
    rows = []
    for k in range(n):
        wanted = (
            forward[k]
            + kp * (reference[k] - measurement.position)
            + kd * (reference_velocity[k] - measurement.velocity)
        )
        after = plant.step(wanted)
        # The torque in the answer of the plant is the one that was asked for, within its limits.
        rows.append((measurement.position, measurement.velocity, measurement.torque, after.torque))
        measurement = after
    position, velocity, effort, command = (np.array(part) for part in zip(*rows, strict=True))
    has_velocity = setup.velocity_cutoff is not None
    if setup.measured or not setup.commanded:
        size = np.sqrt(np.mean(effort**2, axis=0))
        effort = effort + setup.effort_noise * size * random.standard_normal(effort.shape)
    recorded = _as_streams(
        setup, random, time[:n], position, velocity if has_velocity else None, effort, command
    )
    # Semi-implicit Euler moves by the new velocity: the change of velocity that a torque makes
    # during a step is in the positions as if it had acted half a step earlier.
    recorded.delay -= 0.5 * config.physics_step
    return recorded


def _encode(setup: Setup, position: FloatArray, phase: FloatArray) -> FloatArray:
    """Positions in the steps of the motors' encoders."""
    counts = round(setup.counts * setup.arm.config.encoder.counts_per_turn) / (2.0 * np.pi)
    gears = setup.arm.transmission
    steps = np.rint(position @ gears.joint_to_motor.T * counts - phase) + phase
    return np.asarray(steps / counts @ gears.motor_to_joint.T)


def _driver_velocity(
    setup: Setup, time: FloatArray, position: FloatArray, first: FloatArray
) -> FloatArray | None:
    """Low-passed differences of the positions, as drivers send them."""
    if setup.velocity_cutoff is None:
        return None
    gain = -np.expm1(-setup.velocity_cutoff * setup.period)
    slope = np.diff(position, axis=0) / np.diff(time)[:, np.newaxis]
    slope = np.vstack([first, slope])
    velocity, _ = lfilter(
        [gain], [1.0, gain - 1.0], slope, axis=0, zi=(1.0 - gain) * first[np.newaxis]
    )
    return np.asarray(velocity)


def _as_streams(
    setup: Setup,
    random: Generator,
    time: FloatArray,
    position: FloatArray,
    velocity: FloatArray | None,
    effort: FloatArray,
    command: FloatArray,
) -> Recorded:
    """Stamp messages, and have them arrive."""
    epoch = int(random.integers(1_600_000_000, 1_800_000_000)) * NANOSECONDS
    stamp = epoch + np.round(NANOSECONDS * (time + 1.0)).astype(np.int64)

    def stream(late: tuple[float, float], **values: FloatArray | None) -> Stream:
        # Messages of a topic arrive in order.
        sent = np.maximum.accumulate(time + setup.period * random.uniform(*late, len(time)))
        received = stamp + np.round(NANOSECONDS * (sent - time)).astype(np.int64)
        return Stream(stamp.copy(), received, sent, **values)

    states = stream((0.05, 0.25), position=position, velocity=velocity, effort=effort)
    commands = stream((0.3, 0.7), effort=command) if setup.commanded else None
    return Recorded(setup, states, commands, setup.delay, time)


class JointStateBlock:
    """
    Serialises many JointState messages of the same joints and fields at once.

    Parameters
    ----------
    names : list of str
    fields : collection of {"position", "velocity", "effort"}
        That are not empty.
    """

    def __init__(self, names: list[str], fields: Collection[str]) -> None:
        marks = {
            name: 0.1 * (2 + k) + np.arange(len(names)) for k, name in enumerate(sorted(fields))
        }
        template = encode_joint_state(0, names, **marks)
        self._template = np.frombuffer(template, dtype=np.uint8)
        self._places = {name: template.index(mark.tobytes()) for name, mark in marks.items()}

    def encode(self, stamp: Stamps, **fields: FloatArray) -> list[bytes]:
        """Return the CDR of each message; the fields have shape (n, n_joints)."""
        n = len(stamp)
        block = np.tile(self._template, (n, 1))
        seconds, rest = np.divmod(stamp, NANOSECONDS)
        head = np.column_stack([seconds.astype("<i4").view("<u4"), rest.astype("<u4")])
        block[:, 4:12] = np.ascontiguousarray(head).view(np.uint8).reshape(n, 8)
        for name, place in self._places.items():
            values = np.ascontiguousarray(fields[name], dtype="<f8").view(np.uint8).reshape(n, -1)
            block[:, place : place + values.shape[1]] = values
        size, data = block.shape[1], block.tobytes()
        return [data[k * size : (k + 1) * size] for k in range(n)]


def write_recording(recorded: Recorded, folder: Path) -> None:
    """Write a recording to a folder that does not exist yet."""
    with RecordingWriter(folder, recorded.setup.storage) as writer:
        write_streams(writer, recorded)


def write_streams(writer: RecordingWriter, recorded: Recorded) -> None:
    """Write messages in the order in which they were sent."""
    setup = recorded.setup
    names = np.array(setup.arm.description.joint_names)
    order = np.arange(len(names))
    if setup.shuffled:
        order = np.random.default_rng(setup.seed).permutation(len(names))
    messages: list[tuple[str, int, bytes]] = []
    sent = []
    for topic, stream in zip((STATE_TOPIC, COMMAND_TOPIC), recorded.streams, strict=False):
        fields = {
            name: values[:, order]
            for name in ("position", "velocity", "effort")
            if (values := getattr(stream, name)) is not None
        }
        coded = JointStateBlock(names[order].tolist(), fields).encode(stream.stamp, **fields)
        received = stream.received.tolist()
        messages += [(topic, at, data) for at, data in zip(received, coded, strict=True)]
        sent.append(stream.sent)
    for row in np.argsort(np.concatenate(sent), kind="stable").tolist():
        writer.write(*messages[row])
