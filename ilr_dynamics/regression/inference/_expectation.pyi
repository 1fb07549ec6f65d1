# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
from ilr_dynamics.arrays import FloatArray, IndexArray

def expect(
    Z: FloatArray,
    weights: FloatArray,
    constants: FloatArray,
    of_inputs: FloatArray,
    of_outputs: FloatArray,
    statistics: FloatArray,
    best: IndexArray,
    n_regressors: int,
    /,
) -> float: ...
