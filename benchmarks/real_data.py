# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Inverse dynamics of real arms: our models and their peers, on neighbours in time and new motions.

Normalised error of one output: mean squared error by the variance of that output in the test set;
the figure is the mean over the outputs. Interpolation holds out every fifth row, extrapolation the
last fifth of the recording.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import _peers
import numpy as np
from _simulated_motion import inverse_dynamics_samples
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.stats import t
from tqdm import tqdm

from ilr_dynamics.regression import (
    HILR,
    ILR,
    Fallback,
    LinearFallback,
    effective_sample_weights,
)
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.identified_dynamics import IdentifiedDynamics

REPOSITORY = Path(__file__).resolve().parent.parent
Array = NDArray[np.float64]

# One configuration for all sets, chosen by tune.py. Components start narrow (a tenth of the data's
# deviation), and many more are expected than there are: a query that is not close to one is the
# fallback's.
CONFIGURATION = {
    "n_components": 1500,
    "calibration_share": 0.03,
    "concentration": 100.0,
    "input_spread": 0.1,
    "fit_scales": True,
    "max_iterations": 40,
}
# For the comparison of both models at equal size.
SMALL = {**CONFIGURATION, "n_components": 300}
SMALL_HIERARCHY = {**SMALL, "concentration": 0.01, "upper_concentration": 100.0}
N_QUERIES = 200
DETERMINISTIC = ("identified", "linear", "nearest_neighbours")
# An hour and more with five seeds.
SLOW = ("gaussian_process", "gpoe", "rbcm", "sparse_variational_gp")
# Recordings, which the project does not redistribute.
FILES = {
    "real_barrett_wam7": "real_barrett_wam7.npz",
    "ias_sarcos": "ias_sarcos.npz",
    "sl_barrett_wam7_simulated": "sl_barrett_wam7_simulated.npz",
}


@dataclass(frozen=True)
class Split:
    """Training and test rows of one protocol."""

    X: Array
    Y: Array
    X_test: Array
    Y_test: Array


class Model(Protocol):
    """What is measured of a model."""

    @property
    def n_experts(self) -> int | None:
        """Local models in use after `fit`, None if the method has none."""

    def fit(self, X: Array, Y: Array) -> None:
        """Learn from inputs (n, m) and outputs (n, d)."""

    def predict(self, X: Array) -> Array:
        """Expected outputs (n, d)."""

    def interval(self, X: Array) -> tuple[Array, Array] | None:
        """95 % interval of each output, None if the method has no opinion."""

    def predict_one(self, x: Array) -> Array:
        """Expected outputs (d,) at one input, as directly as the method allows."""


