# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
from ilr_dynamics.arrays import FloatArray

class Dynamics:
    def __new__(
        cls,
        placements: FloatArray,
        axes: FloatArray,
        gravity: FloatArray,
        motors: FloatArray,
        inertial: FloatArray,
        speeds: FloatArray,
        frequencies: FloatArray,
    ) -> Dynamics: ...
    def fill(self, X: FloatArray, columns: FloatArray, /) -> None: ...
    def predict(
        self,
        X: FloatArray,
        mean: FloatArray,
        covariance: FloatArray | None,
        torques: FloatArray,
        variances: FloatArray | None,
        /,
    ) -> None: ...
