# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Errors of ILR in the benchmark's configuration against its number of components."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from _real_data_measures import normalised_error, rounded
from _real_data_models import CONFIGURATION, GlobalModelMaker
from _real_data_sets import Split
from _real_data_targets import MOST_OF_BEST_K
from tqdm import tqdm

from ilr_dynamics.regression import ILR

__all__ = ["errors_by_components", "print_components"]

# Median error by set, protocol and number of components.
Errors = dict[str, dict[str, dict[int, float]]]


def errors_by_components(
    splits: dict[str, Split], numbers: Sequence[int], n_seeds: int, make: GlobalModelMaker
) -> dict[str, dict[int, float]]:
    """
    Median normalised error by protocol and number of components.

    Parameters
    ----------
    splits
        Training and test rows by protocol.
    numbers
        Of components.
    n_seeds
        Models for each median.
    make
        Makes their global model.
    """

    def error(number: int, seed: int, split: Split) -> float:
        settings = {**CONFIGURATION, "n_components": number}
        model = ILR(**settings, global_model=make(), random_state=seed).fit(split.X, split.Y)
        return normalised_error(model.predict(split.X_test), split.Y_test)

    errors: dict[str, dict[int, float]] = {}
    for protocol, split in splits.items():
        errors[protocol] = {
            number: rounded(np.median([error(number, seed, split) for seed in range(n_seeds)]))
            for number in tqdm(numbers, desc=f"components, {protocol}", disable=None)
        }
    return errors


def print_components(errors: Errors, n_seeds: int) -> None:
    """Print errors of all sets, and whether many components are as good as the best number."""
    print(f"\nILR: nMSE by number of components, median of {n_seeds} seeds")
    numbers = sorted({k for by_k in errors.values() for of_k in by_k.values() for k in of_k})
    most = numbers[-1]
    print(
        f"{'set':28}{'protocol':>15}"
        + "".join(f"{number:>10}" for number in numbers)
        + f"{'most / best of others':>23}{f'at most {MOST_OF_BEST_K}':>14}"
    )
    for name, by_protocol in errors.items():
        for protocol, by_number in by_protocol.items():
            cells = "".join(f"{by_number[number]:>10.4g}" for number in numbers)
            others = [by_number[number] for number in numbers if number != most]
            if others:
                ratio = by_number[most] / min(others)
                cells += f"{ratio:>23.3g}{'yes' if ratio <= MOST_OF_BEST_K else 'no':>14}"
            print(f"{name:28}{protocol:>15}{cells}")
