# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
What two controllers reached at commit e44dc7d, frozen: later ones are judged by it.

Made by `_plant_experiments.track_paths` beside the code of that commit, with its config/wam4.yaml
and the plants' hooks of now (`_dry_level` and `_passive_torque`). With `physics_pd`, seed 0 and
the own plant, commit 1fe02f2 gave the same but for 1.3 per cent: sums are rounded otherwise, and a
closed loop with sticking joints makes more of it.

By plant and path, one value for each of the seeds 0, 1 and 2.
"""

from __future__ import annotations

__all__ = ["ERRORS_OF_PHYSICS", "SCORES_OF_PHYSICS_ILR", "OfSeeds"]

OfSeeds = list[float | None]
"""One value a seed, None where the controller ended in a fault."""
OfPaths = dict[str, dict[str, OfSeeds]]

ERRORS_OF_PHYSICS: OfPaths = {
    "own": {
        "T1": [2.493e-05, 2.625e-05, 2.512e-05],
        "T2": [8.45e-05, 5.465e-05, 8.895e-05],
        "T3": [0.0002986, 9.59e-05, 0.0001424],
        "A": [0.001351, 0.001685, 0.001036],
        "R11": [0.0003412, 0.0004192, 0.0004711],
        "R12": [0.0005388, 0.000347, 0.0005793],
        "R13": [0.0007259, 0.0005508, 0.0005564],
    },
    "lugre": {
        "T1": [3.829e-05, 4.299e-05, 3.588e-05],
        "T2": [0.0002734, 0.0001771, 0.0002283],
        "T3": [0.0002136, 0.0002584, 0.0002858],
        "A": [0.003247, 0.002811, 0.00286],
        "R11": [0.001417, 0.00112, 0.001095],
        "R12": [0.001923, 0.001417, 0.001614],
        "R13": [0.003073, 0.002389, 0.002499],
    },
    "hose": {
        "T1": [5.886e-05, 7.762e-05, 6.626e-05],
        "T2": [0.0003706, 0.000325, 0.0003807],
        "T3": [0.0006896, 0.0006472, 0.0004632],
        "A": [0.001258, 0.001462, 0.001288],
        "R11": [None, 0.003072, 0.002857],
        "R12": [None, None, 0.004434],
        "R13": [None, None, 0.004428],
    },
}
"""Mean squared errors of `physics_pd`, rad^2. With the hose joint 3 is half a radian off on some
motions from rest to rest, which is a fault."""

SCORES_OF_PHYSICS_ILR: OfPaths = {
    "own": {
        "T1": [4.256, 4.529],
        "T2": [2.655, 3.129],
        "T3": [2.707, 3.073],
        "A": [8.09, 40.48],
        "R11": [2.476, 4.202],
        "R12": [2.869, 3.227],
        "R13": [2.793, 7.584],
    },
    "lugre": {
        "T1": [1.857, 2.085],
        "T2": [4.466, 3.418],
        "T3": [2.815, 2.767],
        "A": [26.35, 30.03],
        "R11": [23.08, 17.52],
        "R12": [26.56, 23.28],
        "R13": [43.08, 40.66],
    },
    "hose": {
        "T1": [4.683],
        "T2": [3.609],
        "T3": [4.433],
        "A": [6.297],
        "R11": [None],
        "R12": [None],
        "R13": [None],
    },
}
"""Mean interval scores of `physics_ilr_pd`, Nm; of the own plant and LuGre without seed 2, of the
hose of seed 0 alone."""
