# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
Scales of the prior from the evidence (empirical Bayes).

Every scale of the base distribution, of input precision, centres, slopes, offsets and noise,
and the concentration too, enters its log density in the same way: a draw of size b contributes

.. math:: \tfrac b2 \log\lambda - \tfrac12 \lambda e,

where e is the squared distance of the draw (the precision itself for a Wishart's inverse scale).
With the stated value lambda_0 counting as PSEUDO_DRAWS further draws, the most probable lambda has
a closed form in the posterior expectations of e: an EM step, which never lowers the bound.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ilr_dynamics.arrays import FloatArray

__all__ = [
    "CONCENTRATION_SIZE",
    "log_scale_prior",
    "most_probable_scale",
    "overrelaxed_scale",
    "rounding_of_squares",
]

# How many components the stated scales are worth: enough to keep them from growing without end.
PSEUDO_DRAWS = 1.0
# Size of the draws that tell a concentration: a stick contributes log alpha + alpha log(1 - s).
CONCENTRATION_SIZE = 2.0
# No scale falls below this share of the stated one. Where the data do not vary at all, or are
# explained exactly, the evidence grows without end as the scale goes to zero.
SMALLEST_SHARE = 1e-4
# Roundings that a sum of squares and what is explained of it may differ by, in units of the last
# place: products with the inverse of a factor lose some digits more than the sum itself.
ROUNDINGS = 100.0


def most_probable_scale(
    size: float,
    n_draws: int,
    distances: ArrayLike,
    stated: ArrayLike,
    smallest: ArrayLike = 0.0,
) -> FloatArray:
    """
    Scale that maximises n_draws b / 2 log(scale) - scale / 2 * distances + log_scale_prior.

    Of those from SMALLEST_SHARE of the stated one on, and from `smallest` if that is less than the
    stated one.

    Parameters
    ----------
    size
        b of one draw.
    n_draws
        Number of draws.
    distances : (...,)
        Sum over the draws of the expected squared distance.
    stated : (...,)
        The stated scale.
    smallest : (...,)
        Below this a scale is lost in rounding (`rounding_of_squares`).
    """
    distances, stated = np.asarray(distances), np.asarray(stated)
    scale = size * (n_draws + PSEUDO_DRAWS) / (distances + PSEUDO_DRAWS * size / stated)
    return np.asarray(np.maximum(scale, _lowest_scale(stated, smallest)))


def overrelaxed_scale(
    present: ArrayLike,
    refitted: ArrayLike,
    stated: ArrayLike,
    relaxation: float,
    smallest: ArrayLike = 0.0,
) -> FloatArray:
    """
    Scale `relaxation` times as far from the present one as the refitted one, by their ratio.

    Unlike an EM step it may lower the bound. Parameters (...,) as those of `most_probable_scale`.
    """
    present = np.asarray(present)
    scale = present * (np.asarray(refitted) / present) ** relaxation
    return np.asarray(np.maximum(scale, _lowest_scale(np.asarray(stated), smallest)))


def _lowest_scale(stated: FloatArray, smallest: ArrayLike) -> FloatArray:
    return np.asarray(np.maximum(SMALLEST_SHARE * stated, np.minimum(smallest, stated)))


def rounding_of_squares(squares: FloatArray) -> FloatArray:
    """
    Rounding error of the noise when squares of outputs are explained exactly.

    The noise of a component is what its weighted sum of squares, the prior's scale included, has
    over what its map explains. With weights of 1e9 on samples without noise the difference is
    nothing but rounding, and a smaller scale of the prior would not keep it positive.

    Parameters
    ----------
    squares : (K, d)
        Weighted sums of the squared outputs of all components.

    Returns
    -------
    (d,)
    """
    return np.asarray(ROUNDINGS * np.finfo(np.float64).eps * np.max(squares, axis=0))


def log_scale_prior(size: float, scale: ArrayLike, stated: ArrayLike) -> float:
    """Log density of a scale (...,), summed up, relative to that of the stated one."""
    ratio = np.asarray(scale) / np.asarray(stated)
    return float(0.5 * PSEUDO_DRAWS * size * np.sum(np.log(ratio) - ratio + 1.0))