class Ours:
    """ILR or HILR with a fallback."""

    def __init__(self, model: ILR | HILR, effective_samples: bool) -> None:
        self._model = model
        self._effective_samples = effective_samples

    def fit(self, X: Array, Y: Array) -> None:
        weights = None
        if self._effective_samples:
            # By positions and velocities: differentiated accelerations are never still.
            moving = X[:, : 2 * X.shape[1] // 3]
            weights = effective_sample_weights(moving, moving.std(axis=0))
        self._model.fit(X, Y, weights)
        self._predictor = self._model.predictor()

    def predict(self, X: Array) -> Array:
        return self._model.predict(X)

    def interval(self, X: Array) -> tuple[Array, Array]:
        return self._model.predict_interval(X, 0.95)

    def predict_one(self, x: Array) -> Array:
        return self._predictor(x)[0]

    @property
    def n_experts(self) -> int:
        return self._model.n_active_


class Identified:
    """The fallback alone: the honest competitor."""

    def __init__(self, fallback: Fallback) -> None:
        self._fallback = fallback

    def fit(self, X: Array, Y: Array) -> None:
        self._fallback = self._fallback.updated(X, Y, np.ones(len(X)))

    def predict(self, X: Array) -> Array:
        return self._fallback.predict(X).mean

    def interval(self, X: Array) -> tuple[Array, Array]:
        prediction = self._fallback.predict(X)
        shape = np.sqrt(np.diagonal(self._fallback.noise_shape) * prediction.factor[:, None])
        half = t.ppf(0.975, self._fallback.dof) * shape
        return prediction.mean - half, prediction.mean + half

    def predict_one(self, x: Array) -> Array:
        return self._fallback.predict(x[None]).mean[0]

    n_experts = 1


class SharedKernels:
    """Kernels of Gaussian processes, optimised once for all methods that are made of them."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], tuple[Array, list, float]] = {}

    def __call__(self, X: Array, Y: Array, seed: int) -> tuple[list, float]:
        """Kernels for samples, and the seconds it took to find them."""
        key = id(X), seed
        if key not in self._known:
            started = time.perf_counter()
            kernels = _peers.optimised_kernels(X, Y, seed)
            # With the samples, so that no others get their identity.
            self._known[key] = X, kernels, time.perf_counter() - started
        return self._known[key][1:]


class Peer:
    """A peer whose interval is normal."""

    def __init__(self, peer: _peers.Peer, kernels: SharedKernels) -> None:
        self._peer = peer
        self._kernels = kernels
        self.shared_s = 0.0

    def fit(self, X: Array, Y: Array) -> None:
        if isinstance(self._peer, _peers.WithKernels):
            self._peer.kernels, self.shared_s = self._kernels(X, Y, self._peer.random_state)
        self._peer.fit(X, Y)

    def predict(self, X: Array) -> Array:
        return self._peer.predict(X)[0]

    def interval(self, X: Array) -> tuple[Array, Array] | None:
        mean, std = self._peer.predict(X)
        return None if std is None else (mean - 1.96 * std, mean + 1.96 * std)

    def predict_one(self, x: Array) -> Array:
        return self._peer.predict_one(x)

    @property
    def n_experts(self) -> int | None:
        return self._peer.n_experts


def _real_wam(data_dir: Path) -> dict[str, Split]:
    return _recording(data_dir / FILES["real_barrett_wam7"])


def _simulated_wam7(data_dir: Path) -> dict[str, Split]:
    return _recording(data_dir / FILES["sl_barrett_wam7_simulated"])


def _recording(path: Path) -> dict[str, Split]:
    with np.load(path, allow_pickle=False) as data:
        X = np.concatenate([data["q"], data["qd"], data["qdd"]], axis=1)
        Y, held_out = data["tau"], data["is_test"].astype(bool)
    n_early = round(0.8 * len(X))
    return {
        "interpolation": Split(X[~held_out], Y[~held_out], X[held_out], Y[held_out]),
        "extrapolation": Split(X[:n_early], Y[:n_early], X[n_early:], Y[n_early:]),
    }


def _sarcos(data_dir: Path) -> dict[str, Split]:
    with np.load(data_dir / FILES["ias_sarcos"], allow_pickle=False) as data:
        parts = [data[name] for name in ("X_train", "Y_train", "X_test", "Y_test")]
    return {"interpolation": Split(*parts)}


def _simulated_wam4(data_dir: Path) -> dict[str, Split]:
    X, Y = inverse_dynamics_samples(30000, 0)
    order = np.random.default_rng(0).permutation(len(X))
    train, test = order[:25000], order[25000:]
    return {"interpolation": Split(X[train], Y[train], X[test], Y[test])}


# Of the base frame in which the WAM's recordings were made: in their training rows the published
# inertial parameters explain torques with gravity along +z, and make them worse along -z.
UPSIDE_DOWN = (0.0, 0.0, 9.81)
# Data and, where there is a description of the arm, its name.
SETS: dict[str, tuple[Callable[[Path], dict[str, Split]], str | None]] = {
    "real_barrett_wam7": (_real_wam, "wam7"),
    "ias_sarcos": (_sarcos, None),
    "sl_barrett_wam7_simulated": (_simulated_wam7, "wam7"),
    "simulated_wam4": (_simulated_wam4, "wam4"),
}


def fallback_for(robot: str | None) -> Fallback:
    """What predicts where no local model has data."""
    if robot is None:
        return LinearFallback()
    gravity = UPSIDE_DOWN if robot == "wam7" else (0.0, 0.0, -9.81)
    return IdentifiedDynamics.from_description(load_description(robot), gravity=gravity)


def _makers(
    robot: str | None, names: list[str] | None, effective_samples: bool
) -> dict[str, Callable[[int], Model]]:
    """Models by name, each made from a seed; peers that are not installed are left out."""

    def ours(kind: type[ILR] | type[HILR], settings: dict[str, object]) -> Callable[[int], Model]:
        return lambda seed: Ours(
            kind(**settings, fallback=fallback_for(robot), random_state=seed), effective_samples
        )

    makers = {
        "ilr": ours(ILR, CONFIGURATION),
        "ilr_300": ours(ILR, SMALL),
        "hilr_300": ours(HILR, SMALL_HIERARCHY),
    }
    if robot is not None:
        makers["identified"] = lambda seed: Identified(fallback_for(robot))
    kernels = SharedKernels()
    for peer in _peers.PEERS:
        if peer.available():
            makers[peer.name] = lambda seed, peer=peer: Peer(peer(random_state=seed), kernels)
        else:
            print(f"real_data: {peer.name} is left out: {peer.unavailable}", file=sys.stderr)
    return {name: make for name, make in makers.items() if names is None or name in names}


def _measure(model: Model, split: Split) -> dict[str, object]:
    started = time.perf_counter()
    model.fit(split.X, split.Y)
    fitted = time.perf_counter()
    error = np.mean((model.predict(split.X_test) - split.Y_test) ** 2, axis=0)
    result: dict[str, object] = {
        "nmse": float(np.mean(error / split.Y_test.var(axis=0))),
        "mse": float(np.mean(error)),
        "fit_s": fitted - started + getattr(model, "shared_s", 0.0),
        "components": model.n_experts,
    }
    interval = model.interval(split.X_test)
    if interval is not None:
        inside = np.mean((split.Y_test >= interval[0]) & (split.Y_test <= interval[1]), axis=0)
        result["coverage"] = [float(np.mean(inside)), float(np.min(inside))]
    times = []
    for x in split.X_test[:: max(1, len(split.X_test) // N_QUERIES)]:
        begun = time.perf_counter()
        model.predict_one(x)
        times.append(time.perf_counter() - begun)
    result["query_us"] = 1e6 * float(np.median(times))
    return result


def main() -> int:
    """Measure all models on all sets."""
    options = _options()
    report: dict[str, dict[str, dict[str, object]]] = {}
    for name in options.sets:
        load, robot = SETS[name]
        splits = load(options.data_dir)
        report[name] = {}
        makers = _makers(robot, options.models, options.effective_samples)
        for model_name, make in tqdm(makers.items(), desc=name, file=sys.stderr):
            n_seeds = _n_seeds(model_name, options)
            report[name][model_name] = _summary(
                {
                    protocol: [
                        _measure(make(seed), split)
                        for seed in tqdm(range(n_seeds), desc=f"{model_name}, {protocol}")
                    ]
                    for protocol, split in splits.items()
                }
            )
        _print_table(name, report[name])
        if "ilr" in makers and "extrapolation" in splits:
            _draw(splits["extrapolation"], robot, options.figures / f"real_data_{name}.png")
    print(json.dumps({"benchmark": "real_data", **report}))
    return 0


def _n_seeds(name: str, options: argparse.Namespace) -> int:
    """How often to repeat a model: not at all where nothing is drawn."""
    if name in DETERMINISTIC:
        return 1
    return options.gp_seeds if name in SLOW else options.seeds


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS), metavar="SET")
    parser.add_argument("--models", nargs="+", metavar="MODEL", help="only these")
    parser.add_argument("--seeds", type=int, default=1, help="seeds of each model (%(default)s)")
    parser.add_argument(
        "--gp-seeds", type=int, default=1, help="the same of Gaussian processes (%(default)s)"
    )
    parser.add_argument(
        "--effective-samples",
        action="store_true",
        help="let ours count samples that hardly differ as one",
    )
    parser.add_argument(
        "--data-dir",
        type=Path,
        default=Path(os.environ.get("ILR_DYNAMICS_DATA", REPOSITORY.parent / "shared" / "data")),
        help="folder of the recordings",
    )
    parser.add_argument("--figures", type=Path, default=REPOSITORY / "docs" / "figures")
    options = parser.parse_args()
    for name, file in FILES.items():
        if name in options.sets and not (options.data_dir / file).is_file():
            print(f"real_data: no {file} in {options.data_dir}: leaving {name} out (--data-dir)")
            options.sets.remove(name)
    return options


def _summary(runs: dict[str, list[dict[str, object]]]) -> dict[str, object]:
    """Medians over the seeds, and the spread of the errors."""
    summary: dict[str, object] = {"coverage": {}, "spread": {}, "mse": {}}
    for protocol, results in runs.items():
        errors = [result["nmse"] for result in results]
        summary[protocol] = _rounded(np.median(errors))
        summary["spread"][protocol] = _rounded(np.ptp(errors))
        summary["mse"][protocol] = _rounded(np.median([result["mse"] for result in results]))
        if "coverage" in results[0]:
            coverage = np.median([result["coverage"] for result in results], axis=0)
            summary["coverage"][protocol] = [_rounded(value) for value in coverage]
    first = next(iter(runs.values()))
    summary["seeds"] = len(first)
    summary["components"] = first[0]["components"]
    summary["fit_s"] = _rounded(np.median([result["fit_s"] for result in first]))
    summary["query_us"] = _rounded(np.median([result["query_us"] for result in first]))
    return summary


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


def _print_table(name: str, models: dict[str, dict[str, object]]) -> None:
    print(f"\n{name} (coverage of 95 % intervals: mean, lowest of an output)")
    header = (
        f"{'model':28}" + f"{'interpolation':>22}{'cover':>14}{'extrapolation':>22}{'cover':>14}"
    )
    print(header + f"{'MSE':>10}{'experts':>9}{'fit s':>8}{'query us':>10}{'seeds':>6}")
    for model, figures in models.items():
        cells = ""
        for protocol in ("interpolation", "extrapolation"):
            coverage = figures["coverage"].get(protocol)
            error = f"{figures[protocol]:.4g}" if protocol in figures else "-"
            if figures["spread"].get(protocol):
                error += f" (range {figures['spread'][protocol]:.1g})"
            cells += f"{error:>22}"
            covered = f"{coverage[0]:.3f}, {coverage[1]:.3f}" if coverage else "-"
            cells += f"{covered:>14}"
        mse = figures["mse"].get("interpolation", "-")
        experts = figures["components"] if figures["components"] is not None else "-"
        print(
            f"{model:28}{cells}{mse:>10}{experts:>9}{figures['fit_s']:>8.3g}"
            f"{figures['query_us']:>10.4g}{figures['seeds']:>6}"
        )


def _draw(split: Split, robot: str, path: Path) -> None:
    """Measured and predicted torque with 95 % bands over the first 20 s of new motions."""
    model = Ours(ILR(**CONFIGURATION, fallback=fallback_for(robot), random_state=0), False)
    model.fit(split.X, split.Y)
    shown = slice(0, min(1000, len(split.X_test)))
    mean, (lower, upper) = model.predict(split.X_test), model.interval(split.X_test)
    n_outputs = split.Y_test.shape[1]
    figure = Figure(figsize=(9.0, 1.3 * n_outputs), layout="constrained")
    panels = figure.subplots(n_outputs, 1, sharex=True)
    for joint, axes in enumerate(panels):
        rows = np.arange(len(split.X_test))[shown]
        axes.fill_between(
            rows, lower[shown, joint], upper[shown, joint], color="#2471a3", alpha=0.25, lw=0
        )
        axes.plot(rows, split.Y_test[shown, joint], color="k", lw=0.8, label="measured")
        axes.plot(rows, mean[shown, joint], color="#c0392b", lw=0.8, label="predicted")
        axes.set_ylabel(f"j{joint + 1} [Nm]")
    panels[0].legend(fontsize=7, frameon=False, ncols=2)
    panels[-1].set_xlabel("sample")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    sys.exit(main())
