# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
from collections.abc import Mapping

from ilr_dynamics.arrays import FloatArray, IndexArray

LANES: int
MOST_ROWS: int
MOST_COORDINATES: int

class Mixture:
    def __new__(
        cls, arrays: Mapping[str, FloatArray], learns_residual: bool, unseen_spread: float, /
    ) -> Mixture: ...
    def check(self, X: FloatArray, /) -> None: ...
    def moments(
        self,
        X: FloatArray,
        features: FloatArray | None,
        mean: FloatArray | None,
        factor: FloatArray | None,
        doubt: FloatArray | None,
        unlearnable: FloatArray | None,
        most_probable: bool,
        answer: FloatArray,
        /,
    ) -> None: ...
    def components(
        self,
        X: FloatArray,
        features: FloatArray | None,
        mean: FloatArray | None,
        factor: FloatArray | None,
        doubt: FloatArray | None,
        unlearnable: FloatArray | None,
        least_weight: float | None,
        numbers: IndexArray,
        log_weights: FloatArray,
        factors: FloatArray,
        means: FloatArray,
        added: FloatArray,
        /,
    ) -> int: ...
