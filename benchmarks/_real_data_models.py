# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The models and their peers, behind one interface, each as it is measured on real data."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import _peers
import numpy as np
from _intervals import LEVEL
from _real_data_sets import DataSet
from scipy.stats import norm, t

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.regression import (
    HILR,
    ILR,
    GaussianProcessGlobalModel,
    GlobalModel,
    effective_sample_weights,
)
from ilr_dynamics.robot.identified_dynamics import IdentifiedDynamics

__all__ = [
    "OURS",
    "GlobalModelMaker",
    "Model",
    "ModelMaker",
    "Ours",
    "global_model_maker",
    "model_makers",
]

GlobalModelMaker = Callable[[], GlobalModel]

# One configuration for all sets, among the best of tune.py's grid: plain defaults with many
# components, and samples held out that calibrate and decide whether components are merged.
CONFIGURATION = {"n_components": 1500, "calibration_share": 0.03}
# For the comparison of both models at equal size.
SMALL = {**CONFIGURATION, "n_components": 300}
OURS: dict[str, tuple[type[ILR] | type[HILR], dict[str, object]]] = {
    "ilr": (ILR, CONFIGURATION),
    "ilr_300": (ILR, SMALL),
    "hilr_300": (HILR, SMALL),
}


class Model(Protocol):
    """What is measured of a model."""

    @property
    def n_experts(self) -> int | None:
        """Local models in use after `fit`, None if the method has none."""

    def fit(self, X: FloatArray, Y: FloatArray) -> None:
        """Learn from inputs (n, m) and outputs (n, d)."""

    def predict(self, X: FloatArray) -> FloatArray:
        """Expected outputs (n, d)."""

    def interval(self, X: FloatArray) -> tuple[FloatArray, FloatArray] | None:
        """95 % interval of each output, None if the method has no opinion."""

    def log_density(self, X: FloatArray, Y: FloatArray) -> float | None:
        """Mean log density of an output, nats; None if the method has no opinion."""

    def predict_one(self, x: FloatArray) -> FloatArray:
        """Expected outputs (d,) at one input, as directly as the method allows."""


class ModelMaker(Protocol):
    """Makes a model from a seed and settings, which none of ours takes."""

    def __call__(self, seed: int, **settings: Any) -> Model: ...


class Ours:
    """ILR or HILR."""

    def __init__(self, model: ILR | HILR, effective_samples: bool = False) -> None:
        self._model = model
        self._effective_samples = effective_samples

    def fit(self, X: FloatArray, Y: FloatArray) -> None:
        weights = None
        if self._effective_samples:
            # By positions and velocities: differentiated accelerations are never still.
            moving = X[:, : 2 * X.shape[1] // 3]
            weights = effective_sample_weights(moving, moving.std(axis=0))
        self._model.fit(X, Y, weights)
        self._predictor = self._model.predictor()

    def predict(self, X: FloatArray) -> FloatArray:
        return self._model.predict(X)

    def interval(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self._model.predict_interval(X, LEVEL)

    def log_density(self, X: FloatArray, Y: FloatArray) -> float:
        return float(np.mean(self._model.log_predictive_density(X, Y))) / Y.shape[1]

    def predict_one(self, x: FloatArray) -> FloatArray:
        return self._predictor(x)[0]

    @property
    def n_experts(self) -> int:
        return self._model.n_active_


class Identified:
    """The global model alone: the honest competitor."""

    def __init__(self, model: GlobalModel) -> None:
        self._model = model

    def fit(self, X: FloatArray, Y: FloatArray) -> None:
        self._model = self._model.updated(X, Y, np.ones(len(X)))

    def predict(self, X: FloatArray) -> FloatArray:
        return self._model.predict(X).mean

    def interval(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        mean, scale = self._mean_and_scale(X)
        half = t.ppf(0.5 + 0.5 * LEVEL, self._model.dof) * scale
        return mean - half, mean + half

    def log_density(self, X: FloatArray, Y: FloatArray) -> float:
        mean, scale = self._mean_and_scale(X)
        return float(np.mean(t.logpdf(Y, self._model.dof, mean, scale)))

    def _mean_and_scale(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Of Student's distribution of each output."""
        prediction = self._model.predict(X)
        squared = np.diagonal(self._model.noise_shape) * prediction.factor[:, None]
        for added in (prediction.doubt, prediction.unlearnable):
            if added is not None:
                squared = squared + (self._model.dof - 2.0) / self._model.dof * added
        return prediction.mean, np.sqrt(squared)

    def predict_one(self, x: FloatArray) -> FloatArray:
        return self._model.predict(x[None]).mean[0]

    n_experts = 1


class Peer:
    """A peer whose interval is normal."""

    def __init__(self, peer: _peers.Peer) -> None:
        self._peer = peer

    def fit(self, X: FloatArray, Y: FloatArray) -> None:
        self._peer.fit(X, Y)
        self._asked: tuple[FloatArray, Any] | None = None

    def predict(self, X: FloatArray) -> FloatArray:
        return self._predicted(X)[0]

    def interval(self, X: FloatArray) -> tuple[FloatArray, FloatArray] | None:
        mean, std = self._predicted(X)
        half = None if std is None else norm.ppf(0.5 + 0.5 * LEVEL) * std
        return None if half is None else (mean - half, mean + half)

    def log_density(self, X: FloatArray, Y: FloatArray) -> float | None:
        mean, std = self._predicted(X)
        return None if std is None else float(np.mean(norm.logpdf(Y, mean, std)))

    def _predicted(self, X: FloatArray) -> tuple[FloatArray, FloatArray | None]:
        """Once for all that is asked of the same inputs: of a full process it takes a minute."""
        if self._asked is None or self._asked[0] is not X:
            self._asked = X, self._peer.predict(X)
        return self._asked[1]

    def predict_one(self, x: FloatArray) -> FloatArray:
        return self._peer.predict_one(x)

    @property
    def n_experts(self) -> int | None:
        return self._peer.n_experts


def global_model_maker(data: DataSet, data_dir: Path) -> GlobalModelMaker:
    """What makes the model that predicts where no local model has data."""
    description = data.description(data_dir)
    if description is None:
        return GaussianProcessGlobalModel
    return lambda: IdentifiedDynamics.from_description(description, gravity=data.gravity)


def model_makers(
    data: DataSet, data_dir: Path, names: Sequence[str] | None, effective_samples: bool
) -> dict[str, ModelMaker]:
    """
    Models by name, each made from a seed; peers that are not installed are left out.

    Parameters
    ----------
    data
        What they are to learn.
    data_dir
        Folder of the recordings.
    names
        Only these; None: all.
    effective_samples
        Whether ours count samples that hardly differ as one.
    """
    global_model = global_model_maker(data, data_dir)

    def ours(kind: type[ILR] | type[HILR], settings: dict[str, object]) -> ModelMaker:
        return lambda seed, **_: Ours(
            kind(**settings, global_model=global_model(), random_state=seed), effective_samples
        )

    makers = {name: ours(kind, settings) for name, (kind, settings) in OURS.items()}
    if data.robot is not None:
        makers["identified"] = lambda seed, **_: Identified(global_model())
    for peer in _peers.PEERS:
        if peer.available():
            makers[peer.name] = lambda seed, peer=peer, **settings: Peer(
                peer(random_state=seed, **settings)
            )
        else:
            print(f"real_data: {peer.name} is left out: {peer.unavailable}", file=sys.stderr)
    return {name: make for name, make in makers.items() if names is None or name in names}
