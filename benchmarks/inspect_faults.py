# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
What the inspection of recordings finds: faults of each kind, and no fault in sound ones.

Recordings of three arms in both storages are made one by one, each with one fault of a strength
that is drawn from the range of its kind, inspected and removed; ``--ranges`` prints the ranges,
and why none begins lower. A fault is named by a warning or an error of its kind that names the
joint, where it is of one; a delay has to be right within half a millisecond. In sound recordings,
of motions and conditions of all sorts, any warning is a false alarm. Thresholds are chosen on the
seeds of ``--seeds tune`` only. Each recording depends on seeds, kind, arm and number alone. Time
and peak memory are those of a process that inspects one large recording.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from _fault import Fault
from _fault_arms import ARMS, load_arm
from _fault_judgement import alarms, delay_error, is_named
from _fault_ranges import RANGES
from _fault_recordings import Recorded, draw_setup, record, write_recording
from _faults import FAULTS, make_fault
from _reading_cost import reading_cost
from numpy.random import Generator
from tqdm import tqdm

from ilr_dynamics.inspection import KINDS, Finding, inspect_recording

# Misses on those that are spent (and on 1 to 3) were looked at, and mended in kind: they judge no
# more.
SEEDS = {"judge": 5, "tune": 0, "spent": 4}
CLEAN = "clean"
STORAGES = ("mcap", "sqlite3")
# Of the sound recordings, those that the simulated plant makes in the hands of a controller.
SIMULATED = 0.2
GIGABYTES = {"judge": 1.0, "tune": 0.2, "spent": 1.0}


@dataclass
class Tally:
    """What became of the recordings of one kind."""

    recordings: int = 0
    right: int = 0
    others: int = 0
    missed: list[float] = field(default_factory=list)


@dataclass
class Results:
    """What became of all recordings."""

    tallies: dict[str, Tally] = field(default_factory=dict)
    delay_errors: list[float] = field(default_factory=list)
    delays_unsaid: int = 0

    def add_delay(self, recorded: Recorded, findings: Sequence[Finding]) -> None:
        """Note the error of the delay that is said of a recording fast enough to show it."""
        if not recorded.setup.fast():
            return
        error = delay_error(recorded, findings)
        if error is None:
            self.delays_unsaid += 1
        else:
            self.delay_errors.append(error)


def main() -> int:
    """Make and inspect recordings; the figures are the result."""
    options = _options()
    if options.ranges:
        _print_ranges()
        return 0
    results = Results()
    cost: dict[str, Any] = {"seconds_per_gb": None, "peak_mb": None}
    with tempfile.TemporaryDirectory() as folder:
        _inspect_all(options, Path(options.keep or folder), results)
        if options.gigabytes:
            cost = reading_cost(Path(folder), options.gigabytes, sys.stderr.isatty())
    _print_table(results)
    print(json.dumps({"benchmark": "inspect_faults", **_summary(options, results), **cost}))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument(
        "--seeds", choices=SEEDS, default="judge", help="thresholds are chosen on those to tune"
    )
    parser.add_argument("--only", nargs="+", choices=FAULTS, metavar="KIND", help="of faults")
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=ARMS, help="(all)")
    parser.add_argument(
        "--count", type=int, default=10, help="faults of each kind on each arm (%(default)s)"
    )
    parser.add_argument(
        "--clean", type=int, default=100, help="sound recordings of all arms (%(default)s)"
    )
    parser.add_argument(
        "--gigabytes",
        type=float,
        help="size of the recording that is timed; 0: none (1; 0.2 to tune; 0 with --only)",
    )
    parser.add_argument(
        "--list-missed", action="store_true", help="print each missed fault and false alarm"
    )
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="leave the recordings here")
    parser.add_argument("--ranges", action="store_true", help="print the ranges of strength only")
    options = parser.parse_args()
    if options.gigabytes is None:
        options.gigabytes = 0.0 if options.only else GIGABYTES[options.seeds]
    return options


def _inspect_all(options: argparse.Namespace, folder: Path, results: Results) -> None:
    kinds = options.only or list(FAULTS)
    plan = [
        (kind, arm, number)
        for kind in kinds
        for arm in options.arms
        for number in range(options.count)
    ]
    plan += [(CLEAN, options.arms[k % len(options.arms)], k) for k in range(options.clean)]
    for kind, arm, number in tqdm(plan, desc="recordings", disable=None):
        tally = results.tallies.setdefault(kind, Tally())
        tally.recordings += 1
        label = f"{kind}_{arm}_{number}"
        if kind == CLEAN:
            recorded = _make_clean(options.seeds, arm, number)
            findings, story = _inspect(recorded, folder / label, bool(options.keep))
            results.add_delay(recorded, findings)
            right = not alarms(findings) and not story
            told = f"{label} ({_conditions(recorded)})"
        else:
            random = _random(options.seeds, kind, arm, number)
            fault = make_fault(kind, random, load_arm(arm), STORAGES[number % 2])
            findings, story = _inspect(fault.recorded, folder / label, bool(options.keep))
            if kind == "torque_delay":
                results.add_delay(fault.recorded, findings)
            right = is_named(fault, findings) and not story
            tally.others += any(found.kind != kind for found in alarms(findings))
            told = f"{label} ({_strength(fault)}; {_conditions(fault.recorded)})"
            if not right:
                tally.missed.append(fault.strength)
        tally.right += right
        if options.list_missed and not right:
            tqdm.write("\n".join([told, *_told(findings, kind), *filter(None, [story])]))


