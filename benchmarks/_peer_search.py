# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Settings of a peer, chosen on training rows: each by the same number of tries."""

from __future__ import annotations

from typing import Any

import numpy as np
from _peers import Peer
from _real_data_measures import normalised_error
from _real_data_sets import Split
from tqdm import tqdm

__all__ = ["best_settings", "drawn_settings", "held_out_of"]

# Rows that a try learns from and is judged by, at most: a search is to take minutes. Sizes that
# are worth it with more rows only, as inducing inputs, are not told apart by that.
SEARCH_ROWS = 3000


def best_settings(peer: type[Peer], split: Split, protocol: str, n_tries: int) -> dict[str, Any]:
    """
    Return the settings with the least normalised error on training rows that were held out.

    Parameters
    ----------
    peer
        Method; its own settings are the first that is tried.
    split
        Its training rows are used, its test rows are not.
    protocol
        Held out is what resembles its test: see `held_out_of`.
    n_tries
        How many settings are tried, or all that there are if they are fewer.
    """
    part = held_out_of(split, protocol)
    tried = drawn_settings(peer, n_tries)
    if len(tried) == 1:
        return tried[0]
    errors = [
        normalised_error(peer(**settings).fit(part.X, part.Y).predict(part.X_test)[0], part.Y_test)
        for settings in tqdm(tried, desc=f"{peer.name}, search", disable=None, leave=False)
    ]
    return tried[int(np.nanargmin(errors))]


def drawn_settings(peer: type[Peer], n_tries: int) -> list[dict[str, Any]]:
    """Return different settings of a peer: its own, and others drawn from all combinations."""
    random = np.random.default_rng(0)
    own = {name: getattr(peer, name) for name in peer.choices}
    n_all = int(np.prod([len(values) for values in peer.choices.values()]))
    tried = [own]
    while len(tried) < min(n_tries, n_all):
        drawn = {
            name: values[random.integers(len(values))] for name, values in peer.choices.items()
        }
        if drawn not in tried:
            tried.append(drawn)
    return tried


def held_out_of(split: Split, protocol: str) -> Split:
    """
    Training rows, a fifth of which is held out as the protocol holds out test rows.

    A random fifth for interpolation, the last fifth for extrapolation; every so many rows of all,
    so that there are `SEARCH_ROWS` at most.
    """
    thinned = slice(None, None, -(-len(split.X) // SEARCH_ROWS))
    X, Y = split.X[thinned], split.Y[thinned]
    n_held = len(X) // 5
    if protocol == "interpolation":
        is_held = np.random.default_rng(0).permutation(len(X)) < n_held
    else:
        is_held = np.arange(len(X)) >= len(X) - n_held
    return Split(X[~is_held], Y[~is_held], X[is_held], Y[is_held])
