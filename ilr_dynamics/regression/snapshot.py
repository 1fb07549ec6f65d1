# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Models from snapshot files.

What is stored is the prior and the statistics; the posterior is rebuilt from them by the code that
fitted it, so a loaded model predicts the same bits and can go on learning.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.blas_threads import one_blas_thread
from ilr_dynamics.exceptions import IlrDynamicsError, SnapshotError
from ilr_dynamics.regression.files.model_file import SNAPSHOT, read_file
from ilr_dynamics.regression.files.stored_knowledge import unpack_knowledge
from ilr_dynamics.regression.files.stored_parameters import unpack_parameters
from ilr_dynamics.regression.hilr import HILR
from ilr_dynamics.regression.ilr import ILR
from ilr_dynamics.regression.mixture_regressor import MixtureRegressor

__all__ = ["load_snapshot"]

# Characters of what a file says that an error repeats.
MAX_SHOWN = 500

MODEL_CLASSES: dict[str, type[MixtureRegressor]] = {"ILR": ILR, "HILR": HILR}


@one_blas_thread
def load_snapshot(path: str | os.PathLike[str]) -> MixtureRegressor:
    """
    Read a model written by its `save`; it predicts the same bits and can go on learning.

    Raises
    ------
    SnapshotError
        If the file is missing, truncated, damaged, of a newer format, or not consistent in itself.
    """
    header, arrays = read_file(path, SNAPSHOT)
    try:
        return _model(header, arrays)
    except SnapshotError as error:
        raise SnapshotError(f"the snapshot {path} cannot be loaded: {error}") from error
    except (
        LookupError,
        TypeError,
        ValueError,
        OverflowError,
        IlrDynamicsError,
    ) as error:
        raise SnapshotError(
            f"the snapshot {path} is not consistent in itself: {type(error).__name__}: "
            f"{str(error)[:MAX_SHOWN]}"
        ) from error


def _model(header: Mapping[str, Any], arrays: Mapping[str, FloatArray]) -> MixtureRegressor:
    # Overflow shows in the prediction below.
    with np.errstate(all="ignore"):
        model = MODEL_CLASSES[header["class"]]()
        model.set_params(**unpack_parameters(header["parameters"]))
        known = unpack_knowledge(header, arrays, hierarchical=isinstance(model, HILR))
        transforms = known.transforms
        if transforms.global_model is not None:
            # As it was before the first fit, so that another fit counts no sample twice.
            model.global_model = transforms.global_model.discounted(0.0)
        if arrays["lower_bounds"].ndim != 1:
            raise ValueError("lower_bounds must have one dimension")
        model.lower_bounds_ = arrays["lower_bounds"]
        model.converged_ = bool(header["converged"])
        model.metadata_ = dict(header["metadata"])
        model._know(known)
        prediction = model.predict(transforms.regressors.scaling.location[None], return_std=True)
        if not np.all(np.isfinite(prediction)):
            raise ValueError("what the model predicts is not finite")
        # Arrays of single predictions may overflow too; the model caches them.
        model.predictor()
    return model
