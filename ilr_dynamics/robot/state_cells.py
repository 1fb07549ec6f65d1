# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
Sums over samples of which those at like states share their error.

The errors of a model are alike at states of a joint that are alike (`ResidualCorrelation`). The
plane of a joint's position and velocity is divided into cells as large as the integral of the
correlation over it, :math:`2 \pi` lengths of the one times those of the other. The residual of
sample i in cell c, in predicted deviations, is taken as

.. math::
    z_i = g_c + \varepsilon_i, \qquad g_c \sim N(0, s), \quad \varepsilon_i \sim N(0, 1 - s)

so that the mean of the n samples of a cell counts as :math:`n / (1 - s + s n)` independent ones:
however often a motion is repeated, no cell counts more than 1 / s. What differs within a cell is
left unused. A sample of a joint that hardly slips is only a share of one.
"""

from __future__ import annotations

import numpy as np

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.robot.residual_correlation import ResidualCorrelation

__all__ = ["StateCells"]

# Cells in position and in velocity, after which they begin anew: those 8 rad or 10 rad/s apart are
# the same one.
N_CELLS = (64, 8)
TINY = 1e-12


class StateCells:
    """
    Weighted sums of the products of each joint's rows, over several sets of samples.

    Parameters
    ----------
    n_sets, n_joints, n_columns : int
        Number of sets, of joints, and of the numbers in a row.
    correlation : ResidualCorrelation
        Of each joint's residual.

    Attributes
    ----------
    products : ndarray of shape (n_sets, n_joints, n_columns, n_columns)
        Sums over cells of the products of their mean rows, times the independent samples that
        each counts as.
    counts : ndarray of shape (n_sets, n_joints)
        Sums of these independent samples.
    """

    def __init__(
        self, n_sets: int, n_joints: int, n_columns: int, correlation: ResidualCorrelation
    ) -> None:
        self._share = correlation.share
        lengths = (correlation.position_length, correlation.velocity_length)
        self._sizes = np.sqrt(2.0 * np.pi) * np.array(lengths)[:, None]
        self._joints = np.arange(n_joints)
        n_cells = N_CELLS[0] * N_CELLS[1]
        self._times = np.zeros((n_sets, n_joints, n_cells))
        self._sums = np.zeros((n_sets, n_joints, n_cells, n_columns))
        self.products = np.zeros((n_sets, n_joints, n_columns, n_columns))
        self.counts = np.zeros((n_sets, n_joints))

    def forget(self, chosen: int | slice = slice(None)) -> None:
        """Forget the samples of one set, or of all."""
        for values in (self._times, self._sums, self.products, self.counts):
            values[chosen] = 0.0

    def add(
        self, position: FloatArray, velocity: FloatArray, rows: FloatArray, weights: FloatArray
    ) -> None:
        """
        Add a sample to each set.

        Parameters
        ----------
        position, velocity : ndarray of shape (n_joints,)
            State of the arm, rad and rad/s.
        rows : ndarray of shape (n_joints, n_columns)
            In predicted deviations.
        weights : ndarray of shape (n_joints,)
            Share of a sample that it is, above 0 and at most 1.
        """
        place = self._place(position, velocity)
        times = self._times[:, self._joints, place]
        sums = self._sums[:, self._joints, place]
        self._count(times, sums, -1.0)
        times += weights
        sums += weights[:, None] * rows
        self._count(times, sums, 1.0)
        self._times[:, self._joints, place] = times
        self._sums[:, self._joints, place] = sums

    def _place(self, position: FloatArray, velocity: FloatArray) -> IndexArray:
        """Cell (n_joints,) of each joint."""
        cells = np.floor(np.array((position, velocity)) / self._sizes).astype(np.intp)
        return np.asarray(cells[0] % N_CELLS[0] * N_CELLS[1] + cells[1] % N_CELLS[1])

    def _count(self, times: FloatArray, sums: FloatArray, sign: float) -> None:
        """Add or take away cells with these sums (n_sets, n_joints, m) over so many samples."""
        spread = 1.0 - self._share + self._share * times
        self.counts += sign * times / spread
        # Of a cell that is empty the sums are zero too.
        scaled = sums / np.sqrt(np.maximum(times, TINY) * spread)[..., None]
        self.products += sign * scaled[..., :, None] * scaled[..., None, :]
