# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What is required of our models on real recordings, and how far the best peer is from them."""

from __future__ import annotations

from _real_data_measures import rounded
from _real_data_models import OURS

__all__ = ["MOST_OF_BEST_K", "add_best_peers", "fulfilled"]

Figures = dict[str, object]

# Largest normalised error, median over the seeds.
LARGEST_ERROR = {
    ("real_barrett_wam7", "interpolation"): 0.0014,
    ("real_barrett_wam7", "extrapolation"): 0.124,
    ("ias_sarcos", "interpolation"): 0.00042,
    ("real_baxter7", "interpolation"): 0.0284,
    ("real_baxter7", "extrapolation"): 0.116,
    ("real_sarcos_small", "interpolation"): 0.0218,
    ("real_sarcos_small", "extrapolation"): 0.123,
}
# Errors may be this many times those of the same run's best peer.
MOST_OF_BEST_PEER = 1.02
# Errors with many components may be this many times those of the best smaller number.
MOST_OF_BEST_K = 1.1
# Rows of new motions are few independent ones.
COVERAGE = {"interpolation": (0.93, 0.97), "extrapolation": (0.90, 0.99)}
LEAST_COVERAGE = 0.85


def add_best_peers(models: dict[str, Figures]) -> None:
    """
    Add to the summaries of our models on one set who is best of all others, under `best_peer`.

    Identified dynamics alone count among the others.
    """
    others = {name: figures for name, figures in models.items() if name not in OURS}
    for name in models.keys() & OURS.keys():
        best = {}
        for protocol in COVERAGE:
            errors = {other: f[protocol] for other, f in others.items() if protocol in f}
            if errors and protocol in models[name]:
                peer = min(errors, key=errors.__getitem__)
                ratio = rounded(models[name][protocol] / errors[peer])
                best[protocol] = {"model": peer, "nmse": errors[peer], "ratio": ratio}
        models[name]["best_peer"] = best


def fulfilled(name: str, protocol: str, model: str, models: dict[str, Figures]) -> dict[str, bool]:
    """
    Whether a model of ours does what is required of it.

    Parameters
    ----------
    name
        Of the set.
    protocol
        Of the set.
    model
        One of ours.
    models
        Summaries of all models on the set, with their best peers.

    Returns
    -------
    dict
        By what is required; empty where nothing is.
    """
    figures = models[model]
    if (name, protocol) not in LARGEST_ERROR:
        return {}
    held = {"error": figures[protocol] <= LARGEST_ERROR[name, protocol]}
    if protocol in figures["best_peer"]:
        held["peers"] = figures["best_peer"][protocol]["ratio"] <= MOST_OF_BEST_PEER
    mean, lowest = figures["coverage"][protocol]
    least, most = COVERAGE[protocol]
    held["coverage"] = least <= mean <= most and lowest >= LEAST_COVERAGE
    scores = [
        f["interval_score"][protocol]
        for other, f in models.items()
        if other not in OURS and protocol in f["interval_score"]
    ]
    if scores:
        held["score"] = figures["interval_score"][protocol] <= min(scores)
    return held
