# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Mixtures whose physical units are the standard ones."""

from __future__ import annotations

import numpy as np

from ilr_dynamics.regression.prediction.physical_mixture import PhysicalMixture
from ilr_dynamics.regression.units.features import Regressors, register_features
from ilr_dynamics.regression.units.scaling import Standardizer
from ilr_dynamics.regression.units.transforms import Transforms


def in_standard_units(mixture, features=None):
    """A mixture as it is asked; `features` (n, r) are those of the inputs it will be asked of."""
    r = 0 if features is None else features.shape[1]
    inputs, outputs, others = (
        Standardizer(np.zeros(size), np.ones(size))
        for size in (mixture.n_inputs, mixture.n_outputs, r)
    )
    register_features("of a test", lambda X: features)
    name = "of a test" if r else "linear"
    transforms = Transforms(Regressors(inputs, name, 1, others), outputs)
    return PhysicalMixture(mixture, transforms, mixture.screening)
