# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Extended samples in files, summed up by one process or by many.

What is asked of a file has all that the answer depends on, so that anybody can answer it, also
again after a process was killed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.blas_threads import one_blas_thread
from ilr_dynamics.regression.files.sample_file import SampleFile
from ilr_dynamics.regression.inference.expectation import Expectation
from ilr_dynamics.regression.inference.merging import entropy_losses
from ilr_dynamics.regression.inference.samples import Samples
from ilr_dynamics.regression.mixture.mixture import MixturePosterior
from ilr_dynamics.regression.shared.map_reduce import Mapper

__all__ = ["FileSamples"]


@dataclass(frozen=True)
class _Sums:
    """Result of an E-step; those of parts of the samples add up."""

    entropy: float
    statistics: FloatArray

    def __add__(self, other: Self) -> Self:
        return type(self)(self.entropy + other.entropy, self.statistics + other.statistics)


class FileSamples(Samples):
    """
    Samples in files; a process returns nothing but sums over those it has read.

    Parameters
    ----------
    files
        Of extended samples: `n_inputs` columns by which samples are near each other, and others.
    mapper
        Who computes.
    """

    def __init__(self, files: Sequence[SampleFile], mapper: Mapper) -> None:
        self.n_rows = sum(file.n_rows for file in files)
        self.total_weight = float(sum(file.weight for file in files))
        self._files, self._mapper = files, mapper

    def sums(self, posterior: MixturePosterior, names: IndexArray) -> tuple[float, FloatArray]:
        """As `Samples.sums`."""
        # Copies without cached properties, which follow from the fields and need not be sent.
        region, regression = replace(posterior.region), replace(posterior.regression)
        bare = replace(posterior, region=region, regression=regression)
        sums = self._mapper.sum(_sums_of_file, self._files, bare)
        return sums.entropy, sums.statistics

    def entropy_losses(self, forms: FloatArray, pairs: IndexArray) -> FloatArray:
        """As `Samples.entropy_losses`."""
        return self._mapper.sum(_losses_of_file, self._files, (forms, pairs))

    def n_batches(self, size: int) -> int:
        """As `Samples.n_batches`: a minibatch has whole files."""
        return min(len(self._files), max(1, round(self.n_rows / size)))

    def batches(self, n: int, generator: np.random.Generator) -> Iterator[Samples]:
        """As `Samples.batches`."""
        for chosen in np.array_split(generator.permutation(len(self._files)), n):
            yield FileSamples([self._files[index] for index in chosen], self._mapper)


@one_blas_thread
def _sums_of_file(file: SampleFile, posterior: MixturePosterior) -> _Sums:
    first, rest, weights = file.read()
    expectation = Expectation(np.column_stack([first, rest]), weights, file.n_inputs)
    return _Sums(*expectation(posterior, np.arange(posterior.expected_log_weights.size)))


@one_blas_thread
def _losses_of_file(file: SampleFile, question: tuple[FloatArray, IndexArray]) -> FloatArray:
    first, rest, weights = file.read()
    return entropy_losses(np.column_stack([first, rest]), weights, *question)
