# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Locally weighted projection regression, by its C library."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import ClassVar

import numpy as np

from ilr_dynamics.arrays import FloatArray

from .peer import Peer

__all__ = ["LWPR"]

_LIBRARY = Path(os.environ.get("LWPR_FOLDER", "")) / "liblwpr.so"
_VECTOR = ctypes.POINTER(ctypes.c_double)
# Weight below which a receptive field takes no part in a prediction, as in the library's examples.
CUTOFF = 1e-3


class _Model(ctypes.Structure):
    """`LWPR_Model` of lwpr.h, version 1.2."""

    _fields_: ClassVar = [
        ("nIn", ctypes.c_int),
        ("nInStore", ctypes.c_int),
        ("nOut", ctypes.c_int),
        ("n_data", ctypes.c_int),
        ("mean_x", _VECTOR),
        ("var_x", _VECTOR),
        ("name", ctypes.c_char_p),
        ("diag_only", ctypes.c_int),
        ("meta", ctypes.c_int),
        ("meta_rate", ctypes.c_double),
        ("penalty", ctypes.c_double),
        *((name, _VECTOR) for name in ("init_alpha", "norm_in", "norm_out", "init_D", "init_M")),
        ("w_gen", ctypes.c_double),
        ("w_prune", ctypes.c_double),
        ("init_lambda", ctypes.c_double),
        ("final_lambda", ctypes.c_double),
        ("tau_lambda", ctypes.c_double),
        ("init_S2", ctypes.c_double),
        ("add_threshold", ctypes.c_double),
        ("kernel", ctypes.c_int),
        ("update_D", ctypes.c_int),
        *((name, ctypes.c_void_p) for name in ("sub", "ws", "storage", "xn", "yn")),
    ]


class LWPR(Peer):
    """
    Locally weighted projection regression (Vijayakumar, D'Souza and Schaal, 2005).

    Klanke's C library (Klanke, Vijayakumar and Schaal, 2008), where a person has built it as
    ``liblwpr.so`` in the folder that LWPR_FOLDER names. Receptive fields of diagonal distance
    metric for each output; samples are learned in random order, in 10 passes. The library states
    deviations of the prediction without the noise; that of the training samples' errors is added.
    """

    name = "lwpr"
    unavailable = "" if _LIBRARY.is_file() else "LWPR_FOLDER names no folder with liblwpr.so"
    metric = 0.1
    learning_rate = 10.0
    penalty = 1e-4
    n_passes = 10
    choices: ClassVar = {
        "metric": (0.05, 0.1, 0.2, 0.5),
        "learning_rate": (1.0, 10.0, 100.0),
        "penalty": (1e-6, 1e-5, 1e-4),
        "n_passes": (10, 20),
    }

    def _fit(self, X: FloatArray, Y: FloatArray) -> None:
        self._library = _loaded()
        self._n_outputs = Y.shape[1]
        self._model = _Model()
        if not self._library.lwpr_init_model(
            ctypes.byref(self._model), *X.shape[1:], Y.shape[1], None
        ):
            raise MemoryError("LWPR: no memory for the model")
        self._library.lwpr_set_init_D_spherical(ctypes.byref(self._model), self.metric)
        self._library.lwpr_set_init_alpha(ctypes.byref(self._model), self.learning_rate)
        self._model.penalty = self.penalty
        random = np.random.default_rng(self.random_state)
        for _ in range(self.n_passes):
            for row in random.permutation(len(X)):
                self._library.lwpr_update(
                    ctypes.byref(self._model), _pointer(X[row]), _pointer(Y[row]), None, None
                )
        self._noise_variance = np.zeros(Y.shape[1])
        self._noise_variance = np.mean((Y - self._predict(X)[0]) ** 2, axis=0)

    def _predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        mean, std = np.zeros((2, len(X), self._n_outputs))
        for row, x in enumerate(X):
            self._answer(x, mean[row], _pointer(std[row]))
        return mean, np.sqrt(std**2 + self._noise_variance)

    def _mean_at(self, x: FloatArray) -> FloatArray:
        mean = np.zeros(self._n_outputs)
        self._answer(x, mean, None)
        return mean

    def _answer(self, x: FloatArray, mean: FloatArray, std: object) -> None:
        self._library.lwpr_predict(
            ctypes.byref(self._model), _pointer(x), CUTOFF, _pointer(mean), std, None
        )


def _loaded() -> ctypes.CDLL:
    library = ctypes.CDLL(str(_LIBRARY))
    model, number, whole = ctypes.POINTER(_Model), ctypes.c_double, ctypes.c_int
    library.lwpr_init_model.argtypes = [model, whole, whole, ctypes.c_char_p]
    library.lwpr_set_init_D_spherical.argtypes = [model, number]
    library.lwpr_set_init_alpha.argtypes = [model, number]
    library.lwpr_update.argtypes = [model, _VECTOR, _VECTOR, _VECTOR, _VECTOR]
    library.lwpr_predict.argtypes = [model, _VECTOR, number, _VECTOR, _VECTOR, _VECTOR]
    library.lwpr_predict.restype = None
    return library


def _pointer(row: FloatArray) -> object:
    return row.ctypes.data_as(_VECTOR)
