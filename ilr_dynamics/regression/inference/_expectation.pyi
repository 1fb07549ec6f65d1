# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
from ilr_dynamics.arrays import FloatArray, IndexArray

def expect(
    zeta: FloatArray,
    weights: FloatArray,
    constants: FloatArray,
    R_x: FloatArray,
    R_y: FloatArray,
    statistics: FloatArray,
    best: IndexArray,
    n_regressors: int,
    /,
) -> float: ...
