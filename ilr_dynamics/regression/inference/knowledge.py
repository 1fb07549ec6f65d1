# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Knowledge: what inference leaves, and all else of a fitted model follows from."""

from __future__ import annotations

from dataclasses import dataclass

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.regression.mixture.mixture import MixturePrior
from ilr_dynamics.regression.prediction.physical_mixture import PhysicalMixture
from ilr_dynamics.regression.units.transforms import Transforms

__all__ = ["Knowledge"]


@dataclass(frozen=True)
class Knowledge:
    """
    What was learned: all else follows from it.

    Attributes
    ----------
    prior
        Base distribution, in standard units, its scales fitted to the data if the inference does.
    statistics : (K, p, p)
        Scatter of the extended samples [x, features, 1, y] of each component, largest first.
    groups : (K,)
        Upper component of each.
    n_samples
        Number of samples learned from.
    transforms
        Between physical and standard units.
    """

    prior: MixturePrior
    statistics: FloatArray
    groups: IndexArray
    n_samples: int
    transforms: Transforms

    def predictive(self) -> PhysicalMixture:
        """Posterior predictive distribution."""
        return PhysicalMixture.from_statistics(
            self.prior, self.statistics, self.groups, self.transforms
        )
