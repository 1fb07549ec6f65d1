# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Inverse dynamics of real arms: our models and their peers, on neighbours in time and new motions.

Normalised error of one output: mean squared error by the variance of that output in the test set;
the figure is the mean over the outputs. Interpolation holds out a fifth of the rows, extrapolation
the last fifth of the recording or the motions that its file says are new. Intervals are judged by
their coverage, of each output, and by their mean score (Gneiting and Raftery, 2007), in standard
deviations of each output in the test set.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import _peers
import numpy as np
from _peer_search import best_settings
from _real_data_components import errors_by_components, print_components
from _real_data_measures import measure, summary
from _real_data_models import ModelMaker, global_model_maker, model_makers
from _real_data_report import PROTOCOLS, draw, print_means, print_table
from _real_data_sets import REPOSITORY, SETS, Split, add_data_option
from _real_data_targets import add_best_peers
from tqdm import tqdm

DETERMINISTIC = ("identified", "linear", "nearest_neighbours")
# An hour and more with five seeds.
SLOW = ("gaussian_process", "gpoe", "rbcm", "sparse_variational_gp", "lwpr")
PEERS = {peer.name: peer for peer in _peers.PEERS}


def main() -> int:
    """Measure all models on all sets."""
    options = _options()
    report: dict[str, dict[str, object]] = {}
    by_components: dict[str, dict[str, dict[int, float]]] = {}
    for name in options.sets:
        report[name] = _measure_set(name, options)
        if options.components:
            splits = _splits(name, options)
            make = global_model_maker(SETS[name], options.data_dir)
            by_components[name] = errors_by_components(
                splits, options.components, options.seeds, make
            )
    if by_components:
        print_components(by_components, options.seeds)
        report["components"] = by_components
    print(json.dumps({"benchmark": "real_data", **report}))
    return 0


def _measure_set(name: str, options: argparse.Namespace) -> dict[str, object]:
    data, splits = SETS[name], _splits(name, options)
    makers = model_makers(data, options.data_dir, options.models, options.effective_samples)
    models: dict[str, dict[str, object]] = {}
    for model, make in tqdm(makers.items(), desc=name, disable=None):
        runs = {
            protocol: _runs(name, protocol, model, make, split, options)
            for protocol, split in splits.items()
        }
        models[model] = summary({protocol: run["results"] for protocol, run in runs.items()})
        models[model]["settings"] = {protocol: run["settings"] for protocol, run in runs.items()}
    add_best_peers(models)
    print_table(name, models)
    if options.tries > 1:
        print_means(name, models)
    if "ilr" in makers and "extrapolation" in splits:
        split, ilr = splits["extrapolation"], makers["ilr"](0)
        ilr.fit(split.X, split.Y)
        draw(split, ilr, options.figures / f"real_data_{name}.png")
    return models


def _runs(
    name: str,
    protocol: str,
    model: str,
    make: ModelMaker,
    split: Split,
    options: argparse.Namespace,
) -> dict[str, Any]:
    """Settings of a model and what was measured with each seed, now or in an earlier run."""
    kept = options.keep and options.keep / f"{name}_{protocol}_{model}.json"
    runs: dict[str, Any] = {"results": []}
    if kept and kept.exists():
        runs = json.loads(kept.read_text())
    elif options.tries > 1 and model in PEERS:
        runs["settings"] = best_settings(PEERS[model], split, protocol, options.tries)
    settings, results = runs.setdefault("settings", {}), runs["results"]
    seeds = range(len(results), _n_seeds(model, options))
    for seed in tqdm(seeds, desc=f"{model}, {protocol}", disable=None):
        results.append(measure(make(seed, **settings), split))
        if kept:
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(json.dumps(runs, default=np.ndarray.tolist))
    return runs


def _splits(name: str, options: argparse.Namespace) -> dict[str, Split]:
    splits = SETS[name].splits(options.data_dir)
    return {protocol: splits[protocol] for protocol in options.protocols if protocol in splits}


def _n_seeds(name: str, options: argparse.Namespace) -> int:
    """How often to repeat a model: not at all where nothing is drawn."""
    if name in DETERMINISTIC:
        return 1
    return options.gp_seeds if name in SLOW else options.seeds


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS), metavar="SET")
    parser.add_argument(
        "--protocols", nargs="+", choices=PROTOCOLS, default=PROTOCOLS, help="only these"
    )
    parser.add_argument("--models", nargs="*", metavar="MODEL", help="only these, or none")
    parser.add_argument("--seeds", type=int, default=3, help="seeds of each model (%(default)s)")
    parser.add_argument(
        "--gp-seeds", type=int, default=1, help="the same of Gaussian processes (%(default)s)"
    )
    parser.add_argument(
        "--tries",
        type=int,
        default=1,
        help="settings of each peer that are tried on training rows; ours have one (%(default)s)",
    )
    parser.add_argument(
        "--keep",
        type=Path,
        metavar="FOLDER",
        help="go on with the seeds that an earlier run kept there",
    )
    parser.add_argument(
        "--effective-samples",
        action="store_true",
        help="let ours count samples that hardly differ as one",
    )
    parser.add_argument(
        "--components",
        nargs="+",
        type=int,
        metavar="K",
        help="also ILR with each of these numbers of components",
    )
    add_data_option(parser)
    parser.add_argument("--figures", type=Path, default=REPOSITORY / "docs" / "figures")
    options = parser.parse_args()
    for name in list(options.sets):
        missing = SETS[name].missing(options.data_dir)
        if missing:
            where = f"in {options.data_dir}: leaving {name} out (--data-dir)"
            print(f"real_data: no {', no '.join(missing)} {where}")
            options.sets.remove(name)
    return options


if __name__ == "__main__":
    sys.exit(main())