def _random(seeds: str, kind: str, arm: str, number: int) -> Generator:
    return np.random.default_rng([SEEDS[seeds], crc32(kind.encode()), ARMS.index(arm), number])


def _make_clean(seeds: str, arm: str, number: int) -> Recorded:
    random = _random(seeds, CLEAN, arm, number)
    storage = STORAGES[number // len(ARMS) % 2]
    return record(draw_setup(random, load_arm(arm), storage, simulated=SIMULATED))


def _inspect(recorded: Recorded, bag: Path, keep: bool) -> tuple[Sequence[Finding], str]:
    """Write, inspect and remove a recording; what was found, and what went wrong with that."""
    write_recording(recorded, bag)
    try:
        return inspect_recording(bag, recorded.setup.arm.settings).findings, ""
    except Exception as error:
        # It never raises for a bad recording: one that does has not named the fault.
        return (), f"    raised {type(error).__name__}: {error}"
    finally:
        if not keep:
            shutil.rmtree(bag)


def _strength(fault: Fault) -> str:
    unit = RANGES[fault.kind].unit
    joints = f" of {', '.join(fault.joints)}" if fault.joints else ""
    delay = f", {1e3 * fault.recorded.delay:.2f} ms in all" if fault.kind == "torque_delay" else ""
    return f"{fault.variant}: {fault.strength:.3g} {unit}{joints}{delay}"


def _conditions(recorded: Recorded) -> str:
    setup = recorded.setup
    parts = [setup.motion.style, f"{setup.rate:.0f} Hz", f"{setup.duration:.0f} s", setup.storage]
    parts.append("commands" if setup.commanded else "efforts")
    if setup.velocity_cutoff is None:
        parts.append("no velocities")
    if setup.simulated:
        parts.append("by the plant")
    return ", ".join(parts)


def _told(findings: Sequence[Finding], kind: str) -> Iterator[str]:
    """Lines of the findings above info, and of those of a kind."""
    for found in findings:
        if found in alarms([found]) or found.kind == kind:
            value = "" if found.value is None else f" {found.value:.4g} {found.unit}"
            yield f"    {found.severity} {found.kind} {found.joint}{value}: {found.text}"


def _print_ranges() -> None:
    for kind, allowed in RANGES.items():
        print(f"{kind}: {KINDS[kind]}")
        print(f"    {allowed.low:.3g} to {allowed.high:.3g} {allowed.unit}")
        print(textwrap.indent(textwrap.fill(allowed.reason, 90), "    "))


def _print_table(results: Results) -> None:
    """Print a row a kind; where faults were missed, the strengths of the missed."""
    print(f"{'':18}{'made':>6}{'right':>7}{'others':>8}  strengths missed")
    for kind, tally in results.tallies.items():
        missed = ", ".join(f"{strength:.3g}" for strength in sorted(tally.missed)[:6])
        if tally.missed:
            more = " ..." if len(tally.missed) > 6 else ""
            missed += f"{more} {RANGES[kind].unit}"
        print(f"{kind:18}{tally.recordings:>6}{tally.right:>7}{tally.others:>8}  {missed}")
    print("(others: recordings in which something else was said to be wrong as well)")


def _summary(options: argparse.Namespace, results: Results) -> dict[str, Any]:
    faults = {kind: tally for kind, tally in results.tallies.items() if kind != CLEAN}
    clean = results.tallies.get(CLEAN, Tally())
    errors = results.delay_errors
    return {
        "seeds": options.seeds,
        "kinds": len(faults),
        "faults": sum(tally.recordings for tally in faults.values()),
        "named": sum(tally.right for tally in faults.values()),
        "named_by_kind": {kind: tally.right for kind, tally in faults.items()},
        "clean": clean.recordings,
        "false_alarms": clean.recordings - clean.right,
        "delay_error_ms": float(f"{max(errors):.3g}") if errors else None,
        "delays_unsaid": results.delays_unsaid,
    }


if __name__ == "__main__":
    sys.exit(main())
