# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
The methods that the local linear mixture is compared with, all behind one interface.

Every one is made of a published library as a user of that library would make it: scikit-learn,
which package.xml names for the tests, or GPyTorch and the C library of LWPR, without which their
peers are left out. What the library lacks is written out here. Sizes are such that 12,000 samples
of 21 inputs and 7 outputs are fitted within about two minutes on one thread, but by LWPR. How many
threads there are is for the caller to say, through OMP_NUM_THREADS and OPENBLAS_NUM_THREADS.

Whatever is tuned is tuned on samples given to `fit`, so on no test sample; a search among a
method's `choices` is that of `_peer_search`. `predict_one` leaves
out the checks of input that a library makes at each call: its time is that of the method.
"""

from .committee import GeneralisedProductOfExperts, RobustBCM
from .gaussian_mixture import GaussianMixtureRegression
from .gaussian_process import GaussianProcess
from .gradient_boosting import GradientBoosting
from .linear import Linear
from .lwpr import LWPR
from .nearest_neighbours import NearestNeighbours
from .neural_network import NeuralNetwork
from .peer import Peer
from .random_fourier_features import RandomFourierFeatures
from .sparse_spectrum_gp import SparseSpectrumGP
from .sparse_variational_gp import SparseVariationalGP

__all__ = ["PEERS", "Peer"]

PEERS: tuple[type[Peer], ...] = (
    Linear,
    NearestNeighbours,
    GradientBoosting,
    RandomFourierFeatures,
    GaussianProcess,
    GeneralisedProductOfExperts,
    RobustBCM,
    NeuralNetwork,
    GaussianMixtureRegression,
    SparseSpectrumGP,
    SparseVariationalGP,
    LWPR,
)
